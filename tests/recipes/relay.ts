/** A TCP relay in front of a server. It records what clients send, and can stop accepting connections. */
import { freePort } from "../free_port.ts";

export class Relay {
  readonly port = freePort();
  readonly #target: number;
  readonly #connections = new Set<Deno.TcpConn>();
  readonly #decoder = new TextDecoder();
  #listener: Deno.TcpListener | undefined;
  #sent = "";

  /** @param target the port of the server on 127.0.0.1 */
  constructor(target: number) {
    this.#target = target;
    this.start();
  }

  /** Starts to accept connections. */
  start(): void {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: this.port });
    void this.#accept(this.#listener);
  }

  /** Closes all connections and rejects new ones. */
  stop(): void {
    this.#listener?.close();
    this.#connections.forEach(close);
  }

  /** Returns what clients have sent since the last call. */
  takeSent(): string {
    const sent = this.#sent;
    this.#sent = "";
    return sent;
  }

  async #accept(listener: Deno.TcpListener): Promise<void> {
    for await (const client of listener) void this.#relay(client);
  }

  async #relay(client: Deno.TcpConn): Promise<void> {
    const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
    this.#connections.add(client).add(server);
    const record = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, controller) => {
        this.#sent += this.#decoder.decode(chunk);
        controller.enqueue(chunk);
      },
    });
    await Promise.allSettled([
      client.readable.pipeThrough(record).pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  }
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
