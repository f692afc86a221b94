/** A release: its archives, their checksums, and the list of what is in the executables. */
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { expect } from "expect";
import { unzipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { cp } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import deno from "../deno.json" with { type: "json" };
import { script as zsh } from "../src/cli/completions/zsh.ts";
import { readCommit } from "../scripts/commit.ts";
import { command, execute, type Outcome } from "./execute.ts";

const PROJECT = `${import.meta.dirname}/..`;
const THIS = Deno.build.target;
const NAME = `service-api-${deno.version}`;
const TARBALL = `${NAME}-${THIS}.tar.gz`;
const ZIP = `${NAME}-x86_64-pc-windows-msvc.zip`;
const SBOM = `${NAME}.cdx.json`;
/** A target whose base is not to be had. */
const ABSENT = Deno.build.os === "darwin" ? "x86_64-unknown-linux-gnu" : "x86_64-apple-darwin";

/**
 * Compiles for this machine as the real one does. For Windows it makes something else, and for the absent target it
 * fails as it does where no base can be downloaded.
 */
const COMPILER = `#!/bin/sh
case "$*" in
compile*windows*)
  while [ "$1" != --output ]; do shift; done
  printf 'MZ' > "$2" ;;
compile*${ABSENT}*)
  printf '%s\n' 'error: Writing' '' 'Caused by:' '  0: Setting up base binary.' '  1: no such host' '' 'Stack backtrace:' >&2
  exit 1 ;;
*) exec "$REAL_COMPILER" "$@" ;;
esac
`;

async function release(project: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const [, ...words] = deno.tasks.release.command.split(" ");
  return await execute(Deno.execPath(), [...words, ...args], { cwd: project, env });
}

interface Made {
  readonly directory: string;
  readonly first: Outcome;
  readonly second: Outcome;
}

/** A release with what stands in for other systems' bases, and another from a checkout that lies elsewhere. */
async function makeTwo(): Promise<Made> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-release-test-" });
  const compiler = `${directory}/compiler`;
  await Deno.writeTextFile(compiler, COMPILER, { mode: 0o755 });
  await Deno.mkdir(`${directory}/one`);
  await Deno.writeTextFile(`${directory}/one/service-api-0.0.9.cdx.json`, "of an earlier release");
  const targets = [THIS, ABSENT, "x86_64-pc-windows-msvc"].flatMap((target) => ["--target", target]);
  const first = await release(PROJECT, ["--output", `${directory}/one`, ...targets], {
    DENO_COMPILE: compiler,
    REAL_COMPILER: Deno.env.get("DENO_COMPILE") ?? Deno.execPath(),
  });
  const copy = `${directory}/elsewhere/copy`;
  await cp(PROJECT, copy, { recursive: true, filter: (path) => !path.endsWith("/dist") });
  const second = await release(copy, ["--output", `${directory}/two`, "--target", THIS]);
  return { directory, first, second };
}

const made = Deno.build.os === "windows" ? undefined : await makeTwo();
if (made !== undefined) Deno.test.afterAll(() => Deno.remove(made.directory, { recursive: true }));

/** Why there is no release to look at; `undefined`: there is one. */
const why = made === undefined
  ? "the compiler of the test is a shell script"
  : !Deno.env.has("DENORT_BIN") && made.second.stderr.includes("its runtime base cannot be had")
  ? "no runtime base is to be had"
  : undefined;

function test(rule: string, check: (made: Made) => Promise<void>): void {
  const name = why === undefined ? `release: ${rule}` : `release: ${rule}: not run, ${why}`;
  Deno.test({ name, ignore: why !== undefined, fn: () => made === undefined ? Promise.resolve() : check(made) });
}

test("a target without a base is named with the reason, and the others are made", async ({ directory, first }) => {
  const line = `^${ABSENT} is not made: its runtime base cannot be had\\. .*no such host$`;
  expect(first.stderr).toMatch(new RegExp(line, "m"));
  expect(first.stderr).not.toMatch(/backtrace/);
  expect(first.code).toBe(1);
  expect(first.stdout.trim().split("\n")).toEqual([TARBALL, ZIP].map((name) => `${directory}/one/${name}`));
  const files = await Array.fromAsync(Deno.readDir(`${directory}/one`), ({ name }) => name);
  expect(files.toSorted()).toEqual([TARBALL, ZIP, SBOM, "SHA256SUMS"].toSorted());
});

test("every file is in SHA256SUMS as sha256sum writes it", async ({ directory }) => {
  const lines = await Promise.all([TARBALL, ZIP, SBOM].map(async (name) => {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${directory}/one/${name}`));
    return `${new Uint8Array(digest).toHex()}  ${name}\n`;
  }));
  expect(await Deno.readTextFile(`${directory}/one/SHA256SUMS`)).toBe(lines.join(""));
});

test("the same commit gives the same bytes from another directory", async ({ directory, second }) => {
  expect(second.code).toBe(0);
  const [one, two] = await Promise.all(
    ["one", "two"].map((name) => Deno.readTextFile(`${directory}/${name}/SHA256SUMS`)),
  );
  expect(two?.split("\n").filter((line) => line !== "")).toHaveLength(2);
  expect(one).toEqual(expect.stringContaining(two?.split("\n").find((line) => line.endsWith(TARBALL)) ?? ""));
  expect(one).toEqual(expect.stringContaining(two?.split("\n").find((line) => line.endsWith(SBOM)) ?? ""));
});

const OTHER_FILES = [
  "LICENSE",
  "README.md",
  "THIRD-PARTY-LICENSES",
  "completions/_service-api",
  "completions/service-api.bash",
  "completions/service-api.fish",
  "completions/service-api.ps1",
];

test("a tarball has one folder with the program, of the commit's time and root's", async ({ directory }) => {
  const commit = await readCommit(PROJECT);
  const entries = await unpackTar(gunzipSync(await Deno.readFile(`${directory}/two/${TARBALL}`)));
  const folder = `${NAME}-${THIS}`;
  expect(entries.map(({ header }) => header.name).toSorted()).toEqual(
    [...OTHER_FILES, "service-api"].map((name) => `${folder}/${name}`).toSorted(),
  );
  const program = entries.find(({ header }) => header.name === `${folder}/service-api`);
  expect(program?.header).toMatchObject({ mode: 0o755, uid: 0, gid: 0, mtime: commit?.time ?? new Date("1980-01-02") });
  const others = entries.filter((entry) => entry !== program);
  expect(new Set(others.map(({ header }) => header.mode))).toEqual(new Set([0o644]));
  const completions = entries.find(({ header }) => header.name === `${folder}/completions/_service-api`);
  expect(new TextDecoder().decode(completions?.data)).toBe(zsh);

  await Deno.writeFile(`${directory}/service-api`, program?.data ?? new Uint8Array(), { mode: 0o755 });
  const version = await command(`${directory}/service-api`, ["--version"]);
  const made = commit === undefined ? "of no commit" : `commit ${commit.id}`;
  expect(version).toBe(`service-api ${deno.version} (${made}, ${THIS})\n`);
});

test("for Windows it is a zip file with service-api.exe", async ({ directory }) => {
  const folder = `${NAME}-x86_64-pc-windows-msvc`;
  const files = unzipSync(await Deno.readFile(`${directory}/one/${ZIP}`));
  expect(Object.keys(files).toSorted()).toEqual(
    [...OTHER_FILES, "service-api.exe"].map((name) => `${folder}/${name}`).toSorted(),
  );
  expect(new TextDecoder().decode(files[`${folder}/service-api.exe`])).toBe("MZ");
});

test("the SBOM is valid, and has what is bundled and nothing else", async ({ directory }) => {
  const text = await Deno.readTextFile(`${directory}/two/${SBOM}`);
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBe(null);
  const { metadata, components } = JSON.parse(text);
  expect(metadata.component).toMatchObject({ name: "service-api", version: deno.version });
  const names: readonly string[] = components.map(({ group, name }: { group?: string; name: string }) =>
    group === undefined ? name : `${group}/${name}`
  );
  expect(names).toHaveLength(new Set(names).size);
  // PostgreSQL's client comes in parts.
  expect(names.filter((name) => !/^(pg|postgres)/.test(name))).toEqual(expect.arrayContaining([
    "@clack/core",
    "commander",
    "deno",
    "graphql",
    "graphql-http",
    "valibot",
    "yaml",
    "zod",
  ]));
  expect(names).toContain("pg-protocol");
  const onlyForTests = ["@xterm/headless", "ajv", "expect", "fast-check", "fflate", "modern-tar", "@types/pg"];
  expect(names.filter((name) => onlyForTests.includes(name))).toEqual([]);
  for (const { name, hashes, licenses } of components) {
    expect({ name, licences: licenses.length }).toEqual({ name, licences: 1 });
    if (name !== "deno") {
      expect(hashes[0]).toMatchObject({ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) });
    }
  }
});

Deno.test("release: a target that there is not is refused with a list of those that there are", async () => {
  const { code, stderr } = await release(PROJECT, ["--target", "sparc-sun-solaris"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sparc-sun-solaris is not a target; the targets are x86_64-unknown-linux-gnu, /m);
});
