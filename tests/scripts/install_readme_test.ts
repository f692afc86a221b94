/** The commands of the README's section on installing, as they stand, with a server of this machine for the real one. */
import { expect } from "expect";
import { command } from "../execute.ts";
import { sectionOf, textsIn } from "../readme.ts";
import { filesIn, INSTALLER, openMachine, testInShells } from "./machine.ts";
import { archived, archiveName, checksumLine, makeRelease, serveRelease } from "./release_server.ts";

const SECTION = sectionOf("Install");
const [NEWEST = "", CHOSEN = "", BY_HAND = "", RID = ""] = textsIn(SECTION, "sh");

const RELEASES = "https://github.com/service-api/service-api/releases";
const TARGET = Deno.build.target;
const FILES = {
  ...(await makeRelease(archived("echo service-api 1.2.3"))).files,
  "install.sh": await Deno.readTextFile(INSTALLER),
};

/** Runs commands on a machine, with releases from a server, and returns what they print. */
async function runBlock(
  block: string,
  shell: string,
  { home, path, tmp }: { readonly home: string; readonly path: string; readonly tmp: string },
  url: string,
): Promise<string> {
  expect(block).not.toBe("");
  return await command("env", [shell, "-euc", block.replaceAll(RELEASES, url)], {
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

testInShells("the README's commands install the newest release, and are rid of it", async (shell) => {
  await using server = serveRelease(FILES);
  await using machine = await openMachine();
  expect(await runBlock(NEWEST, shell, machine, server.url)).toContain(
    `Installed service-api 1.2.3 in ${machine.home}`,
  );
  expect(server.requests).toEqual([
    "/latest/download/install.sh",
    "/latest/download/SHA256SUMS",
    `/latest/download/${archiveName(TARGET)}.tar.gz`,
  ]);
  await runBlock(RID, shell, machine, server.url);
  expect(await filesIn(machine.home)).toEqual({});
  expect((await machine.state()).filter((path) => path.includes("service-api"))).toEqual([]);
});

testInShells("the README's commands install a chosen release elsewhere", async (shell) => {
  await using server = serveRelease(FILES);
  await using machine = await openMachine();
  const said = await runBlock(CHOSEN, shell, machine, server.url);
  expect(said).toContain(`Installed service-api 1.2.3 in ${machine.home}/service-api/bin`);
  expect(new Set(server.requests.map((path) => path.slice(0, path.lastIndexOf("/"))))).toEqual(
    new Set([expect.stringMatching(/^\/download\/v\d+\.\d+\.\d+$/)]),
  );
});

testInShells("the README's commands verify and unpack by hand", async (shell) => {
  const target = "x86_64-unknown-linux-gnu";
  const release = await makeRelease(archived("echo service-api 1.2.3"), target);
  const other = await checksumLine(new Uint8Array(1), `${archiveName("aarch64-unknown-linux-gnu")}.tar.gz`);
  await using server = serveRelease({ ...release.files, SHA256SUMS: `${other}${release.sums}` });
  await using machine = await openMachine();
  expect(await runBlock(BY_HAND, shell, machine, server.url)).toBe(`${archiveName(target)}.tar.gz: OK\n`);
  expect(await Deno.readTextFile(`${machine.home}/${archiveName(target)}/LICENSE`)).toBe("the licence\n");

  const tampered = await makeRelease(archived("exit 1"), target);
  await using evil = serveRelease({ ...tampered.files, SHA256SUMS: release.sums });
  await expect(runBlock(BY_HAND, shell, machine, evil.url)).rejects.toThrow(/did NOT match/);
}, ["curl", "sha256sum"]);

Deno.test("the README and install.sh say the same of glibc", async () => {
  const versions = (text: string): readonly string[] => [...new Set(text.match(/glibc \d\.\d\d/g))];
  expect(versions(SECTION)).toEqual(["glibc 2.27"]);
  expect(versions(await Deno.readTextFile(INSTALLER))).toEqual(["glibc 2.27"]);
});
