/** Runs the READMEs' installation commands as written, except for the URL of the releases, which is on this machine. */
import { expect } from "expect";
import { command } from "../execute.ts";
import { READMES, sectionOf, textsIn } from "../readme.ts";
import { testWith } from "../tools.ts";
import { filesIn, INSTALLER, openMachine } from "./machine.ts";
import { archived, archiveName, checksumLine, makeRelease, serveRelease } from "./release_server.ts";

const SECTION = sectionOf("Install");
const LATEST = textsIn(SECTION, "sh").find((block) => block.includes("install.sh")) ?? "";
const SCRIPTS_README = READMES.get("scripts/README.md") ?? "";
const CHOSEN = blockWith("/download/v");
const UNINSTALL = blockWith("rm -r");
const BY_HAND = blockWith("tar -xzf");

const RELEASES = "https://github.com/service-api/service-api/releases";
const TARGET = Deno.build.target;
const PROGRAMS = ["sh", "tar", "gzip", "curl"];
const FILES = {
  ...(await makeRelease(archived("echo service-api 1.2.3"))).files,
  "install.sh": await Deno.readTextFile(INSTALLER),
};

/** The commands in scripts/README.md that contain a text; empty if there are none. */
function blockWith(text: string): string {
  return textsIn(SCRIPTS_README, "sh").find((block) => block.includes(text)) ?? "";
}

/** Runs commands on a machine with releases from a server, and returns their standard output. */
async function runBlock(
  block: string,
  { home, path, tmp }: { readonly home: string; readonly path: string; readonly tmp: string },
  url: string,
): Promise<string> {
  expect(block).not.toBe("");
  return await command("env", ["sh", "-euc", block.replaceAll(RELEASES, url)], {
    cwd: home,
    env: {
      HOME: home,
      PATH: `${path}:${Deno.env.get("PATH")}`,
      TMPDIR: tmp,
      SERVICE_API_DOWNLOAD_URL: `${url}/latest/download`,
    },
    clearEnv: true,
  });
}

testWith(PROGRAMS, "the READMEs' commands install the latest release and uninstall it", async () => {
  await using server = serveRelease(FILES);
  await using machine = await openMachine();
  expect(await runBlock(LATEST, machine, server.url)).toContain(
    `Installed service-api 1.2.3 in ${machine.home}`,
  );
  expect(server.requests).toEqual([
    "/latest/download/install.sh",
    "/latest/download/SHA256SUMS",
    `/latest/download/${archiveName(TARGET)}.tar.gz`,
  ]);
  await runBlock(UNINSTALL, machine, server.url);
  expect(await filesIn(machine.home)).toEqual({});
  expect((await machine.state()).filter((path) => path.includes("service-api"))).toEqual([]);
});

testWith(PROGRAMS, "the commands in scripts/README.md install a specific release to another directory", async () => {
  await using server = serveRelease(FILES);
  await using machine = await openMachine();
  const output = await runBlock(CHOSEN, machine, server.url);
  expect(output).toContain(`Installed service-api 1.2.3 in ${machine.home}/service-api/bin`);
  expect(new Set(server.requests.map((path) => path.slice(0, path.lastIndexOf("/"))))).toEqual(
    new Set([expect.stringMatching(/^\/download\/v\d+\.\d+\.\d+$/)]),
  );
});

testWith(
  [...PROGRAMS, "sha256sum"],
  "the commands in scripts/README.md download, verify and unpack an archive without the installer",
  async () => {
    const target = "x86_64-unknown-linux-gnu";
    const release = await makeRelease(archived("echo service-api 1.2.3"), target);
    const other = await checksumLine(new Uint8Array(1), `${archiveName("aarch64-unknown-linux-gnu")}.tar.gz`);
    await using server = serveRelease({ ...release.files, SHA256SUMS: `${other}${release.sums}` });
    await using machine = await openMachine();
    expect(await runBlock(BY_HAND, machine, server.url)).toBe(`${archiveName(target)}.tar.gz: OK\n`);
    expect(await Deno.readTextFile(`${machine.home}/${archiveName(target)}/LICENSE`)).toBe("the licence\n");

    const tampered = await makeRelease(archived("exit 1"), target);
    await using tamperedServer = serveRelease({ ...tampered.files, SHA256SUMS: release.sums });
    await expect(runBlock(BY_HAND, machine, tamperedServer.url)).rejects.toThrow(/did NOT match/);
  },
);

Deno.test("the README and install.sh name the same version of glibc", async () => {
  const versions = (text: string): readonly string[] => [...new Set(text.match(/glibc \d\.\d\d/g))];
  expect(versions(SECTION)).toEqual(["glibc 2.27"]);
  expect(versions(await Deno.readTextFile(INSTALLER))).toEqual(["glibc 2.27"]);
});
