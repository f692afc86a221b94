/** install.ps1 in Windows PowerShell and PowerShell 7. install.ps1 installs on Windows, and fails on other systems. */
import { expect } from "expect";
import { zipSync } from "fflate";
import { execute } from "../execute.ts";
import { archived, archiveName, bytesOf, checksumLine, type Files, serveRelease } from "./release_server.ts";

const INSTALLER = await Deno.readTextFile(new URL("../../scripts/install.ps1", import.meta.url));
const WINDOWS = Deno.build.os === "windows";

interface Result {
  readonly success: boolean;
  /** Standard output and standard error. */
  readonly output: string;
}

async function powershell(shell: string, script: string, env: Readonly<Record<string, string>>): Promise<Result> {
  const args = ["-NoProfile", "-NonInteractive", "-Command", script];
  const { code, stdout, stderr } = await execute(shell, args, { env, stdin: "null" });
  return { success: code === 0, output: `${stdout}${stderr}` };
}

async function runs(shell: string): Promise<boolean> {
  try {
    return (await powershell(shell, "exit 0", {})).success;
  } catch {
    return false;
  }
}

/** A release with Windows' curl.exe as its executable. */
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

Deno.test("install.ps1 is ASCII, because Windows PowerShell decodes scripts with the code page of the machine", () => {
  expect(INSTALLER.match(/[^\n -~]/g)).toBe(null);
});

const SHELLS = await Promise.all(
  ["powershell", "pwsh"].map(async (shell) => ({ shell, isInstalled: await runs(shell) })),
);

for (const { shell, isInstalled } of SHELLS) {
  if (!isInstalled) {
    Deno.test.ignore(`install.ps1 in ${shell} (skipped: ${shell} is not installed)`, () => {});
    continue;
  }

  if (!WINDOWS) {
    Deno.test(`install.ps1 in ${shell} refers to install.sh on Linux and macOS`, async () => {
      await using server = serveRelease({ "install.ps1": INSTALLER });
      const { success, output } = await powershell(shell, `irm ${server.url}/install.ps1 | iex`, {});
      expect({ success, output }).toEqual({
        success: false,
        output: expect.stringMatching(/install\.ps1 runs on Windows only\. .* install\.sh/),
      });
      expect(server.requests).toEqual(["/install.ps1"]);
    });
    continue;
  }

  Deno.test(`install.ps1 in ${shell} installs, installs again, and rejects a tampered archive`, async () => {
    const directory = await Deno.makeTempDir({ prefix: "service-api-powershell-" });
    try {
      const files = await makeRelease();
      const prefix = `${directory}\\a place with spaces`;
      const install = (url: string): Promise<Result> =>
        powershell(shell, `irm ${url}/install.ps1 | iex`, { SERVICE_API_DOWNLOAD_URL: url, PREFIX: prefix });
      const zip = `${archiveName(Deno.build.target)}.zip`;

      await using tampered = serveRelease({ ...files, [zip]: "tampered" });
      expect(await install(tampered.url)).toEqual({ success: false, output: expect.stringMatching(/SHA-256/) });
      expect(await Deno.stat(prefix).then(() => "exists", () => "missing")).toBe("missing");

      await using server = serveRelease(files);
      expect(await install(server.url)).toEqual({ success: true, output: expect.stringMatching(/Installed curl/) });
      const installed = (await Array.fromAsync(Deno.readDir(prefix))).map(({ name }) => name).toSorted();
      expect(installed).toEqual(["LICENSE", "README.md", "THIRD-PARTY-LICENSES", "completions", "service-api.exe"]);

      expect((await install(server.url)).success).toBe(true);
      expect((await Array.fromAsync(Deno.readDir(prefix))).map(({ name }) => name).toSorted()).toEqual(installed);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}
