/** Tests of what Windows has not. */

/** `Deno.test` for tests that want something of POSIX: on Windows they are ignored, and say what they want. */
export function onPosix(want: string): (name: string, test: () => void | Promise<void>) => void {
  return (name, test) => {
    if (Deno.build.os === "windows") Deno.test.ignore(`${name}: not run on Windows, for want of ${want}`, () => {});
    else Deno.test(name, test);
  };
}
