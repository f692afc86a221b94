/** The Dockerfile: the settings of the image, and the script of the build stage, which the tests run in a shell. */
import { expect } from "expect";
import { command } from "../execute.ts";
import { testWith } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { IMAGE } from "./container.ts";
import { TARGETS, writeRelease } from "./release.ts";

const DOCKERFILE = (await Deno.readTextFile(`${import.meta.dirname}/../../scripts/Dockerfile`))
  .replaceAll(/^#.*\n/gm, "");
const [FIRST = "", FINAL = ""] = DOCKERFILE.split(/^(?=FROM )/m).filter((stage) => stage.startsWith("FROM "));
const [, SCRIPT = ""] = /^RUN ((?:.*\\\n)*.*)/m.exec(FIRST) ?? [];

Deno.test("the image has a base without a shell, an unprivileged numeric user, and no secret in its environment", () => {
  const { FROM, USER, ENV, ARG, WORKDIR, ENTRYPOINT } = Object.fromEntries(
    [...FINAL.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, keyword, value]) => [keyword, value]),
  );
  expect({ FROM, USER, ENV, ARG, WORKDIR, ENTRYPOINT }).toEqual({
    FROM: expect.stringMatching(/^gcr\.io\/distroless\/cc-debian\d+:nonroot$/),
    USER: IMAGE.user,
    ENV: `XDG_DATA_HOME=${IMAGE.env.XDG_DATA_HOME}`,
    ARG: "VERSION",
    WORKDIR: "/",
    ENTRYPOINT: JSON.stringify([IMAGE.executable]),
  });
});

Deno.test("the image contains the executable, the licences and an empty /data that its user owns", () => {
  expect([...FINAL.matchAll(/^COPY --from=release (.*)$/gm)].map(([, words]) => words)).toEqual([
    "/release/files/LICENSE /release/files/THIRD-PARTY-LICENSES /usr/share/doc/service-api/",
    "/release/files/service-api /usr/local/bin/",
    `--chown=${IMAGE.user} /release/volume/ /`,
  ]);
});

Deno.test("the build stage runs on the platform of the build machine, whatever the target architecture", () => {
  expect(FIRST).toMatch(/^FROM --platform=\$BUILDPLATFORM busybox:[\d.]+ AS release$/m);
});

interface BuildStage {
  /** The directory that contains the release. The script runs in it. */
  readonly directory: string;
  readonly run: (env: Readonly<Record<string, string>>) => Promise<string>;
}

/** Registers a test of the build stage. The script of the stage uses the commands of this machine or of BusyBox. */
function testBuild(rule: string, test: (stage: BuildStage) => Promise<void>, shell: "sh" | "busybox" = "sh"): void {
  const name = `the build stage${shell === "sh" ? "" : " in BusyBox"} ${rule}`;
  testWith(["tar", "gzip", "sha256sum", shell], name, () =>
    inTemporaryDirectory(async (directory) => {
      const release = `${directory}/release`;
      await Promise.all([release, `${directory}/bin`].map((path) => Deno.mkdir(path)));
      await Deno.writeTextFile(`${directory}/executable`, "an executable");
      await writeRelease(release, "1.2.3", `${directory}/executable`);
      if (shell === "busybox") await command("busybox", ["--install", "-s", `${directory}/bin`]);
      const PATH = shell === "busybox" ? `${directory}/bin` : Deno.env.get("PATH") ?? "";
      const [program, ...args] = shell === "busybox" ? [`${directory}/bin/sh`, "-c"] : ["sh", "-c"];
      const run: BuildStage["run"] = (env) =>
        command(program ?? "", [...args, SCRIPT], { cwd: release, env: { PATH, ...env }, clearEnv: true });
      await test({ directory: release, run });
    }));
}

for (const shell of ["sh", "busybox"] as const) {
  testBuild("unpacks the archive for the target architecture and creates /data", async ({ directory, run }) => {
    await run({ VERSION: "1.2.3", TARGETARCH: "arm64" });
    const read = (name: string): Promise<string> => Deno.readTextFile(`${directory}/${name}`);
    expect(await read("files/service-api")).toBe("an executable");
    expect((await Deno.stat(`${directory}/files/service-api`)).mode).toBe(0o100755);
    expect(await read("files/LICENSE")).toBe(`LICENSE for ${TARGETS[1]}\n`);
    expect(await read("files/THIRD-PARTY-LICENSES")).toMatch(/^THIRD/);
    expect((await Deno.stat(`${directory}/volume/data`)).mode).toBe(0o040700);
  }, shell);

  testBuild("rejects an archive that does not match its checksum", async ({ directory, run }) => {
    await Promise.all(TARGETS.map((target) => Deno.truncate(`${directory}/service-api-1.2.3-${target}.tar.gz`, 100)));
    await expect(run({ VERSION: "1.2.3", TARGETARCH: "amd64" })).rejects.toThrow(/did NOT match|FAILED/);
  }, shell);
}

testBuild("uses the requested version if the release directory has several", async ({ directory, run }) => {
  await Deno.writeTextFile(`${directory}/../newer`, "a newer one");
  await writeRelease(directory, "1.2.4", `${directory}/../newer`);
  await run({ VERSION: "1.2.4", TARGETARCH: "amd64" });
  expect(await Deno.readTextFile(`${directory}/files/service-api`)).toBe("a newer one");
});

for (
  const [what, env, message] of [
    ["a missing version", { TARGETARCH: "amd64" }, /VERSION: is not set\. Add --build-arg VERSION=/],
    [
      "an unknown version",
      { VERSION: "9.9.9", TARGETARCH: "amd64" },
      /SHA256SUMS does not list service-api-9\.9\.9-x86_64/,
    ],
    ["an architecture without a build", { VERSION: "1.2.3", TARGETARCH: "riscv64" }, /There is no build for riscv64\./],
  ] as const
) {
  testBuild(`rejects ${what}`, ({ run }) => expect(run(env)).rejects.toThrow(message));
}
