/** A server that answers with any bytes, over TCP or TLS. */
import { AUTHORITY as CLIENT_AUTHORITY, CERTIFICATE, PRIVATE_KEY as CLIENT_KEY } from "../client/certificates.ts";
import { AUTHORITY, EXPIRED, NOT_YET_VALID, PRIVATE_KEY, SELF_SIGNED } from "./certificates.ts";

/** A connection from the client under attack. */
export interface Wire {
  /** Reads the head of the request and its body. */
  readonly request: () => Promise<string>;
  /** Waits until the request begins to arrive, and leaves the rest of it unread. */
  readonly firstByte: () => Promise<unknown>;
  readonly write: (data: string | Uint8Array) => Promise<void>;
  /** Ends the server's half of the connection, and waits until the client ends its half. */
  readonly end: () => Promise<void>;
  /** Closes the connection. If the client's bytes have not been read, TCP resets it. */
  readonly close: () => void;
}

export type Act = (wire: Wire) => Promise<void>;

/** How the server uses TLS. With `truncated`, the end of the stream is not authenticated: `close_notify` is missing. */
export type Tls = "trusted" | "http/2" | "truncated" | keyof typeof CERTIFICATES;

const CERTIFICATES = {
  "signed by an unknown CA": { cert: CERTIFICATE, key: CLIENT_KEY },
  "for another host": { cert: CERTIFICATE, key: CLIENT_KEY },
  expired: { cert: EXPIRED, key: PRIVATE_KEY },
  "not yet valid": { cert: NOT_YET_VALID, key: PRIVATE_KEY },
  "self-signed": { cert: SELF_SIGNED, key: PRIVATE_KEY },
} as const;

/** The CA certificates that the client trusts, except of the server whose CA is unknown. */
export const TRUSTED = CLIENT_AUTHORITY + AUTHORITY;

export interface HostileServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server on a free port of 127.0.0.1, which treats each connection with `act`. */
export function startHostile(act: Act, tls?: Tls): HostileServer {
  const certificate = tls === undefined ? undefined : isCertificate(tls) ? CERTIFICATES[tls] : TRUSTED_CERTIFICATE;
  const alpnProtocols = [tls === "http/2" ? "h2" : "http/1.1"];
  const options = { hostname: "127.0.0.1", port: 0 };
  const listener = certificate === undefined
    ? Deno.listen(options)
    : Deno.listenTls({ ...options, ...certificate, alpnProtocols });
  const proxy = tls === "truncated" ? startTruncating(listener.addr.port) : undefined;
  const connections = new Set<Deno.Conn>();
  const serving = accept(listener, connections, (connection) => act(wireOf(connection)));
  const host = tls === undefined || tls === "for another host" ? "127.0.0.1" : "localhost";
  return {
    url: `${tls === undefined ? "http" : "https"}://${host}:${proxy?.port ?? listener.addr.port}`,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      for (const connection of connections) closeQuietly(connection);
      await Promise.all([serving, proxy?.stop()]);
    },
  };
}

const TRUSTED_CERTIFICATE = { cert: CERTIFICATE, key: CLIENT_KEY };

function isCertificate(tls: Tls): tls is keyof typeof CERTIFICATES {
  return Object.hasOwn(CERTIFICATES, tls);
}

/** Treats each connection until the listener is closed. The client may end a connection at any time. */
async function accept(
  listener: Deno.Listener,
  connections: Set<Deno.Conn>,
  treat: (connection: Deno.Conn) => Promise<void>,
): Promise<void> {
  const treated: Promise<void>[] = [];
  for (;;) {
    // deno-lint-ignore no-await-in-loop -- accepts one connection after the other
    const connection = await listener.accept().catch((error) => error);
    if (connection instanceof Deno.errors.BadResource || connection instanceof Deno.errors.Interrupted) break;
    if (connection instanceof Error) continue;
    connections.add(connection);
    treated.push(treat(connection).catch(() => {}).finally(() => closeQuietly(connection)));
  }
  await Promise.all(treated);
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It is already closed.
  }
}

function wireOf(connection: Deno.Conn): Wire {
  const encoder = new TextEncoder();
  const chunk = new Uint8Array(65_536);
  return {
    request: async () => {
      const decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const [head = "", body] = text.split("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (body !== undefined && encoder.encode(body).length >= length) return text;
        // deno-lint-ignore no-await-in-loop -- reads one chunk after the other
        const count = await connection.read(chunk);
        if (count === null) return text;
        text += decoder.decode(chunk.subarray(0, count), { stream: true });
      }
    },
    firstByte: () => connection.read(new Uint8Array(1)),
    write: async (data) => {
      const bytes = typeof data === "string" ? encoder.encode(data) : data;
      for (let sent = 0; sent < bytes.length;) {
        // deno-lint-ignore no-await-in-loop -- each write starts where the previous one stopped
        sent += await connection.write(bytes.subarray(sent));
      }
    },
    end: async () => {
      await connection.closeWrite();
      // deno-lint-ignore no-await-in-loop -- reads until the end
      while (await connection.read(chunk) !== null);
    },
    close: () => closeQuietly(connection),
  };
}

/** The length of the TLS 1.3 record that contains the alert `close_notify` (RFC 8446, sections 5.2 and 6.1). */
const ALERT_LENGTH = 19;

/** Starts a proxy in front of a TLS server, which ends the connection instead of forwarding `close_notify`. */
function startTruncating(port: number): { readonly port: number; readonly stop: () => Promise<void> } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const serving = accept(listener, connections, async (client) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.add(server);
    const upload = client.readable.pipeTo(server.writable).catch(() => {});
    let received = new Uint8Array();
    for await (const chunk of server.readable) {
      received = new Uint8Array([...received, ...chunk]);
      for (let length = recordLength(received); length <= received.length; length = recordLength(received)) {
        if (length === 5 + ALERT_LENGTH) return client.close();
        // deno-lint-ignore no-await-in-loop -- forwards one record after the other
        await client.write(received.subarray(0, length));
        received = received.slice(length);
      }
    }
    await upload;
  });
  return {
    port: listener.addr.port,
    stop: async () => {
      listener.close();
      for (const connection of connections) closeQuietly(connection);
      await serving;
    },
  };
}

/** Returns the length of the first TLS record; `Infinity` if its header is incomplete. */
function recordLength(bytes: Uint8Array): number {
  const [, , , high, low] = bytes;
  return high === undefined || low === undefined ? Infinity : 5 + high * 256 + low;
}
