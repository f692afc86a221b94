/** A TCP proxy that can drop data and close connections. */

/** What the proxy does when it receives data: forward the data, drop the data, or close the connection. */
export type Action = "forward" | "drop" | "close";

/**
 * Decides what to do with data from the client (`up`) or from the server (`down`). When a client connects, the rule is
 * called with `up` and an empty string.
 */
export type Rule = (direction: "up" | "down", bytes: string) => Action;

export interface Proxy {
  readonly port: number;
  /** The current rule. A new rule also applies to connections that are already open. */
  rule: Rule;
}

/** Runs `test` with a proxy to a port of 127.0.0.1. Until `test` sets a rule, the proxy forwards everything. */
export async function withProxy(port: number, test: (proxy: Proxy) => Promise<void>): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const proxy: Proxy = { port: listener.addr.port, rule: () => "forward" };
  const open = new Set<Deno.Conn>();
  const ended: Promise<void>[] = [];

  async function relay(direction: "up" | "down", from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    const count = await from.read(buffer);
    if (count === null) return;
    const bytes = buffer.subarray(0, count);
    const action = proxy.rule(direction, new TextDecoder("latin1").decode(bytes));
    if (action === "close") return;
    if (action === "forward") await writeAll(to, bytes);
    await relay(direction, from, to);
  }

  async function serve(client: Deno.Conn): Promise<void> {
    open.add(client);
    if (proxy.rule("up", "") === "close") return close(client);
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(server);
    await Promise.race([relay("up", client, server), relay("down", server, client)]).catch(() => {});
    close(client);
    close(server);
  }

  function close(connection: Deno.Conn): void {
    if (open.delete(connection)) connection.close();
  }

  async function accept(): Promise<void> {
    for await (const client of listener) ended.push(serve(client).catch(() => close(client)));
  }

  const accepting = accept();
  try {
    await test(proxy);
  } finally {
    listener.close();
    for (const connection of open) close(connection);
    await accepting;
    await Promise.all(ended);
  }
}

async function writeAll(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  const written = await to.write(bytes);
  if (written < bytes.length) await writeAll(to, bytes.subarray(written));
}
