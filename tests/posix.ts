/** Tests that need a feature of POSIX systems. */

/**
 * `Deno.test` for tests that are skipped on Windows.
 *
 * @param feature what Windows does not have, for the name of the skipped test
 */
export function onPosix(feature: string): (name: string, test: () => void | Promise<void>) => void {
  return (name, test) => {
    if (Deno.build.os === "windows") Deno.test.ignore(`${name} (skipped: Windows does not have ${feature})`, () => {});
    else Deno.test(name, test);
  };
}
