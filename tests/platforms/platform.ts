/**
 * The tests that the executable for every platform must pass. The executable runs directly or with a runner, for example
 * qemu or Wine.
 */
import { expect } from "expect";
import type { Target } from "../../scripts/bundle.ts";
import { CASES } from "../program/cases.ts";
import { buildExecutable } from "../program/executable.ts";
import { embedded, startServe } from "../program/installations.ts";
import { asProcess, inProcess, type Program, SYSTEM_ENV, withEnv } from "../program/program.ts";
import { openTerminal, type Terminal } from "../program/terminal.ts";
import { PASSWORD, testOnPostgres } from "../store/postgres/server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { missingPrograms } from "../tools.ts";

export interface Platform {
  /** The start of each test name. */
  readonly name: string;
  /** Runs the executable. Its environment consists of the given variables, those in `env`, and on Windows `SystemRoot`. */
  readonly program: Program;
  /** The command that runs the executable: the executable itself, or a runner, its arguments and the executable. */
  readonly command: readonly [string, ...string[]];
  /** The variables that the runner needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Converts a path on this machine to the path under which the executable finds the file. */
  readonly path: (path: string) => string;
  /** Whether a program can handle SIGTERM on this platform. If not, SIGTERM ends the program at once. */
  readonly hasSigterm: boolean;
  /** Whether the terminal sometimes loses a key on a busy machine, as Wine's console does. */
  readonly losesKeys: boolean;
}

interface Setup extends Pick<Platform, "name" | "hasSigterm" | "losesKeys"> {
  readonly target: Target;
  /** The words of the command that runs an executable; empty on the platform itself; `undefined` if there is none. */
  readonly run: readonly string[] | undefined;
  /** What to do if there is no such command. */
  readonly remedy: string;
  readonly path?: Platform["path"];
  /** Variables that the command needs, besides PATH and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  /** Copies the executable to a place that the command can read, and returns the path of the copy. */
  readonly install?: (executable: string) => Promise<string>;
}

/**
 * Builds the executable. If there is no command to run it, or if `buildExecutable` does not build it, registers one
 * ignored test, whose name says why.
 */
export async function openPlatform(
  { name, hasSigterm, losesKeys, target, run, remedy, path = (same) => same, env: more = {}, install }: Setup,
): Promise<Platform | undefined> {
  const build = run === undefined ? { kind: "not built", reason: remedy } as const : await buildExecutable(target);
  if (build.kind === "not built" || run === undefined) {
    Deno.test.ignore(`${name}: skipped, ${build.kind === "built" ? remedy : build.reason}`, () => {});
    return undefined;
  }
  const [first = build.path, ...rest] = run;
  const executable = run.length === 0 ? [] : [await install?.(build.path) ?? build.path];
  const command = [first, ...rest, ...executable] as const;
  const env = run.length === 0 ? {} : { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C.UTF-8", ...more };
  return { name, program: withEnv(asProcess(first, command.slice(1)), env), command, env, path, hasSigterm, losesKeys };
}

/** The words of a variable, or `undefined` if it is not set. */
export function wordsOf(variable: string): readonly string[] | undefined {
  return Deno.env.get(variable)?.split(" ").filter((word) => word !== "");
}

/** Runs the cases that depend on the platform in embedded mode, each with its own store. */
export function testCases({ name, program }: Platform): void {
  for (const { rule, check } of CASES.filter(({ isPlatformTest }) => isPlatformTest)) {
    Deno.test(`${name}: ${rule}`, async () => {
      await using installation = await embedded(program);
      await check(installation.program);
    });
  }
}

/** Runs `serve`, and other processes that use its store and its HTTP address. */
export function testServe(
  { name, program, command: [first, ...words], env, path, hasSigterm }: Platform,
): void {
  Deno.test(`${name}: serve answers over HTTP, and shares its store with other processes`, () =>
    inTemporaryDirectory(async (directory) => {
      const data = ["--data-dir", path(`${directory}/data`)];
      // In this process, because the executable takes seconds on an emulator.
      const create = ["apikey", "--create", "--name", "admin", "--roles", "ADMIN", "--data-dir", `${directory}/data`];
      const made = await inProcess(create);
      const server = await startServe(first, [...words, "serve", "--port", "0", ...data], { ...SYSTEM_ENV, ...env });
      try {
        const remote = withEnv(program, { SERVICE_API_URL: server.url, SERVICE_API_KEY: made.stdout.trim() });
        const second = await remote(["apikey", "--create", "--name", "over http", "--roles", "VIEWER"]);
        expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sak_\w{49}\n$/) });
        const ask = (): Promise<Response> =>
          fetch(server.url, {
            method: "POST",
            headers: { Authorization: `Bearer ${second.stdout.trim()}`, "Content-Type": "application/json" },
            body: '{"query":"{ me { name } apiKeys { name } }"}',
          });
        expect(await (await ask()).json()).toEqual({
          data: { me: { name: "over http" }, apiKeys: [{ name: "admin" }, { name: "over http" }] },
        });
        const removed = await program(["apikey", "--delete", "--name", "over http", ...data]);
        expect(removed.stdout).toBe("Successfully deleted 1 API key\n");
        const stale = await ask();
        await stale.body?.cancel();
        expect(stale.status).toBe(401);
      } finally {
        const status = await server.stop();
        if (hasSigterm) expect(status).toBe(0);
      }
    }));
}

/** Uses a PostgreSQL database of this machine. */
export async function testPostgres({ name, program }: Platform): Promise<void> {
  await testOnPostgres(`${name} with PostgreSQL`, {}, (server) => {
    Deno.test(`${name}: keys can be stored in PostgreSQL`, () =>
      server.withNewDatabase(async (database) => {
        const address = `127.0.0.1:${server.port}/${database}`;
        const env = { SERVICE_API_DATABASE_URL: `postgres://service:${encodeURIComponent(PASSWORD)}@${address}` };
        const made = await program(["apikey", "--create", "--name", "kept", "--roles", "VIEWER"], { env });
        expect(made).toMatchObject({ code: 0, stderr: "" });
        // Here, the program for this machine reads the key. To insert the key, the other one has read from the database too.
        const ask = ["request", "--query", "{ me { name } }"];
        expect(await inProcess(ask, { env: { ...env, SERVICE_API_KEY: made.stdout.trim() } })).toEqual({
          code: 0,
          stdout: '{"data":{"me":{"name":"kept"}}}\n',
          stderr: "",
        });
      }));
  });
}

/**
 * Registers a test at a terminal with a shell, in a temporary directory in which `./service-api` runs the executable with
 * a new store.
 */
export function testAtTerminal(
  { name, command, env, path }: Platform,
  rule: string,
  test: (terminal: Terminal, directory: string) => Promise<void>,
): void {
  const [missing] = missingPrograms(["tmux"]);
  if (missing !== undefined) {
    Deno.test.ignore(`${name} at a terminal: ${rule}: skipped, not installed: ${missing}`, () => {});
    return;
  }
  Deno.test(`${name} at a terminal: ${rule}`, () =>
    inTemporaryDirectory(async (directory) => {
      const words = command.map((word) => `'${word}'`).join(" ");
      await Deno.writeTextFile(`${directory}/service-api`, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
      await using terminal = await openTerminal(["bash", "--norc", "--noprofile"], {
        cwd: directory,
        rows: 50,
        env: { ...env, SERVICE_API_DATA_DIR: path(`${directory}/data`), PS1: "$ " },
      });
      await terminal.shows(/^\$$/);
      await test(terminal, directory);
    }));
}

/** Creates a key with prompts, and ends a prompt with Ctrl-C. */
export function testPrompts(platform: Platform): void {
  testAtTerminal(platform, "prompts create a key, and Ctrl-C quits", async (terminal, directory) => {
    const run = async (line: string): Promise<void> => {
      await terminal.type(`clear; ./service-api apikey ${line}; echo status $?`);
      await terminal.press("Enter");
    };
    const press = async (key: string, pattern: RegExp): Promise<void> => {
      await terminal.press(key);
      await terminal.shows(pattern, ...platform.losesKeys ? [key] : []);
    };
    await run("--create > created");
    await terminal.shows(/Name:/);
    await terminal.type("ci deploy");
    await press("Enter", /Description:/);
    await press("Enter", /Roles:/);
    // Wine's console does not pass on arrow keys.
    await terminal.type("viewer");
    await press("Tab", /\(1 of \d+ selected/);
    // The bottom of the grid: the wide characters of Wine move the top off the screen.
    await press("Enter", /by role/);
    await terminal.type("docker:update");
    await press("Tab", /\([1-9]\d* of \d+ selected/);
    await press("Enter", /Create this key/);
    await press("y", /^status 0$/m);
    expect(await Deno.readTextFile(`${directory}/created`)).toMatch(/^sak_\w{49}\r?\n$/);

    await run("--delete");
    await terminal.shows(/ci deploy/);
    await press("C-c", /Interrupted\. Nothing was changed\.\nstatus 130$/m);
  });
}

/** Creates and deletes a key with plain prompts, whose answers the console itself edits. */
export function testPlainPrompts(platform: Platform): void {
  testAtTerminal(platform, "plain prompts create and delete a key", async (terminal, directory) => {
    const answer = async (text: string, pattern: RegExp): Promise<void> => {
      await terminal.type(text);
      await terminal.press("Enter");
      await terminal.shows(pattern);
    };
    // The patterns are what comes last in a question: Wine's console echoes what is typed over the start of the lines.
    await answer("clear; ./service-api apikey --create --plain > created; echo status $?", /digits and spaces\]:/);
    await answer("ci deploy", /\(optional\); < goes back\]:/);
    await answer("", /Enter\s+selects\s+none; < goes\s+back\]:/);
    await answer("viewer", /Enter\s+for\s+none; <\s+goes\s+back\]:/);
    await answer("docker:update_any", /\(Y\/n\/e\)/);
    await answer("y", /status 0/);
    expect(await Deno.readTextFile(`${directory}/created`)).toMatch(/^sak_\w{49}\r?\n$/);

    await answer("clear; ./service-api apikey --delete --plain; echo status $?", /all\s+selects\s+all\]:/);
    await answer("1", /\(y\/N\/e\)/);
    await answer("y", /Successfully deleted 1 API key/);
  });
}
