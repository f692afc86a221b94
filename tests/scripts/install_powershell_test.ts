/** install.ps1, in the PowerShells that there are: on Windows it installs, elsewhere it says that it does not. */
import { expect } from "expect";
import { zipSync } from "fflate";
import { execute } from "../execute.ts";
import { archived, archiveName, bytesOf, checksumLine, type Files, serveRelease } from "./release_server.ts";

const INSTALLER = await Deno.readTextFile(new URL("../../scripts/install.ps1", import.meta.url));
const WINDOWS = Deno.build.os === "windows";

interface Ran {
  readonly success: boolean;
  /** What it prints, on both streams. */
  readonly said: string;
}

async function powershell(shell: string, script: string, env: Readonly<Record<string, string>>): Promise<Ran> {
  const args = ["-NoProfile", "-NonInteractive", "-Command", script];
  const { code, stdout, stderr } = await execute(shell, args, { env, stdin: "null" });
  return { success: code === 0, said: `${stdout}${stderr}` };
}

async function runs(shell: string): Promise<boolean> {
  try {
    return (await powershell(shell, "exit 0", {})).success;
  } catch {
    return false;
  }
}

/** A release whose executable is one that comes with Windows. */
async function makeRelease(): Promise<Files> {
  const { "service-api": _, ...contents } = archived("");
  const executable = await Deno.readFile(`${Deno.env.get("SystemRoot")}\\System32\\curl.exe`);
  const name = archiveName(Deno.build.target);
  const entries = Object.entries({ ...contents, "service-api.exe": executable }).map(([file, content]) => [
    `${name}/${file}`,
    bytesOf(content),
  ]);
  const zip = Uint8Array.from(zipSync(Object.fromEntries(entries)));
  return { [`${name}.zip`]: zip, SHA256SUMS: await checksumLine(zip, `${name}.zip`), "install.ps1": INSTALLER };
}

Deno.test("install.ps1 is ASCII, for Windows PowerShell takes anything else for the code page of the machine", () => {
  expect(INSTALLER.match(/[^\n -~]/g)).toBe(null);
});

const SHELLS = await Promise.all(["powershell", "pwsh"].map(async (shell) => ({ shell, isThere: await runs(shell) })));

for (const { shell, isThere } of SHELLS) {
  if (!isThere) {
    Deno.test.ignore(`install.ps1 in ${shell}: not run, for want of it`, () => {});
    continue;
  }

  if (!WINDOWS) {
    Deno.test(`install.ps1 in ${shell}: elsewhere than on Windows it tells of install.sh`, async () => {
      await using server = serveRelease({ "install.ps1": INSTALLER });
      const { success, said } = await powershell(shell, `irm ${server.url}/install.ps1 | iex`, {});
      expect({ success, said }).toEqual({ success: false, said: expect.stringMatching(/This is for Windows\./) });
      expect(server.requests).toEqual(["/install.ps1"]);
    });
    continue;
  }

  Deno.test(`install.ps1 in ${shell}: installs, also a second time, and nothing that was tampered with`, async () => {
    const directory = await Deno.makeTempDir({ prefix: "service-api-powershell-" });
    try {
      const files = await makeRelease();
      const prefix = `${directory}\\a place with spaces`;
      const install = (url: string): Promise<Ran> =>
        powershell(shell, `irm ${url}/install.ps1 | iex`, { SERVICE_API_DOWNLOAD_URL: url, PREFIX: prefix });
      const zip = `${archiveName(Deno.build.target)}.zip`;

      await using tampered = serveRelease({ ...files, [zip]: "tampered" });
      expect(await install(tampered.url)).toEqual({ success: false, said: expect.stringMatching(/SHA-256/) });
      expect(await Deno.stat(prefix).then(() => "there", () => "not there")).toBe("not there");

      await using server = serveRelease(files);
      expect(await install(server.url)).toEqual({ success: true, said: expect.stringMatching(/Installed curl/) });
      const installed = (await Array.fromAsync(Deno.readDir(prefix))).map(({ name }) => name).toSorted();
      expect(installed).toEqual(["LICENSE", "README.md", "THIRD-PARTY-LICENSES", "completions", "service-api.exe"]);

      expect((await install(server.url)).success).toBe(true);
      expect((await Array.fromAsync(Deno.readDir(prefix))).map(({ name }) => name).toSorted()).toEqual(installed);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}
