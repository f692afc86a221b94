/** Tests that use programs of the system. They are skipped where a program is not installed, with a name that says which. */

/** The paths of the programs in `PATH`, by name. */
const INSTALLED: ReadonlyMap<string, string> = new Map(
  // Reversed, so that the first directory of `PATH` that has a program wins.
  (await Promise.all((Deno.env.get("PATH") ?? "").split(":").map(programsIn))).flat().reverse(),
);

async function programsIn(directory: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
  return entries.filter(({ isDirectory }) => !isDirectory).map(({ name }) => [name, `${directory}/${name}`]);
}

/** The path of a program, or `undefined` if it is not installed. */
export function findProgram(name: string): string | undefined {
  return INSTALLED.get(name);
}

/** The programs that are not installed. */
export function missingPrograms(names: readonly string[]): readonly string[] {
  return names.filter((name) => !INSTALLED.has(name));
}

/** Registers a test, or an ignored test that names the missing programs. */
export function testWith(programs: readonly string[], rule: string, test: () => void | Promise<void>): void {
  const missing = missingPrograms(programs);
  if (missing.length === 0) Deno.test(rule, test);
  else Deno.test.ignore(`${rule}: skipped, not installed: ${missing.join(", ")}`, () => {});
}
