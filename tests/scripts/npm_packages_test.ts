/** The contents of the npm packages. Short texts replace the executables. */
import { expect } from "expect";
import deno from "../../deno.json" with { type: "json" };
import { writeNpmPackages } from "../../scripts/npm/packages.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { testWith } from "../tools.ts";
import { entriesIn, npmIn, serveRegistry, textIn, TIME, writePackages } from "./npm_registry.ts";

const VERSION = deno.version;
const MAIN = `service-api-${VERSION}.tgz`;
const LINUX = `service-api-linux-x64-${VERSION}.tgz`;
const WINDOWS = `service-api-win32-x64-${VERSION}.tgz`;

/** Passes to `test` a directory with the packages of a release, and the file names of the packages. */
function withPackages(test: (directory: string, names: readonly string[]) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => test(directory, await writePackages(directory)));
}

Deno.test("npm: a release has one package for each platform, and service-api is the last to be published", () =>
  withPackages(async (directory, names) => {
    expect(names).toEqual(
      ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"]
        .map((platform) => `service-api-${platform}-${VERSION}.tgz`).concat(MAIN),
    );
    const files = await Array.fromAsync(Deno.readDir(directory), ({ name }) => name);
    expect(files.toSorted()).toEqual(names.toSorted());
  }));

Deno.test("npm: service-api has no install script and depends on the platform packages of its own version", () =>
  withPackages(async (directory) => {
    const manifest = JSON.parse(textIn(await entriesIn(`${directory}/${MAIN}`), "package/package.json"));
    expect(manifest).toMatchObject({
      name: "service-api",
      version: VERSION,
      license: "MIT",
      bin: { "service-api": "bin/service-api.cjs" },
      man: ["man/service-api.1", "man/service-api-json.7"],
      engines: { node: ">=18" },
      publishConfig: { access: "public", provenance: true },
      repository: { url: "git+https://github.com/service-api/service-api.git" },
      optionalDependencies: {
        "@service-api/darwin-arm64": VERSION,
        "@service-api/darwin-x64": VERSION,
        "@service-api/linux-arm64": VERSION,
        "@service-api/linux-x64": VERSION,
        "@service-api/win32-x64": VERSION,
      },
    });
    expect(Object.keys(manifest).filter((field) => /^(scripts|dependencies|peerDependencies)$/.test(field))).toEqual(
      [],
    );
  }));

Deno.test("npm: a platform package names its system, its processor and, on Linux, glibc", () =>
  withPackages(async (directory) => {
    const manifestIn = async (file: string): Promise<Record<string, unknown>> =>
      JSON.parse(textIn(await entriesIn(`${directory}/${file}`), "package/package.json"));
    const linux = await manifestIn(LINUX);
    expect(linux).toMatchObject({
      name: "@service-api/linux-x64",
      version: VERSION,
      os: ["linux"],
      cpu: ["x64"],
      libc: ["glibc"],
      preferUnplugged: true,
      publishConfig: { access: "public", provenance: true },
    });
    expect(Object.keys(linux).filter((field) => /^(scripts|bin|.*[dD]ependencies)$/.test(field))).toEqual([]);
    const windows = await manifestIn(WINDOWS);
    expect(windows).toMatchObject({ name: "@service-api/win32-x64", os: ["win32"], cpu: ["x64"] });
    expect(windows).not.toHaveProperty("libc");
  }));

Deno.test("npm: a package has its program, its licences, a README and, if it is service-api, the man pages, all with the owner root and the time of the commit", () =>
  withPackages(async (directory) => {
    const filesIn = async (tarball: string): Promise<Readonly<Record<string, unknown>>> =>
      Object.fromEntries(
        (await entriesIn(`${directory}/${tarball}`)).map(({ header: { name, mode, mtime, uid, gid } }) => {
          expect({ mtime, uid, gid }).toEqual({ mtime: TIME, uid: 0, gid: 0 });
          return [name.replace(/^package\//, ""), mode];
        }),
      );
    const common = { "package.json": 0o644, LICENSE: 0o644, "README.md": 0o644 };
    const platform = { ...common, "THIRD-PARTY-LICENSES": 0o644 };
    const man = { "man/service-api.1": 0o644, "man/service-api-json.7": 0o644 };
    expect(await filesIn(MAIN)).toEqual({ ...common, ...man, "bin/service-api.cjs": 0o755 });
    expect(await filesIn(LINUX)).toEqual({ ...platform, "bin/service-api": 0o755 });
    expect(await filesIn(WINDOWS)).toEqual({ ...platform, "bin/service-api.exe": 0o755 });
  }));

Deno.test("npm: the same executables and commit give the same bytes", () =>
  withPackages((directory, names) =>
    withPackages(async (other) => {
      const [first, second] = await Promise.all(
        [directory, other].map((path) => Promise.all(names.map((name) => Deno.readFile(`${path}/${name}`)))),
      );
      expect(second).toEqual(first);
    })
  ));

Deno.test("npm: in a release for one target, service-api depends only on the package for this target", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/text`, "an executable\n");
    const executables = new Map([["aarch64-apple-darwin", `${directory}/text`]] as const);
    const names = await writeNpmPackages({
      executables,
      thirdPartyLicences: "",
      manPages: new Map(),
      directory,
      time: TIME,
    });
    expect(names).toEqual([`service-api-darwin-arm64-${VERSION}.tgz`, MAIN]);
    const manifest = JSON.parse(textIn(await entriesIn(`${directory}/${MAIN}`), "package/package.json"));
    expect(manifest.optionalDependencies).toEqual({ "@service-api/darwin-arm64": VERSION });
  }));

testWith(
  ["npm", "node"],
  "npm: npm would publish the packages as they are, without a warning",
  () =>
    withPackages(async (directory) => {
      await using registry = serveRegistry(new Map());
      const npm = npmIn(directory, registry.url);
      await Deno.writeTextFile(`${directory}/npmrc`, `${registry.url.replace("http:", "")}/:_authToken=token\n`);
      const names = [MAIN, LINUX];
      const outcomes = await Promise.all(names.map((name) =>
        // Only a workflow on GitHub can prove the provenance.
        npm("npm", ["publish", "--dry-run", "--provenance=false", "--json", `./${name}`])
      ));
      expect(outcomes).toEqual(names.map((name) => ({
        code: 0,
        stdout: expect.stringContaining(`"filename": "${name}"`),
        stderr: expect.not.stringMatching(/npm (warn|error)/),
      })));
    }),
);
