/** Runs the cases in this process: in embedded mode, and over HTTP. */
import { CASES } from "./cases.ts";
import { embedded, overHttp } from "./installations.ts";
import { inProcess } from "./program.ts";

for (const { rule, check, withoutAnyKey } of CASES) {
  Deno.test(`embedded: ${rule}`, async () => {
    await using installation = await embedded(inProcess);
    await check(installation.program);
  });
  if (withoutAnyKey) continue;
  Deno.test(`over HTTP: ${rule}`, async () => {
    await using installation = await overHttp();
    await check(installation.program);
  });
}
