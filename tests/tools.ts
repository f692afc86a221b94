/** Tests that need installed programs. If a program is missing, the test is skipped, and its name says why. */

/** The paths of the programs in `PATH`, by name. */
const INSTALLED: ReadonlyMap<string, string> = new Map(
  // A `Map` keeps the last entry for each name. The list is reversed, so that the first directory in `PATH` wins.
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

/** Says that programs are not installed: "bash and jq are not installed". */
export function notInstalled(names: readonly string[]): string {
  return `${new Intl.ListFormat("en").format(names)} ${names.length === 1 ? "is" : "are"} not installed`;
}

/** Why the slow tests of packages and downloads are skipped, unless `TEST_TARGETS=all` is set. */
export const SLOW: string | undefined = Deno.env.get("TEST_TARGETS") === "all" ? undefined : "set TEST_TARGETS=all";

/** Registers a test. If programs are missing, the test is skipped, and its name lists them. */
export function testWith(programs: readonly string[], rule: string, test: () => void | Promise<void>): void {
  const missing = missingPrograms(programs);
  if (missing.length === 0) Deno.test(rule, test);
  else Deno.test.ignore(`${rule} (skipped: ${notInstalled(missing)})`, () => {});
}
