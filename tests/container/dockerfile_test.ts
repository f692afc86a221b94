/** The Dockerfile: what the image is, and that it takes nothing but the archive that the checksums are of. */
import { expect } from "expect";
import { command } from "../execute.ts";
import { testWith } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { parseDockerfile, wordsOf } from "./dockerfile.ts";
import { buildImage, TARGETARCH } from "./image.ts";
import { TARGETS, writeRelease } from "./release.ts";

const DOCKERFILE = `${import.meta.dirname}/../../scripts/Dockerfile`;
const STAGES = parseDockerfile(await Deno.readTextFile(DOCKERFILE));
const [first, image] = STAGES;

/** What the final stage says with a keyword. */
function said(keyword: string): readonly string[] {
  return image?.instructions.filter((instruction) => instruction.keyword === keyword).map(({ text }) => text) ?? [];
}

Deno.test("the image is a release's executable and licences on a base without a shell", () => {
  expect(STAGES).toHaveLength(2);
  expect(image?.base).toMatch(/^gcr\.io\/distroless\/cc-debian\d+:nonroot$/);
  expect(said("COPY").map(wordsOf)).toEqual([
    ["/release/files/LICENSE", "/release/files/THIRD-PARTY-LICENSES", "/usr/share/doc/service-api/"],
    ["/release/files/service-api", "/usr/local/bin/"],
    ["/release/volume/", "/"],
  ]);
  expect(image?.instructions.map(({ flags }) => flags.get("from")).filter(Boolean)).toEqual([
    "release",
    "release",
    "release",
  ]);
  expect(said("ENTRYPOINT")).toEqual(['["/usr/local/bin/service-api"]']);
});

Deno.test("the image names a user by number, whom Kubernetes can tell from root; any other will do; and no secret", () => {
  expect(said("USER")).toEqual(["65532:65532"]);
  expect(said("ENV")).toEqual(["XDG_DATA_HOME=/data"]);
  expect(said("ARG")).toEqual(["VERSION"]);
  // The base's own working directory is closed to every other user.
  expect(said("WORKDIR")).toEqual(["/"]);
});

Deno.test("the first stage runs on the machine that builds, whatever it builds for", () => {
  expect(first?.base).toMatch(/^busybox:[\d.]+$/);
  expect(first?.platform).toBe("$BUILDPLATFORM");
});

/** What `RUN` runs in, and the programs that this takes. */
const TOOLS = [
  ["this machine's tools", ["grep"]],
  ["the tools of busybox alone", ["busybox"]],
] as const;

interface FirstStage {
  /** The directory with the release. */
  readonly context: string;
  readonly build: (args?: Readonly<Record<string, string>>) => Promise<string>;
}

for (const [name, needs] of TOOLS) {
  const testBuild = (rule: string, test: (stage: FirstStage) => Promise<void>): void =>
    testWith(
      ["sh", "tar", "gzip", "sha256sum", ...needs],
      `the first stage with ${name} ${rule}`,
      () =>
        inTemporaryDirectory(async (directory) => {
          const context = `${directory}/context`;
          await Deno.mkdir(context);
          await Deno.writeTextFile(`${directory}/executable`, "an executable");
          await writeRelease(context, "1.2.3", `${directory}/executable`);
          const tools = needs[0] === "busybox" ? await installBusybox(`${directory}/tools`) : undefined;
          const build: FirstStage["build"] = async (args = { VERSION: "1.2.3" }) =>
            `${
              (await buildImage({ dockerfile: DOCKERFILE, context, args, directory, tools, target: "release" })).root
            }/release`;
          await test({ context, build });
        }),
    );

  testBuild("takes the executable and the licences out of the archive", async ({ build }) => {
    const directory = await build();
    expect(await Deno.readTextFile(`${directory}/files/service-api`)).toBe("an executable");
    expect((await Deno.stat(`${directory}/files/service-api`)).mode).toBe(0o100755);
    const target = TARGETS[TARGETARCH === "amd64" ? 0 : 1];
    expect(await Deno.readTextFile(`${directory}/files/LICENSE`)).toBe(`LICENSE for ${target}\n`);
    expect(await Deno.readTextFile(`${directory}/files/THIRD-PARTY-LICENSES`)).toMatch(/^THIRD/);
    expect((await Deno.stat(`${directory}/volume/data`)).mode).toBe(0o040700);
  });

  for (const [architecture, target] of [["amd64", TARGETS[0]], ["arm64", TARGETS[1]]] as const) {
    testBuild(`takes the archive for ${architecture}`, async ({ build }) => {
      const directory = await build({ VERSION: "1.2.3", TARGETARCH: architecture });
      expect(await Deno.readTextFile(`${directory}/files/LICENSE`)).toBe(`LICENSE for ${target}\n`);
    });
  }

  testBuild("takes the version that is asked for, of several", async ({ build, context }) => {
    await Deno.writeTextFile(`${context}/../newer`, "a newer one");
    await writeRelease(context, "1.2.4", `${context}/../newer`);
    expect(await Deno.readTextFile(`${await build({ VERSION: "1.2.4" })}/files/service-api`)).toBe("a newer one");
  });

  testBuild("refuses an archive that was tampered with", async ({ build, context }) => {
    const sums = await Deno.readTextFile(`${context}/SHA256SUMS`);
    await Deno.writeTextFile(`${context}/../other`, "something else");
    await writeRelease(context, "1.2.3", `${context}/../other`);
    await Deno.writeTextFile(`${context}/SHA256SUMS`, sums);
    await expect(build()).rejects.toThrow(/did NOT match|FAILED/);
  });

  testBuild("refuses an archive that was cut short", async ({ build, context }) => {
    await Promise.all(TARGETS.map((target) => Deno.truncate(`${context}/service-api-1.2.3-${target}.tar.gz`, 100)));
    await expect(build()).rejects.toThrow(/did NOT match|FAILED/);
  });

  testBuild("refuses an archive whose checksum is not there", async ({ build, context }) => {
    await Deno.writeTextFile(`${context}/SHA256SUMS`, `${"0".repeat(64)}  service-api-1.2.4-${TARGETS[0]}.tar.gz\n`);
    await expect(build()).rejects.toThrow(/SHA256SUMS has no service-api-1\.2\.3-\w+-unknown-linux-gnu\.tar\.gz\.$/);
  });

  testBuild("refuses a version that is not there, and says when none is given", async ({ build }) => {
    await expect(build({ VERSION: "9.9.9" })).rejects.toThrow(/SHA256SUMS has no service-api-9\.9\.9/);
    await expect(build({})).rejects.toThrow(/VERSION: is missing: give it with --build-arg/);
  });

  testBuild("names an architecture for which there is no release", async ({ build }) => {
    await expect(build({ VERSION: "1.2.3", TARGETARCH: "riscv64" })).rejects.toThrow(
      "There is no release for riscv64.",
    );
  });
}

/** Makes a directory of all the programs that busybox is. */
async function installBusybox(directory: string): Promise<string> {
  await Deno.mkdir(directory);
  await command("busybox", ["--install", "-s", directory]);
  return directory;
}
