/** Tests that use programs of the system. */

const INSTALLED: ReadonlySet<string> = new Set(
  (await Promise.all((Deno.env.get("PATH") ?? "").split(":").map(namesIn))).flat(),
);

function namesIn(directory: string): Promise<readonly string[]> {
  return Array.fromAsync(Deno.readDir(directory), ({ name }) => name).catch(() => []);
}

/** Registers a test, or, where some of the programs are missing, one that is ignored and says which. */
export function testWith(programs: readonly string[], what: string, test: () => Promise<void>): void {
  const missing = programs.filter((name) => !INSTALLED.has(name));
  if (missing.length === 0) Deno.test(what, test);
  else Deno.test.ignore(`${what}: not run, for want of ${missing.join(" and ")} on this machine`, () => {});
}
