/**
 * Runs the executable for Windows: on Windows directly, on other systems with the command in TEST_WINDOWS_RUN, for
 * example Wine. This command must show the files of this machine on drive Z:, as Wine does.
 */
import { expect } from "expect";
import { overHttp } from "../program/installations.ts";
import type { Outcome } from "../execute.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import {
  openPlatform,
  type Platform,
  testAtTerminal,
  testCases,
  testPlainPrompts,
  testPostgres,
  testPrompts,
  testServe,
  wordsOf,
} from "./platform.ts";

const isWindows = Deno.build.os === "windows";

/** Copies the executable to the temporary directory, because the command cannot always read the project's directory. */
async function installTemporarily(executable: string): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-windows-" });
  Deno.test.afterAll(() => Deno.remove(directory, { recursive: true }));
  await Deno.copyFile(executable, `${directory}/service-api.exe`);
  return `${directory}/service-api.exe`;
}

/**
 * Runs a Windows program during all tests, so that Wine's services do not end between two tests. The services start with
 * the first program, keep its output open, and end seconds after the last program. Each test would wait for that.
 */
function keepRunning([wine = "", ...words]: readonly string[]): void {
  const process = new Deno.Command(wine, {
    args: [...words, "cmd", "/d", "/c", "findstr x"],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  Deno.test.afterAll(async () => {
    await process.stdin.close();
    await process.status;
  });
}

const run = isWindows ? [] : wordsOf("TEST_WINDOWS_RUN");
const platform = await openPlatform({
  name: "Windows",
  hasSigterm: false,
  losesKeys: !isWindows,
  target: "x86_64-pc-windows-msvc",
  run,
  remedy: "set TEST_WINDOWS_RUN to a command that runs Windows programs",
  ...isWindows ? {} : {
    path: (path) => `Z:${path.replaceAll("/", "\\")}`,
    // Wine keeps its files in the home directory.
    env: { HOME: Deno.env.get("HOME") ?? "/" },
    install: installTemporarily,
  },
});
if (platform !== undefined) {
  if (run !== undefined && !isWindows) keepRunning(run);
  testCases(platform);
  testServe(platform);
  testPrompts(platform);
  testPlainPrompts(platform);
  await testPostgres(platform);
  testWindows(platform);
}

/** Tests what only Windows has. */
function testWindows(windows: Platform): void {
  const { program, command, path, env } = windows;
  const [executable = ""] = command.slice(-1);

  /** The command `cmd /d /c LINE`. `service-api` in the line runs the executable. */
  const cmd = (line: string): Deno.Command => {
    const [shell = "cmd", ...words] = [...command.slice(0, -1), "cmd"];
    return new Deno.Command(shell, {
      args: [...words, "/d", "/c", line.replaceAll("service-api ", `${path(executable)} `)],
      env,
      signal: AbortSignal.timeout(60_000),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    });
  };
  const run = async (line: string): Promise<Deno.CommandOutput> => {
    const child = cmd(line).spawn();
    await child.stdin.close();
    return await child.output();
  };
  const test = (rule: string, check: (directory: string) => Promise<void>): void => {
    Deno.test(`Windows: ${rule}`, () => inTemporaryDirectory(check));
  };

  test("without settings, keys are in %LOCALAPPDATA% and the config file is in %APPDATA%", async (directory) => {
    const local = path(`${directory}/Local`);
    const roaming = path(`${directory}/Roaming`);
    await Deno.mkdir(`${directory}/Roaming/service-api`, { recursive: true });
    await Deno.writeTextFile(
      `${directory}/Roaming/service-api/config.yaml`,
      "profiles:\r\n  a:\r\n    timeout: 7s\r\n",
    );
    const variables = `set LOCALAPPDATA=${local}&& set APPDATA=${roaming}&&`;
    expect((await run(`${variables} service-api apikey --create --name new --roles GUEST`)).code).toBe(0);
    expect((await Deno.stat(`${directory}/Local/service-api/keys.db`)).isFile).toBe(true);
    const { stdout } = await run(`${variables} service-api config --profile a --json`);
    const settings = settingsOf(new TextDecoder().decode(stdout));
    expect(settings["data-dir"]).toBe(`${local}\\service-api`);
    expect(settings["config-file"]).toBe(`${roaming}\\service-api\\config.yaml`);
    expect(settings["timeout"]).toBe("7s");
  });

  test("flags, variables and the config file accept paths with drive letters and backslashes", async (directory) => {
    const config = path(`${directory}/config.yaml`);
    const data = path(`${directory}/my keys/data`);
    await Deno.mkdir(`${directory}/keys`);
    await Deno.writeTextFile(
      `${directory}/config.yaml`,
      `profiles:\r\n  near:\r\n    data-dir: ${data}\r\n    key-file: keys\\admin.key\r\n`,
    );
    const made = await program(["apikey", "--create", "--name", "admin", "--roles", "ADMIN", "--data-dir", data]);
    await Deno.writeTextFile(`${directory}/keys/admin.key`, made.stdout.replace("\n", "\r\n"));
    const ask = ["request", "--query", "{ me { name } }"];
    const answer = { code: 0, stdout: '{"data":{"me":{"name":"admin"}}}\n', stderr: "" };
    expect(await program([...ask, "--config", config, "--profile", "near"])).toEqual(answer);
    const key = path(`${directory}/keys/admin.key`);
    const variables = { SERVICE_API_DATA_DIR: data, SERVICE_API_KEY_FILE: key };
    expect(await program(ask, { env: variables })).toEqual(answer);
    expect(await program([...ask, "--data-dir", data.replaceAll("\\", "/"), "--key-file", key])).toEqual(answer);
    const shown = await program(["config", "--config", config, "--profile", "near", "--json"]);
    expect(settingsOf(shown.stdout)).toMatchObject({ "data-dir": data, "key-file": key });
  });

  test("NUL accepts output, and is rejected as a key file, a config file and a data directory", async (directory) => {
    const create = `service-api apikey --create --name new --roles GUEST --data-dir ${path(`${directory}/data`)}`;
    const { code, stdout, stderr } = await run(`${create} > NUL`);
    expect({ code, output: stdout.length + stderr.length }).toEqual({ code: 0, output: 0 });
    const outcomes = await Promise.all([
      program(["config", "--config", "NUL"]),
      program(["request", "--query", "{ me { name } }", "--key-file", "NUL"]),
      program(["apikey", "--create", "--name", "new", "--roles", "GUEST", "--data-dir", "NUL"]),
    ]);
    expect(outcomes.map((outcome) => outcome.code)).toEqual([2, 2, 4]);
    for (const outcome of outcomes) expect(outcome.stderr).toMatch(/^service-api: .*"NUL[^"]*".*[^.]\.\n$/);
  });

  test("output is UTF-8 in a pipe and in a file, whatever the code page", async (directory) => {
    const name = "Déploiement ключ 鍵";
    const data = path(`${directory}/data`);
    const made = await program([
      "apikey",
      "--create",
      "--name",
      name,
      "--roles",
      "GUEST",
      "--data-dir",
      data,
      "--json",
    ]);
    expect(JSON.parse(made.stdout)).toMatchObject({ name });
    const file = `${directory}/names.json`;
    const ask = `service-api request --query {apiKeys{name}} --data-dir ${data} > ${path(file)}`;
    expect((await run(`chcp 437 > NUL & ${ask}`)).code).toBe(0);
    expect(await Deno.readTextFile(file)).toBe(`{"data":{"apiKeys":[{"name":"${name}"}]}}\n`);
  });

  test("if 8 processes create the same name at once, one succeeds and 7 fail", async (directory) => {
    const create = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"];
    const env = { SERVICE_API_DATA_DIR: path(`${directory}/data`) };
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => program(create, { env })));
    const codes = outcomes.map(({ stdout }) => JSON.parse(stdout).code ?? "created").toSorted();
    expect(codes).toEqual([...Array(7).fill("ALREADY_EXISTS"), "created"]);
  });

  /** Runs a command while another program has a file open for writing. */
  const whileOpen = async (file: string, act: () => Promise<Outcome>): Promise<Outcome> => {
    // The shell opens the file. findstr ends when its standard input ends.
    const holder = cmd(`(echo open& findstr x) 2>> ${path(file)}`).spawn();
    const output = holder.stdout.getReader();
    await output.read();
    const outcome = await act();
    await Promise.all([holder.stdin.close(), output.cancel(), holder.stderr.cancel()]);
    await holder.status;
    return outcome;
  };

  test("login cannot replace a file that another program has open, and changes nothing", async (directory) => {
    await using server = await overHttp();
    const config = `${directory}/config.yaml`;
    const key = `${directory}/keys/default.key`;
    await Deno.writeTextFile(config, "profiles: {}\r\n");
    const login = (): Promise<Outcome> => program(["login", "--config", path(config)], { env: server.env });
    const refused = (file: string): unknown => ({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(new RegExp(`^service-api: Cannot write ".*${file}": [^.]+\\.\n$`)),
    });

    expect(await whileOpen(config, login)).toEqual(refused("config.yaml"));
    expect(await Deno.readTextFile(config)).toBe("profiles: {}\r\n");
    expect(await filesIn(directory)).toEqual(["config.yaml", "config.yaml.lock", "keys"]);
    expect(await filesIn(`${directory}/keys`)).toEqual([]);

    expect((await login()).code).toBe(0);
    const stored = await Deno.readTextFile(config);
    expect(stored).toContain("\r\n  default:\r\n");
    expect(await whileOpen(key, login)).toEqual(refused("default.key"));
    expect(await Deno.readTextFile(config)).toBe(stored);
    expect(await filesIn(`${directory}/keys`)).toEqual(["default.key"]);
    const ask = ["request", "--query", "{ me { name } }", "--config", path(config)];
    expect((await program(ask)).stdout).toBe('{"data":{"me":{"name":"admin"}}}\n');
  });

  testAtTerminal(
    windows,
    "on Ctrl-C, serve exits with 0, and a command that waits for a server exits with 130",
    async (terminal) => {
      await terminal.type("./service-api serve --port 0; echo status $?");
      await terminal.press("Enter");
      await terminal.shows(/Listening on http:/);
      await terminal.press("C-c");
      await terminal.shows(/^status 0$/m, "C-c");
      using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const url = `http://127.0.0.1:${listener.addr.port}`;
      await terminal.type(`clear; ./service-api apikey --delete --name a --base-url ${url}; echo status $?`);
      await terminal.press("Enter");
      using connection = await listener.accept();
      await connection.read(new Uint8Array(1000));
      await terminal.press("C-c");
      await terminal.shows(/Interrupted[^]*\nstatus 130$/m, "C-c");
    },
  );
}

/** The values that `config --json` prints, by name. */
function settingsOf(output: string): Readonly<Record<string, string | null>> {
  const { settings }: { settings: { name: string; value: string | null }[] } = JSON.parse(output);
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}

async function filesIn(directory: string): Promise<readonly string[]> {
  return (await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toSorted();
}
