/** Runs the executable for Linux arm64: on such a machine directly, on others with qemu's user mode. */
import { CASES } from "../program/cases.ts";
import { findProgram } from "../tools.ts";
import { openPlatform, testCases, testPostgres, testPrompts, testServe, wordsOf } from "./platform.ts";

const TARGET = "aarch64-unknown-linux-gnu";

/** The libraries of Debian's package `libc6-arm64-cross`. */
const LIBRARIES = "/usr/aarch64-linux-gnu";

/** Without pointer authentication, because emulating it takes most of the time. */
const PROCESSOR = "max,pauth=off";

async function emulator(): Promise<readonly string[] | undefined> {
  if (Deno.build.target === TARGET) return [];
  const qemu = findProgram("qemu-aarch64-static");
  const hasLibraries = await Deno.stat(LIBRARIES).then(() => true, () => false);
  return qemu === undefined || !hasLibraries ? undefined : [qemu, "-cpu", PROCESSOR, "-L", LIBRARIES];
}

const platform = await openPlatform({
  name: "Linux arm64",
  hasSigterm: true,
  target: TARGET,
  run: wordsOf("TEST_ARM64_RUN") ?? await emulator(),
  remedy: "install qemu-user-static, libc6-arm64-cross and libgcc-s1-arm64-cross, or set TEST_ARM64_RUN",
});
if (platform !== undefined) {
  testCases(platform, CASES.filter(({ isSmokeTest, withoutAnyKey }) => isSmokeTest || withoutAnyKey));
  testServe(platform);
  testPrompts(platform);
  await testPostgres(platform);
}
