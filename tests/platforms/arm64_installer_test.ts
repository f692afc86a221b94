/** Installs the executable for Linux arm64 with install.sh, on a machine that calls itself arm64 and has qemu. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { INSTALLER, openMachine, TOOLS } from "../scripts/machine.ts";
import { archived, archiveName, makeRelease, serveRelease } from "../scripts/release_server.ts";
import { LIBRARIES, START_WITH_QEMU } from "./arm64.ts";

const TARGET = "aarch64-unknown-linux-gnu";
const RULE = "Linux arm64: install.sh downloads the archive for arm64, and installs the executable after a trial run";

/** The arguments with which `unshare` runs a script in a shell that can start arm64 programs. */
const inNamespaces = (script: string): readonly string[] => [
  "--user",
  "--map-root-user",
  "--mount",
  "sh",
  "-euc",
  `${START_WITH_QEMU}\n${script}`,
];

async function whySkipped(): Promise<string | undefined> {
  const build = await buildExecutable(TARGET);
  if (build.kind === "not built") return build.reason;
  const { code } = await execute("unshare", inNamespaces(`${LIBRARIES}/lib/ld-linux-aarch64.so.1 --version`)).catch(
    () => ({ code: 1 }),
  );
  return code === 0 ? undefined : "needs Linux 6.7, qemu-user-static, libc6-arm64-cross and libgcc-s1-arm64-cross";
}

const reason = await whySkipped();
if (reason !== undefined) Deno.test.ignore(`${RULE} (skipped: ${reason})`, () => {});
else {
  Deno.test(RULE, async () => {
    const build = await buildExecutable(TARGET);
    if (build.kind === "not built") throw new Error(build.reason);
    const executable = await Deno.readFile(build.path);
    const { files } = await makeRelease({ ...archived(""), "service-api": executable }, TARGET);
    await using server = serveRelease(files);
    await using machine = await openMachine({
      tools: [...TOOLS, "curl", "sha256sum", "sh", "mount", "unshare"],
      standIns: { uname: "case $1 in -m) echo aarch64 ;; *) echo Linux ;; esac" },
    });
    const words = inNamespaces(`exec sh ${INSTALLER}`).map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    const run = { script: `exec unshare ${words.join(" ")}`, env: { SERVICE_API_DOWNLOAD_URL: server.url } };
    expect(await machine.run(run)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`^Installed service-api .*${TARGET}\\) in ${machine.home}/\\.local/bin`),
      ),
    });
    expect(server.requests).toEqual(["/SHA256SUMS", `/${archiveName(TARGET)}.tar.gz`]);
    expect((await Deno.stat(`${machine.home}/.local/bin/service-api`)).size).toBe(executable.length);
  });
}
