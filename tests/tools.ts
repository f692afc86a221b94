/** Tests that use programs of the system. */

/** The paths of the programs in `PATH`, by their names. */
const INSTALLED: ReadonlyMap<string, string> = new Map(
  // The first directory that has a program wins.
  (await Promise.all((Deno.env.get("PATH") ?? "").split(":").map(programsIn))).flat().reverse(),
);

async function programsIn(directory: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
  return entries.filter(({ isDirectory }) => !isDirectory).map(({ name }) => [name, `${directory}/${name}`]);
}

/** The path of a program; `undefined` where this machine lacks it. */
export function findProgram(name: string): string | undefined {
  return INSTALLED.get(name);
}

/** Those of the programs that this machine lacks. */
export function missingPrograms(names: readonly string[]): readonly string[] {
  return names.filter((name) => !INSTALLED.has(name));
}

/** Registers a test, or, where some of the programs are missing, one that is ignored and says which. */
export function testWith(programs: readonly string[], what: string, test: () => Promise<void>): void {
  const missing = missingPrograms(programs);
  if (missing.length === 0) Deno.test(what, test);
  else Deno.test.ignore(`${what}: not run, for want of ${missing.join(" and ")} on this machine`, () => {});
}
