/** Where the runtime base of `deno task compile` comes from, and what happens if it is not the pinned one. */
import { expect } from "expect";
import { packTar } from "modern-tar";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import deno from "../../deno.json" with { type: "json" };
import { findRuntimeBase, readBaseSource } from "../../scripts/runtime_base.ts";
import { command, execute, type Outcome } from "../execute.ts";
import { buildExecutable } from "../program/executable.ts";
import { denoDirectory } from "../program/from_sources.ts";
import { missingPrograms, SLOW, testWith } from "../tools.ts";

const TARGET = Deno.build.target;

/** A program that finds the base for this machine. */
const FIND_BASE = `import { describe, findRuntimeBase } from "${import.meta.resolve("../../scripts/runtime_base.ts")}";
console.log(describe(await findRuntimeBase([Deno.build.target], "npm")));`;

interface Cache extends AsyncDisposable {
  readonly directory: string;
  /** Runs `deno task compile --base npm` with this cache. */
  readonly compile: (output: string, env?: Record<string, string>) => Promise<Outcome>;
  /** Runs only the part of `compile` that finds the base, and prints where the base comes from. */
  readonly download: () => Promise<Outcome>;
  /** The names of the files that `deno compile` would use as bases, and of unfinished ones. */
  readonly bases: () => Promise<readonly string[]>;
}

/** A cache of Deno that has all packages but no bases. */
async function openCache(): Promise<Cache> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-cache-" });
  const original = await denoDirectory();
  await Deno.mkdir(`${directory}/dl`);
  const paths = await Promise.all(
    [".", "dl"].map((parent) =>
      Array.fromAsync(Deno.readDir(`${original}/${parent}`), ({ name }) => `${parent}/${name}`).catch(() => [])
    ),
  );
  // The bases are in `dl/release`. Old versions of Deno keep the bundler in `dl` too.
  const shared = paths.flat().filter((path) => path !== "./dl" && path !== "dl/release");
  await Promise.all(shared.map((path) => Deno.symlink(`${original}/${path}`, `${directory}/${path}`)));
  const [, ...words] = deno.tasks.compile.command.split(" ");
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> =>
    execute(Deno.execPath(), args, {
      cwd: `${import.meta.dirname}/../..`,
      env: { DENO_DIR: directory, npm_config_fetch_retries: "0", ...env },
    });
  return {
    directory,
    compile: (output, env) => run([...words, "--base", "npm", "--output", `${directory}/${output}`], env),
    download: () => run(["eval", "--config", "tests/deno.json", FIND_BASE]),
    bases: () =>
      Array.fromAsync(Deno.readDir(`${directory}/dl/release/v2.7.11`), ({ name }) => name)
        .then((names) => names.filter((name) => name.startsWith("denort")), () => []),
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

/**
 * A registry that serves one tarball for every package, and states its integrity.
 *
 * @param bytes how many bytes of the tarball it sends, by default all
 */
async function startRegistry(bytes?: number): Promise<{ readonly url: string } & AsyncDisposable> {
  const body = new TextEncoder().encode("not the pinned program");
  const tarball = gzipSync(await packTar([{ header: { name: "package/bin/steady", size: body.length }, body }]));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { origin, pathname } = new URL(request.url);
    if (pathname.endsWith(".tgz")) return new Response(new Uint8Array(tarball).slice(0, bytes));
    const name = decodeURIComponent(pathname.slice(1));
    const manifest = { name, version: "0.22.2", dist: { tarball: `${origin}/${name}.tgz`, integrity } };
    return Response.json({ name, "dist-tags": { latest: "0.22.2" }, versions: { "0.22.2": manifest } });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Registers a test of downloads. It is skipped for the reason `missing`, or if npm could not download the base. */
async function testDownload(rule: string, check: (cache: Cache) => Promise<void>, missing?: string): Promise<void> {
  const build = await buildExecutable();
  const reason = build.kind === "not built" ? build.reason : missing;
  if (reason !== undefined) Deno.test.ignore(`compile: ${rule} (skipped: ${reason})`, () => {});
  else {
    Deno.test(`compile: ${rule}`, async () => {
      await using cache = await openCache();
      await check(cache);
    });
  }
}

const npm = SLOW ?? (missingPrograms(["npm"]).length === 0 ? undefined : "npm is not installed");

await testDownload("two processes can download the base at once, and a later one downloads nothing", async (cache) => {
  const outcomes = await Promise.all([cache.download(), cache.download()]);
  const base = "Runtime base: Deno 2.7.11, from npm (see scripts/README.md)\n";
  expect(outcomes).toEqual(Array(2).fill({ code: 0, stdout: base, stderr: "" }));
  expect(await cache.bases()).toEqual([`denort-${TARGET}.zip`]);
  const offline = await cache.compile("out", {
    npm_config_registry: "http://127.0.0.1:1",
    npm_config_cache: `${cache.directory}/npm-cache`,
  });
  expect({ code: offline.code, stderr: offline.stderr }).toEqual({ code: 0, stderr: base });
  expect(await command(offline.stdout.trim(), ["--version"])).toMatch(/^service-api /);
}, npm);

const isRoot = Deno.build.os === "linux" && (await command("id", ["-u"])).trim() === "0";
const whyNoDisk = isRoot ? npm : "needs Linux and root";

await testDownload("if the disk is full, the error says so and no part of the base is left", async (cache) => {
  const disk = `${cache.directory}/dl/release`;
  await Deno.mkdir(disk);
  await command("mount", ["-t", "tmpfs", "-o", "size=20m", "tmpfs", disk]);
  try {
    expect(await cache.compile("out")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^No space left on device/),
    });
    expect(await cache.bases()).toEqual([]);
  } finally {
    await command("umount", [disk]);
  }
}, whyNoDisk);

const WRONG_TARBALLS: readonly { readonly what: string; readonly bytes?: number; readonly error: RegExp }[] = [
  {
    what: "is not the pinned one",
    error: /^The registry's @stdy\/cli-\S+@0\.22\.2 has the integrity sha512-\S+, not the pinned sha512-/,
  },
  { what: "is incomplete", bytes: 20, error: /^npm could not download @stdy\// },
];
for (const { what, bytes, error } of WRONG_TARBALLS) {
  testWith(
    ["npm"],
    `compile: if the tarball from npm ${what}, the error says so and the base is not stored`,
    async () => {
      await using cache = await openCache();
      await using registry = await startRegistry(bytes);
      const env = { npm_config_registry: registry.url, npm_config_cache: `${cache.directory}/npm-cache` };
      const failed = { code: 1, stdout: "", stderr: expect.stringMatching(error) };
      expect(await cache.compile("out", env)).toMatchObject(failed);
      expect(await cache.bases()).toEqual([]);
    },
  );
}

await testDownload(
  "if compiling fails, the executable of an earlier compilation stays",
  async ({ directory, compile }) => {
    const build = await buildExecutable();
    if (build.kind === "not built") throw new Error(build.reason);
    const executable = `${directory}/out/${build.path.replace(/.*\//, "")}`;
    await Deno.mkdir(`${directory}/out`);
    await Deno.copyFile(build.path, executable);
    const bases = `${directory}/dl/release/v2.7.11`;
    await Deno.mkdir(bases, { recursive: true });
    await Deno.writeTextFile(`${bases}/denort-${TARGET}.zip`, "not a zip file");
    await Deno.symlink(`${await denoDirectory()}/dl/release/v2.7.11/deno`, `${bases}/deno`);
    expect((await compile("out")).code).toBe(1);
    expect(await command(executable, ["--version"])).toMatch(/^service-api /);
    expect((await Array.fromAsync(Deno.readDir(`${directory}/out`))).length).toBe(1);
  },
  npm,
);

Deno.test("compile: says that npm has no base for Windows on ARM64", async () => {
  await expect(findRuntimeBase(["aarch64-pc-windows-msvc"], "npm")).rejects.toThrow(
    "npm has no runtime base for aarch64-pc-windows-msvc. Only Deno's download host has one.",
  );
});

Deno.test("compile: rejects a --base other than deno and npm", () => {
  expect(() => readBaseSource("NPM")).toThrow("--base must be deno or npm, not NPM.");
});
