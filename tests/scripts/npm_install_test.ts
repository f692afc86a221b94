/** Installs, runs and uninstalls the npm packages with npm. The registry is on this machine, and npm uses no other. */
import { expect } from "expect";
import { command, type Outcome } from "../execute.ts";
import { tarballName } from "../../scripts/npm/packages.ts";
import { buildExecutable } from "../program/executable.ts";
import { missingPrograms, SLOW } from "../tools.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { npmIn, PLATFORM_PACKAGE, readPackages, type Registry, serveRegistry, writePackages } from "./npm_registry.ts";

const build = await buildExecutable();
const missing = missingPrograms(["npm", "npx", "node"]);
const skipped = Deno.build.os === "windows"
  ? "skipped on Windows"
  : build.kind === "not built"
  ? `skipped, ${build.reason}`
  : missing.length > 0
  ? `skipped, not installed: ${missing.join(", ")}`
  : SLOW && `skipped, ${SLOW}`;

const tarballs = await Deno.makeTempDir({ prefix: "service-api-npm-test-" });
Deno.test.afterAll(() => Deno.remove(tarballs, { recursive: true }));
const files = skipped === undefined && build.kind === "built" ? await writePackages(tarballs, build.path) : [];
const packages = await readPackages(tarballs, files);
const version = build.kind === "built" ? await command(build.path, ["--version"]) : "";

/** A machine with npm whose registry has the packages. */
interface Machine {
  readonly directory: string;
  readonly registry: Registry;
  readonly run: ReturnType<typeof npmIn>;
}

function testNpm(rule: string, test: (machine: Machine) => Promise<void>): void {
  if (skipped !== undefined) return Deno.test.ignore(`npm: ${rule}: ${skipped}`, () => {});
  Deno.test(`npm: ${rule}`, () =>
    inTemporaryDirectory(async (directory) => {
      await using registry = serveRegistry(packages);
      await test({ directory, registry, run: npmIn(directory, registry.url) });
    }));
}

/** The packages below `node_modules`, the commands and the man pages that an installation added to the prefix. */
async function installedIn(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(`${directory}/${path}`)) {
      const below = `${path}/${name}`;
      if (isDirectory) await visit(below);
      else if (name === "package.json" || /^(bin$|share\/man\/)/.test(path)) {
        found.push(below.replace(/\/package\.json$/, ""));
      }
    }
  };
  await Promise.all(["bin", "lib", "share"].map((folder) => visit(folder).catch(() => {})));
  return found.toSorted();
}

const INSTALLED = [
  "bin/service-api",
  "lib/node_modules/service-api",
  `lib/node_modules/service-api/node_modules/${PLATFORM_PACKAGE}`,
  "share/man/man1/service-api.1",
  "share/man/man7/service-api-json.7",
];

const SUCCESS: Outcome = { code: 0, stdout: version, stderr: "" };

for (const flags of [[], ["--ignore-scripts"]]) {
  const words = ["npm install --global service-api", ...flags].join(" ");
  testNpm(
    `${words} installs the executable for this machine and the man pages, and uninstalling removes them`,
    async (machine) => {
      const { directory, registry, run } = machine;
      expect(await run("npm", ["install", "--global", "service-api", ...flags])).toMatchObject({ code: 0, stderr: "" });
      expect(await installedIn(`${directory}/prefix`)).toEqual(INSTALLED);
      expect(registry.downloads.toSorted()).toEqual([PLATFORM_PACKAGE, "service-api"]);

      expect(await run(`${directory}/prefix/bin/service-api`, ["--version"])).toEqual(SUCCESS);
      expect((await run("npm", ["uninstall", "--global", "service-api"])).code).toBe(0);
      expect(await installedIn(`${directory}/prefix`)).toEqual([]);
    },
  );
}

testNpm("npx service-api runs the program without installing it", async ({ directory, run }) => {
  expect(await run("npx", ["--yes", "service-api", "--version"])).toEqual(SUCCESS);
  expect((await run("npx", ["--yes", "service-api", "unknown"])).code).toBe(2);
  expect(await installedIn(`${directory}/prefix`)).toEqual([]);
});

testNpm("without a registry, npm installs the program from the tarballs", async ({ directory, registry, run }) => {
  const paths = ["service-api", PLATFORM_PACKAGE].map((name) => `${tarballs}/${tarballName(name)}`);
  expect((await run("npm", ["install", "--global", "--offline", ...paths])).code).toBe(0);
  expect(await run(`${directory}/prefix/bin/service-api`, ["--version"])).toEqual(SUCCESS);
  expect(registry.downloads).toEqual([]);
});

testNpm(
  "if the installation omitted optional dependencies, the program prints the command that installs it",
  async ({ directory, run }) => {
    const program = `${directory}/node_modules/.bin/service-api`;
    await Deno.writeTextFile(`${directory}/package.json`, "{}");
    expect((await run("npm", ["install", "--omit=optional", "service-api"])).code).toBe(0);
    const { code, stdout, stderr } = await run(program, ["--version"]);
    const message = `service-api: The package ${PLATFORM_PACKAGE}, which contains the executable, is not installed, `;
    expect({ code, stdout, stderr }).toEqual({ code: 127, stdout: "", stderr: expect.stringContaining(message) });

    const [, advice = ""] = /With npm: npm (install .*)\n$/.exec(stderr) ?? [];
    expect((await run("npm", advice.split(" "))).code).toBe(0);
    expect(await run(program, ["--version"])).toEqual(SUCCESS);
  },
);

// With these flags, npm selects packages as on such a machine. The script changes what Node reports about the machine.
for (
  const [machine, flags, script, message] of [
    [
      "musl",
      ["--os=linux", "--libc=musl"],
      `const { report } = process, getReport = report.getReport.bind(report);
       Object.defineProperty(process, "platform", { value: "linux" });
       report.getReport = () => ({ header: { ...getReport().header, glibcVersionRuntime: undefined } });`,
      /^service-api: The executable needs glibc, but this system has musl\. .* node:24-slim /,
    ],
    [
      "Windows on ARM64",
      ["--os=win32", "--cpu=arm64"],
      `Object.defineProperty(process, "platform", { value: "win32" });
       Object.defineProperty(process, "arch", { value: "arm64" });`,
      /^service-api: There is no executable for Windows on ARM64, .* Install Node for x64/,
    ],
    [
      "another system",
      ["--os=freebsd"],
      'Object.defineProperty(process, "platform", { value: "freebsd" });',
      /^service-api: There is no executable for freebsd-\w+\. Use one of these platforms: darwin-arm64, .*win32-x64\.\n$/,
    ],
  ] as const
) {
  testNpm(`on ${machine}, npm installs no executable, and the program says what to do`, async ({ directory, run }) => {
    expect((await run("npm", ["install", "--global", "service-api", ...flags])).code).toBe(0);
    expect(await installedIn(`${directory}/prefix`)).toEqual(
      INSTALLED.filter((path) => !path.endsWith(PLATFORM_PACKAGE)),
    );
    await Deno.writeTextFile(`${directory}/machine.cjs`, script);
    const env = { NODE_OPTIONS: `--require ${directory}/machine.cjs` };
    const { code, stdout, stderr } = await run(`${directory}/prefix/bin/service-api`, ["--version"], env);
    expect({ code, stdout, stderr }).toEqual({ code: 127, stdout: "", stderr: expect.stringMatching(message) });
  });
}
