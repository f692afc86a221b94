/** A release: its archives, their checksums, and the SBOM of the executables. */
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { expect } from "expect";
import { unzipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { cp } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import deno from "../../deno.json" with { type: "json" };
import { manPages } from "../../scripts/man/pages.ts";
import { script as zsh } from "../../src/cli/completions/zsh.ts";
import { readTarget } from "../../scripts/bundle.ts";
import { readCommit } from "../../scripts/commit.ts";
import { packageName, tarballName } from "../../scripts/npm/packages.ts";
import { createSbom } from "../../scripts/sbom.ts";
import { command, execute, type Outcome } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";

const PROJECT = `${import.meta.dirname}/../..`;
const TARGET = Deno.build.target;
const WINDOWS = "x86_64-pc-windows-msvc";
/** A target without a runtime base. */
const UNAVAILABLE = Deno.build.os === "darwin" ? "x86_64-unknown-linux-gnu" : "x86_64-apple-darwin";

const NAME = `service-api-${deno.version}`;
const TARBALL = `${NAME}-${TARGET}.tar.gz`;
const ZIP = `${NAME}-${WINDOWS}.zip`;
const SBOM = `${NAME}.cdx.json`;
const NPM_PACKAGES = [packageName(readTarget(TARGET)), packageName(WINDOWS), "service-api"].map(tarballName);

/**
 * Stands in for `deno compile`: concatenates the bundle's files instead of compiling them. For `UNAVAILABLE`, it prints
 * the error that Deno prints if it cannot download the runtime base.
 */
const COMPILER = `#!/bin/sh
case "$*" in
compile*${UNAVAILABLE}*)
  printf '%s\\n' 'error: Writing' '' 'Caused by:' '  0: Setting up base binary.' '  1: no such host' '' 'Stack backtrace:' >&2
  exit 1 ;;
compile*)
  for entry; do :; done
  while [ "$1" != --output ]; do shift; done
  cd "\${entry%/*}" && find . -name '*.js*' ! -name '*.map' | LC_ALL=C sort | xargs cat > "$2" ;;
*) exec "$REAL_COMPILER" "$@" ;;
esac
`;

async function task(
  name: "compile" | "release",
  project: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const [, ...words] = deno.tasks[name].command.split(" ");
  return await execute(Deno.execPath(), [...words, ...args], { cwd: project, env });
}

const directory = await Deno.makeTempDir({ prefix: "service-api-release-test-" });
Deno.test.afterAll(() => Deno.remove(directory, { recursive: true }));
/** The directories of the two releases, and a copy of this checkout. */
const [OUTPUT, COPY_OUTPUT, COPY] = [`${directory}/output`, `${directory}/copy-output`, `${directory}/elsewhere/copy`];
// Runs before the releases are built: it installs Deno's bundler under a lock, and parallel installations would fail.
const build = Deno.build.os === "windows" ? undefined : await buildExecutable();
const outcomes = build === undefined ? undefined : await release();

/** Builds a release in this checkout, one in a copy of it, and one that fails. */
async function release(): Promise<readonly [Outcome, Outcome, Outcome]> {
  const compiler = `${directory}/compiler`;
  await Deno.writeTextFile(compiler, COMPILER, { mode: 0o755 });
  const env = { DENO_COMPILE: compiler, REAL_COMPILER: Deno.env.get("DENO_COMPILE") ?? Deno.execPath() };
  await Deno.mkdir(OUTPUT);
  await Deno.writeTextFile(`${OUTPUT}/service-api-0.0.9.cdx.json`, "of an earlier release");
  await cp(PROJECT, COPY, { recursive: true, filter: (path) => !path.endsWith("/dist") });
  const targets = [TARGET, UNAVAILABLE, WINDOWS].flatMap((target) => ["--target", target]);
  return [
    await task("release", PROJECT, ["--output", OUTPUT, ...targets], env),
    await task("release", COPY, ["--output", COPY_OUTPUT, "--target", TARGET], env),
    // Fails, and must not change the release that the tests look at.
    await task("release", PROJECT, ["--output", OUTPUT, "--target", UNAVAILABLE], env),
  ];
}

function testRelease(
  rule: string,
  check: (first: Outcome, second: Outcome, failed: Outcome) => void | Promise<void>,
): void {
  if (outcomes === undefined) {
    Deno.test.ignore(`release: ${rule}: skipped on Windows, the compiler of the test is a shell script`, () => {});
  } else Deno.test(`release: ${rule}`, () => check(...outcomes));
}

testRelease("names a target without a runtime base, builds the others and replaces an older release", async ({
  code,
  stdout,
  stderr,
}) => {
  const line = `^Could not build ${UNAVAILABLE}: no runtime base\\. .*no such host$`;
  expect(stderr).toMatch(new RegExp(line, "m"));
  expect(stderr).not.toMatch(/backtrace/);
  expect({ code, stdout: stdout.trim().split("\n") }).toEqual({
    code: 1,
    stdout: [TARBALL, ZIP, ...NPM_PACKAGES].map((name) => `${OUTPUT}/${name}`),
  });
  const files = await Array.fromAsync(Deno.readDir(OUTPUT), ({ name }) => name);
  expect(files.toSorted()).toEqual([TARBALL, ZIP, ...NPM_PACKAGES, SBOM, "SHA256SUMS"].toSorted());
});

testRelease("keeps the previous release if no target can be built", (_, __, { code, stdout }) => {
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
});

testRelease("SHA256SUMS lists every file in the format of sha256sum", async () => {
  const lines = await Promise.all([TARBALL, ZIP, ...NPM_PACKAGES, SBOM].map(async (name) => {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${OUTPUT}/${name}`));
    return `${new Uint8Array(digest).toHex()}  ${name}\n`;
  }));
  expect(await Deno.readTextFile(`${OUTPUT}/SHA256SUMS`)).toBe(lines.join(""));
});

testRelease("the same commit gives the same bytes in another directory", async (_, { code }) => {
  expect(code).toBe(0);
  const [first = "", second = ""] = await Promise.all(
    [OUTPUT, COPY_OUTPUT].map((path) => Deno.readTextFile(`${path}/SHA256SUMS`)),
  );
  // Only the first release is also for Windows, so its package service-api depends on one more package.
  const shared = (sums: string): readonly string[] =>
    sums.split("\n").filter((line) => !/\.zip$|win32/.test(line) && !line.endsWith(` ${tarballName("service-api")}`));
  expect(shared(second)).toEqual(shared(first));
});

const OTHER_FILES = [
  "LICENSE",
  "README.md",
  "THIRD-PARTY-LICENSES",
  "completions/_service-api",
  "completions/service-api.bash",
  "completions/service-api.fish",
  "completions/service-api.ps1",
  ...[...(await manPages(new Date(0))).keys()].map((name) => `man/${name}`),
];

testRelease("a tarball has one directory, owned by root, with the time of the commit", async () => {
  const commit = await readCommit(PROJECT);
  const entries = await unpackTar(gunzipSync(await Deno.readFile(`${OUTPUT}/${TARBALL}`)));
  const folder = `${NAME}-${TARGET}`;
  const mtime = commit?.time ?? new Date("1980-01-02");
  expect(
    Object.fromEntries(entries.map(({ header: { name, mode, uid, gid, mtime } }) => [name, { mode, uid, gid, mtime }])),
  ).toEqual(
    Object.fromEntries(
      [...OTHER_FILES, "service-api"].map((
        name,
      ) => [`${folder}/${name}`, { mode: name === "service-api" ? 0o755 : 0o644, uid: 0, gid: 0, mtime }]),
    ),
  );
  const completions = entries.find(({ header }) => header.name === `${folder}/completions/_service-api`);
  expect(new TextDecoder().decode(completions?.data)).toBe(zsh);
});

testRelease("the archive for Windows is a zip file with service-api.exe", async () => {
  const files = unzipSync(await Deno.readFile(`${OUTPUT}/${ZIP}`));
  expect(Object.keys(files).toSorted()).toEqual(
    [...OTHER_FILES, "service-api.exe"].map((name) => `${NAME}-${WINDOWS}/${name}`).toSorted(),
  );
});

testRelease("the SBOM is valid and lists the bundled packages and no others", async () => {
  const text = await Deno.readTextFile(`${OUTPUT}/${SBOM}`);
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBe(null);
  const { metadata, components } = JSON.parse(text);
  expect(metadata.component).toMatchObject({ name: "service-api", version: deno.version });
  const names: readonly string[] = components.map(({ group, name }: { group?: string; name: string }) =>
    group === undefined ? name : `${group}/${name}`
  );
  expect(names).toHaveLength(new Set(names).size);
  expect(names).toEqual(
    expect.arrayContaining(["commander", "deno", "graphql", "graphql-http", "pg-protocol", "yaml"]),
  );
  const onlyForTests = ["@xterm/headless", "ajv", "expect", "fast-check", "fflate", "modern-tar", "@types/pg"];
  expect(names.filter((name) => onlyForTests.includes(name))).toEqual([]);
  for (const { name, hashes, licenses } of components) {
    expect({ name, licences: licenses.length }).toEqual({ name, licences: 1 });
    if (name !== "deno") {
      expect(hashes[0]).toMatchObject({ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) });
    }
  }
});

Deno.test("release: the SBOM lists the programs on npm that contain the runtime bases", async () => {
  const text = await createSbom([], "2.7.11", [{ spec: "program@1.0.0", sha256: "00ff" }], new Date(0));
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBe(null);
  expect(JSON.parse(text).components[0]).toMatchObject({
    name: "deno",
    version: "2.7.11",
    properties: [{ name: "service-api:runtime-base", value: "taken from the npm package program@1.0.0, sha256:00ff" }],
  });
});

Deno.test("release: rejects an unknown target and lists the targets", async () => {
  const { code, stderr } = await task("release", PROJECT, ["--target", "sparc-sun-solaris"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^sparc-sun-solaris is not a target\. The targets are x86_64-unknown-linux-gnu, /m);
});

const RULE = "compile: the same commit gives the same executable in another directory";
if (build?.kind !== "built") Deno.test.ignore(`${RULE}: skipped, ${build?.reason ?? "on Windows"}`, () => {});
else {
  Deno.test(RULE, async () => {
    const { code, stdout } = await task("compile", COPY, ["--output", `${directory}/executable`]);
    expect(code).toBe(0);
    const [first, second] = await Promise.all(
      [build.path, stdout.trim()].map(async (path) =>
        new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex()
      ),
    );
    expect(second).toBe(first);
    const commit = await readCommit(PROJECT);
    expect(await command(build.path, ["--version"])).toBe(
      `service-api ${deno.version} (${commit === undefined ? "unknown commit" : `commit ${commit.id}`}, ${TARGET})\n`,
    );
  });
}
