/**
 * The tests that the executable for every platform must pass. The executable runs directly or with a runner, for example
 * qemu or Wine.
 */
import { expect } from "expect";
import type { Target } from "../../scripts/bundle.ts";
import type { Case } from "../program/cases.ts";
import { buildExecutable } from "../program/executable.ts";
import { embedded, startServe } from "../program/installations.ts";
import { asProcess, type Program, SYSTEM_ENV, withEnv } from "../program/program.ts";
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
}

interface Setup extends Pick<Platform, "name" | "hasSigterm"> {
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
  { name, hasSigterm, target, run, remedy, path = (same) => same, env: more = {}, install }: Setup,
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
  return { name, program: withEnv(asProcess(first, command.slice(1)), env), command, env, path, hasSigterm };
}

/** The words of a variable, or `undefined` if it is not set. */
export function wordsOf(variable: string): readonly string[] | undefined {
  return Deno.env.get(variable)?.split(" ").filter((word) => word !== "");
}

/** Runs cases in embedded mode, each with its own store. */
export function testCases({ name, program }: Platform, cases: readonly Case[]): void {
  for (const { rule, check } of cases) {
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
      const server = await startServe(first, [...words, "serve", "--port", "0", ...data], { ...SYSTEM_ENV, ...env });
      try {
        const made = await program(["apikey", "--create", "--name", "admin", "--roles", "ADMIN", ...data]);
        const remote = withEnv(program, { SERVICE_API_URL: server.url, SERVICE_API_KEY: made.stdout.trim() });
        const second = await remote(["apikey", "--create", "--name", "over http", "--roles", "VIEWER"]);
        expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sak_\w{49}\n$/) });
        const request = ["request", "--query", "{ me { name } apiKeys { name } }"];
        expect(await remote(request, { env: { SERVICE_API_KEY: second.stdout.trim() } })).toEqual({
          code: 0,
          stdout: '{"data":{"me":{"name":"over http"},"apiKeys":[{"name":"admin"},{"name":"over http"}]}}\n',
          stderr: "",
        });
        const removed = await program(["apikey", "--delete", "--name", "over http", ...data]);
        expect(removed.stdout).toBe("Successfully deleted 1 API key\n");
        const stale = await fetch(server.url, {
          method: "POST",
          headers: { Authorization: `Bearer ${second.stdout.trim()}`, "Content-Type": "application/json" },
          body: '{"query":"{ me { name } }"}',
        });
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
        const ask = ["request", "--query", "{ me { name } }"];
        expect(await program(ask, { env: { ...env, SERVICE_API_KEY: made.stdout.trim() } })).toEqual({
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

/** Creates and deletes a key with prompts. */
export function testPrompts(platform: Platform): void {
  testAtTerminal(platform, "prompts create and delete a key, and Ctrl-C quits", async (terminal, directory) => {
    const run = async (line: string): Promise<void> => {
      await terminal.type(`clear; ./service-api apikey ${line}; echo status $?`);
      await terminal.press("Enter");
    };
    await run("--create > created");
    await terminal.shows(/Name:/);
    await terminal.type("ci deploy\r");
    await terminal.shows(/Description:/);
    await terminal.press("Enter");
    await terminal.shows(/Roles:/);
    // Wine's console does not pass on arrow keys.
    await terminal.type("viewer");
    await terminal.press("Tab", "Enter");
    await terminal.shows(/arrows to move/);
    await terminal.type("docker:update");
    await terminal.press("Tab", "Enter");
    await terminal.shows(/Create this key/);
    await terminal.type("y");
    await terminal.shows(/^status 0$/m);
    expect(await Deno.readTextFile(`${directory}/created`)).toMatch(/^sak_\w{49}\r?\n$/);

    await run("--delete");
    await terminal.shows(/ci deploy/);
    await terminal.press("Space", "Enter");
    await terminal.shows(/\(y\/N\)/);
    await terminal.type("y");
    await terminal.shows(/Successfully deleted 1 API key\nstatus 0$/m);

    await run("--create");
    await terminal.type("x");
    await terminal.shows(/Name:\s+x/);
    // Wine's console sometimes loses a Ctrl-C on a busy machine, so it is pressed again every few seconds.
    const timer = setInterval(() => terminal.press("C-c"), 5000);
    try {
      await terminal.press("C-c");
      await terminal.shows(/Interrupted\. Nothing was changed\.\nstatus 130$/m);
    } finally {
      clearInterval(timer);
    }
  });
}
