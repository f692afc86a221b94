/** Runs the cases with the executable: all in embedded mode, the smoke tests also over its own `serve`. */
import { CASES } from "./cases.ts";
import { buildExecutable } from "./executable.ts";
import { embedded, executableOverHttp } from "./installations.ts";
import { asProcess } from "./program.ts";

const build = await buildExecutable();
if (build.kind === "not built") {
  Deno.test.ignore(`executable: skipped, it cannot be built: ${build.reason}`, () => {});
} else {
  const { path } = build;
  for (const { rule, check, isSmokeTest } of CASES) {
    Deno.test(`executable: ${rule}`, async () => {
      await using installation = await embedded(asProcess(path));
      await check(installation.program);
    });
    if (!isSmokeTest) continue;
    Deno.test(`executable over HTTP: ${rule}`, async () => {
      await using installation = await executableOverHttp(path);
      await check(installation.program);
    });
  }
}
