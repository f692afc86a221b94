/**
 * Returns a free port below the ephemeral range. While no server listens on such a port, the system does not pick it for
 * another program.
 */
export function freePort(): number {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return port;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return freePort();
    throw error;
  }
}
