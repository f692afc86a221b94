/** A way to a server that can be disturbed. */

/** What becomes of some bytes: they go on, they are lost, or their connection is closed. */
export type Fate = "pass" | "lose" | "close";

/** Decides on what comes from the client (`up`) or the server (`down`), and, with no bytes, on a new connection. */
export type Rule = (direction: "up" | "down", bytes: string) => Fate;

export interface Proxy {
  readonly port: number;
  /** From now on, on every connection. */
  rule: Rule;
}

/** Hands `test` a way to `port` of 127.0.0.1, undisturbed at first, and ends it however the test ends. */
export async function withProxy(port: number, test: (proxy: Proxy) => Promise<void>): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const proxy: Proxy = { port: listener.addr.port, rule: () => "pass" };
  const open = new Set<Deno.Conn>();
  const ended: Promise<void>[] = [];

  async function carry(direction: "up" | "down", from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    const count = await from.read(buffer);
    if (count === null) return;
    const bytes = buffer.subarray(0, count);
    const fate = proxy.rule(direction, new TextDecoder("latin1").decode(bytes));
    if (fate === "close") return;
    if (fate === "pass") await writeAll(to, bytes);
    await carry(direction, from, to);
  }

  async function serve(client: Deno.Conn): Promise<void> {
    open.add(client);
    if (proxy.rule("up", "") === "close") return close(client);
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(server);
    await Promise.race([carry("up", client, server), carry("down", server, client)]).catch(() => {});
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
