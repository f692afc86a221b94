/** Runs the smoke tests with the executable in embedded mode, and some of them also over the executable's own `serve`. */
import { CASES } from "./cases.ts";
import { buildExecutable } from "./executable.ts";
import { embedded, executableOverHttp } from "./installations.ts";
import { asProcess } from "./program.ts";

const build = await buildExecutable();
if (build.kind === "not built") {
  Deno.test.ignore(`the cases with the executable (skipped: the executable was not built: ${build.reason})`, () => {});
} else {
  const { path } = build;
  for (const { rule, check, isServeTest } of CASES.filter(({ isSmokeTest }) => isSmokeTest)) {
    Deno.test(`executable: ${rule}`, async () => {
      await using installation = await embedded(asProcess(path));
      await check(installation.program);
    });
    if (!isServeTest) continue;
    Deno.test(`executable over HTTP: ${rule}`, async () => {
      await using installation = await executableOverHttp(path);
      await check(installation.program);
    });
  }
}
