/** Servers for tests that misbehave below HTTP: they answer with any bytes, or close the connection at a bad moment. */
import { createServer, type Server as TcpServer, type Socket } from "node:net";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { TLSSocket } from "node:tls";
import { CERTIFICATE, PRIVATE_KEY } from "./certificates.ts";

export interface RawServer extends AsyncDisposable {
  readonly url: string;
}

/** What a server does with a request. */
export type Misbehaviour =
  /** Over plain TCP. */
  | { readonly over: "tcp"; readonly answer: (socket: Socket) => void }
  /** Over TLS on a TCP socket. */
  | { readonly over: "tls"; readonly answer: (socket: TLSSocket, tcp: Socket) => void }
  /** Over HTTP/2. */
  | { readonly over: "http2"; readonly answer: (stream: ServerHttp2Stream) => void };

const TLS = { cert: CERTIFICATE, key: PRIVATE_KEY };

/** Starts a server on a free port of 127.0.0.1. It calls `answer` when the first bytes of a request have arrived. */
export async function startRawServer(behaviour: Misbehaviour): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServerFor(behaviour);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: behaviour.over === "tcp" ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function createServerFor(behaviour: Misbehaviour): TcpServer {
  switch (behaviour.over) {
    case "tcp":
      return createServer((tcp) => void tcp.once("data", () => behaviour.answer(tcp)));
    case "tls":
      return createServer((tcp) => {
        const socket = new TLSSocket(tcp, { isServer: true, ...TLS });
        socket.on("error", () => {}).once("data", () => behaviour.answer(socket, tcp));
      });
    case "http2":
      return createSecureServer(TLS).on("sessionError", () => {}).on("stream", (stream: ServerHttp2Stream) => {
        stream.on("error", () => {});
        behaviour.answer(stream);
      });
  }
}

/** Writes the same bytes again and again, until the client closes the connection. */
export function writeWithoutEnd(socket: Socket, bytes: string): void {
  const write = (): void => {
    let isWritable = true;
    while (isWritable && !socket.destroyed) isWritable = socket.write(bytes);
  };
  socket.on("drain", write);
  write();
}
