/**
 * Runs the executable for Linux arm64 with the command in TEST_ARM64_RUN. If this variable is not set, runs the
 * executable directly on such a machine, and with qemu's user mode on others.
 */
import { findProgram } from "../tools.ts";
import { openPlatform, type Platform, wordsOf } from "./platform.ts";

const TARGET = "aarch64-unknown-linux-gnu";

/** The directory of the libraries in Debian's packages for arm64. */
export const LIBRARIES = "/usr/aarch64-linux-gnu";

/** Without pointer authentication, because emulating it takes most of the time. */
const PROCESSOR = "max,pauth=off";

/**
 * A shell script that makes the kernel run arm64 programs with qemu. It must run in its own namespaces
 * (`unshare --user --map-root-user --mount`), so that it does not affect other processes. Needs Linux 6.7 or newer.
 */
export const START_WITH_QEMU = String.raw`
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' ':arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:${
  findProgram("qemu-aarch64-static")
}:' >/proc/sys/fs/binfmt_misc/register
export QEMU_CPU=${PROCESSOR} QEMU_LD_PREFIX=${LIBRARIES}
`;

async function emulator(): Promise<readonly string[] | undefined> {
  if (Deno.build.target === TARGET) return [];
  const qemu = findProgram("qemu-aarch64-static");
  const hasLibraries = await Deno.stat(LIBRARIES).then(() => true, () => false);
  return qemu === undefined || !hasLibraries ? undefined : [qemu, "-cpu", PROCESSOR, "-L", LIBRARIES];
}

/** Builds the executable. If it cannot be built or run, registers one ignored test, whose name says why. */
export async function openArm64(): Promise<Platform | undefined> {
  return await openPlatform({
    name: "Linux arm64",
    hasSigterm: true,
    losesKeys: false,
    target: TARGET,
    run: wordsOf("TEST_ARM64_RUN") ?? await emulator(),
    remedy: "install qemu-user-static, libc6-arm64-cross and libgcc-s1-arm64-cross, or set TEST_ARM64_RUN",
  });
}
