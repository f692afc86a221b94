/** Runs `serve`, prompts and PostgreSQL with the executable for Linux arm64. */
import { openArm64 } from "./arm64.ts";
import { testPlainPrompts, testPostgres, testPrompts, testServe } from "./platform.ts";

const arm64 = await openArm64();
if (arm64 !== undefined) {
  testServe(arm64);
  testPrompts(arm64);
  testPlainPrompts(arm64);
  await testPostgres(arm64);
}
