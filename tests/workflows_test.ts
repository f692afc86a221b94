/** The workflow files: what they may do, and what their steps do when they are run. */
import { expect } from "expect";
import { parse } from "yaml";
import deno from "../deno.json" with { type: "json" };
import { createSbom } from "../scripts/sbom.ts";
import { command, execute } from "./execute.ts";
import { README } from "./readme.ts";
import { testWith } from "./tools.ts";
import { inTemporaryDirectory } from "./store/temporary_store.ts";
import { lintWorkflow } from "./workflow_lint.ts";

const FOLDER = `${import.meta.dirname}/../.github/workflows`;

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
  Deno.test(`${name}.yml is a good workflow`, async () => {
    expect(lintWorkflow((await read(name)).text)).toEqual([]);
  });

  Deno.test(`${name}.yml names every action by a commit and says which version that is`, async () => {
    const { text, jobs } = await read(name);
    const used = [...text.matchAll(/\buses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(used).toHaveLength([...Object.values(jobs), ...stepsOf(await read(name))].filter(({ uses }) => uses).length);
    const pinned = /^\.\/\.github\/workflows\/\w+\.yml$|^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(used.filter((action) => !pinned.test(action))).toEqual([]);
  });

  Deno.test(`${name}.yml runs bash, and no text from elsewhere as a part of it`, async () => {
    const workflow = await read(name);
    expect(workflow.defaults.run.shell).toBe("bash");
    expect(stepsOf(workflow).filter(({ run = "" }) => run.includes("${{"))).toEqual([]);
  });

  Deno.test(`${name}.yml may read, leaves no credentials behind, and ends in time`, async () => {
    const workflow = await read(name);
    expect(workflow.permissions).toEqual({ contents: "read" });
    const checkouts = stepsOf(workflow).filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    expect(checkouts.length).toBeGreaterThan(0);
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
    const endless = Object.values(workflow.jobs).filter((job) => job.steps && !job["timeout-minutes"]);
    expect(endless).toEqual([]);
  });
}

Deno.test("a bad workflow is told", async () => {
  const { text } = await read("test");
  expect(lintWorkflow(text.replace("run: .ci/run", "run: .ci/run\n        shel: sh"))).toHaveLength(1);
  expect(lintWorkflow(text.replace("matrix.system", "matrix.sistem"))).toHaveLength(1);
});

Deno.test("how to check is said in .ci/run alone", async () => {
  expect(stepsOf(await read("test")).flatMap(({ run }) => run ?? [])).toEqual([".ci/run"]);
});

Deno.test("a release is published by a job that runs no package, when the tests and the build are done", async () => {
  const { jobs: { publish, ...others } } = await read("release");
  expect(publish?.needs).toEqual(["test", "build"]);
  expect(publish?.permissions).toEqual({ contents: "write", "id-token": "write", attestations: "write" });
  expect(publish?.steps?.filter(({ run = "" }) => /\b(npx|npm|deno|node)\b/.test(run))).toEqual([]);
  expect(Object.values(others).filter(({ permissions }) => permissions)).toEqual([]);
  expect(others["test"]?.uses).toBe("./.github/workflows/test.yml");
});

Deno.test("a release is built by the Deno of the README", async () => {
  const [command = ""] = /^npx -y deno@[\d.]+ task /m.exec(README) ?? [];
  expect(await runOf("Build")).toBe(`${command}release`);
});

Deno.test("the list of what is in the archives is one that the action signs, and always the same", async () => {
  const list = await createSbom([], "2.9.6", new Date(0));
  // As its src/sbom.ts asks.
  expect(JSON.parse(list)).toMatchObject({
    bomFormat: "CycloneDX",
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
    specVersion: "1.6",
  });
  expect(await createSbom([], "2.9.6", new Date(0))).toBe(list);
  expect(JSON.parse(await createSbom([], "2.9.7", new Date(0))).serialNumber).not.toBe(
    JSON.parse(list).serialNumber,
  );
});

/** What a step of `release.yml` runs. */
async function runOf(name: string): Promise<string> {
  const step = stepsOf(await read("release")).find((step) => step.name === name);
  if (step?.run === undefined) throw new Error(`release.yml has no step "${name}" that runs something`);
  return step.run;
}

/** A directory in which a step can be run as the forge does it. */
interface Runner {
  readonly directory: string;
  readonly step: (name: string, tag: string) => Promise<{ readonly success: boolean; readonly stderr: string }>;
  readonly git: (...args: readonly string[]) => Promise<string>;
  readonly read: (file: string) => Promise<string>;
  readonly write: (file: string, text: string, mode?: number) => Promise<void>;
}

/** Hands `test` a runner, and sees that nothing was made there that only a text that is run would make. */
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

/** What would make a file `pwned` if a shell came to read it, as the name of a tag may be. */
const HOSTILE = "$(>pwned)`>pwned`;>pwned;'\"&&>pwned";

function testStep(what: string, programs: readonly string[], test: (runner: Runner) => Promise<void>): void {
  testWith(programs, what, () => onRunner(test));
}

testStep("a tag is released that is the version of deno.json", ["bash", "node"], async (runner) => {
  await runner.write("deno.json", JSON.stringify({ version: deno.version }));
  expect(await runner.step("See that the tag is the version", `v${deno.version}`)).toMatchObject({ success: true });
  expect(await runner.read("output")).toBe(`version=${deno.version}\n`);
});

for (const tag of [deno.version, `v${deno.version}-rc.1`, `v${deno.version}.`, `v${HOSTILE}`, "v", "vundefined"]) {
  testStep(`the tag ${tag} is not released`, ["bash", "node"], async (runner) => {
    await runner.write("deno.json", JSON.stringify({ version: deno.version }));
    const { success, stderr } = await runner.step("See that the tag is the version", tag);
    expect(success).toBe(false);
    expect(stderr).toBe(`the tag is ${tag}, the version in deno.json ${deno.version}\n`);
    await expect(runner.read("output")).rejects.toThrow(Deno.errors.NotFound);
  });
}

testStep(
  "the notes are the commits since the last tag, merges aside, as they are written",
  ["bash", "git"],
  async (runner) => {
    const { git } = runner;
    const commit = async (subject: string): Promise<string> => {
      await git("commit", "--quiet", "--allow-empty", "--message", subject);
      return `- ${subject} (${await git("rev-parse", "--short", "HEAD")})\n`;
    };
    const notesOf = async (tag: string): Promise<string> => {
      expect(await runner.step("Write the notes", tag)).toMatchObject({ success: true });
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

testStep("files that came over whole are published, others are not", ["bash", "sha256sum"], async (runner) => {
  await runner.write("dist/release/a.tar.gz", "archive");
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("archive"))).toHex();
  await runner.write("dist/release/SHA256SUMS", `${sum}  a.tar.gz\n`);
  expect(await runner.step("See that the files are whole", "v1")).toMatchObject({ success: true });
  await runner.write("dist/release/SHA256SUMS", `${sum}  a.tar.gz\n${sum.slice(1)}  b.tar.gz\n`);
  expect(await runner.step("See that the files are whole", "v1")).toMatchObject({ success: false });
  await runner.write("dist/release/SHA256SUMS", `${sum}  a.tar.gz\n`);
  await runner.write("dist/release/a.tar.gz", "archivf");
  expect(await runner.step("See that the files are whole", "v1")).toMatchObject({ success: false });
  await Deno.remove(`${runner.directory}/dist/release/a.tar.gz`);
  expect(await runner.step("See that the files are whole", "v1")).toMatchObject({ success: false });
  await runner.write("dist/release/SHA256SUMS", "");
  expect(await runner.step("See that the files are whole", "v1")).toMatchObject({ success: false });
});

for (const [tag, isPrerelease] of [["v1.2.3", false], ["v1.2.3-rc.1", true]] as const) {
  testStep(`${tag} is ${isPrerelease ? "not " : ""}taken for the newest release`, ["bash"], async (runner) => {
    await runner.write("bin/gh", '#!/bin/sh\nprintf "%s\\n" "$@" >arguments\n', 0o755);
    expect(await runner.step("Publish", tag)).toMatchObject({ success: true });
    expect((await runner.read("arguments")).includes("--prerelease\n")).toBe(isPrerelease);
  });
}

testStep(
  "everything that was built is published, with the notes, under a tag that is there",
  ["bash"],
  async (runner) => {
    await runner.write("bin/gh", '#!/bin/sh\nprintf "%s\\n" "$@" >arguments\n', 0o755);
    const files = ["dist/release/SHA256SUMS", "dist/release/a 1.tar.gz", "dist/release/b.zip"];
    await Promise.all(files.map((file) => runner.write(file, "")));
    const tag = `v${HOSTILE}`;
    expect(await runner.step("Publish", tag)).toMatchObject({ success: true });
    const [release, create, name, ...rest] = (await runner.read("arguments")).trim().split("\n");
    expect([release, create, name]).toEqual(["release", "create", tag]);
    expect(rest.toSorted()).toEqual(
      [
        ...(tag.includes("-") ? ["--prerelease"] : []),
        "--verify-tag",
        "--title",
        tag,
        "--notes-file",
        `${runner.directory}/notes.md`,
        ...files,
        "scripts/install.sh",
        "scripts/install.ps1",
      ].toSorted(),
    );
  },
);
