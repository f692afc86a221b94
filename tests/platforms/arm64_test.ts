/** Runs the cases that depend on the platform with the executable for Linux arm64 in embedded mode. */
import { openArm64 } from "./arm64.ts";
import { testCases } from "./platform.ts";

const arm64 = await openArm64();
if (arm64 !== undefined) {
  testCases(arm64);
}
