/**
 * A directory in which tests run recipes. The directory contains copies of all recipes, the program
 * in `bin/`, and the secret of an ADMIN key in `admin.key`. The server that has this key runs in the test process.
 */
import { expect } from "expect";
import { execute, type Outcome } from "../execute.ts";
import { installProgram } from "../program/from_sources.ts";
import { overHttp } from "../program/installations.ts";

export const RECIPES = `${import.meta.dirname}/../../scripts/recipes`;

/** The paths of all recipes, relative to `RECIPES`. */
export const RECIPE_PATHS: readonly string[] = await pathsOfRecipes();

async function pathsOfRecipes(): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(RECIPES));
  const folders = entries.filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  const paths = folders.map((folder) =>
    Array.fromAsync(Deno.readDir(`${RECIPES}/${folder}`), ({ name }) => `${folder}/${name}`)
  );
  return (await Promise.all(paths)).flat();
}

type Environment = Readonly<Record<string, string>>;

export interface RunOptions {
  /** Variables to add to `env` of the workspace. An empty value counts as unset. */
  readonly env?: Environment;
  /** Whether the output is allowed to contain the secret of a key. By default, `run` fails on such output. */
  readonly printsSecret?: boolean;
}

export interface Workspace extends AsyncDisposable {
  readonly directory: string;
  /** The environment of every command, which inherits no other variables. */
  readonly env: Environment;
  /** Replaces the system's directories and the server's address in a recipe with those of this workspace. */
  adapt(text: string): string;
  /** Reads a recipe, adapted to this workspace. */
  recipe(name: string): Promise<string>;
  /** Runs a command in the directory and waits until the command ends. */
  run(command: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Creates a key as the administrator and returns its secret. */
  createKey(name: string, ...rights: readonly string[]): Promise<string>;
  /** The names of all keys except the administrator's. */
  keyNames(): Promise<readonly string[]>;
  /** The name of the key with this secret, or `undefined` if the server rejects the secret. */
  nameOf(secret: string): Promise<string | undefined>;
  /** Reads a file, by its path in the directory. */
  read(path: string): Promise<string>;
  /** Writes a file and creates the directories above it. */
  write(path: string, text: string, mode?: number): Promise<void>;
}

export async function openWorkspace(): Promise<Workspace> {
  const server = await overHttp();
  const { SERVICE_API_URL: url = "", SERVICE_API_KEY: adminKey = "" } = server.env;
  const directory = await Deno.makeTempDir({ prefix: "service-api-recipe-" });
  const write = async (path: string, text: string, mode = 0o644): Promise<void> => {
    await Deno.mkdir(`${directory}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${directory}/${path}`, text, { mode });
  };
  await write("admin.key", `${adminKey}\n`, 0o600);
  await Promise.all(
    RECIPE_PATHS.map((path) => Deno.copyFile(`${RECIPES}/${path}`, `${directory}/${path.replace(/.*\//, "")}`)),
  );
  await Deno.mkdir(`${directory}/bin`);
  await installProgram(`${directory}/bin/service-api`);
  const env = {
    PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
    HOME: directory,
    LC_ALL: "C",
    SERVICE_API_URL: url,
    SERVICE_API_KEY_FILE: `${directory}/admin.key`,
  };
  const adapt = (text: string): string =>
    text.replaceAll("https://keys.example.com", new URL(url).origin)
      .replaceAll("/usr/local/bin", `${directory}/bin`)
      .replaceAll("/etc/", `${directory}/etc/`);
  return {
    directory,
    env,
    adapt,
    recipe: async (name) => adapt(await Deno.readTextFile(`${directory}/${name}`)),
    run: async ([program = "", ...args], { env: more = {}, printsSecret = false } = {}) => {
      const options = { cwd: directory, env: { ...env, ...more }, clearEnv: true, stdin: "null" } as const;
      const outcome = await execute(program, args, options);
      if (!printsSecret) expect(outcome.stdout + outcome.stderr).not.toMatch(/sak_\w/);
      return outcome;
    },
    createKey: async (name, ...rights) => {
      const { code, stdout, stderr } = await server.program(["apikey", "--create", "--name", name, ...rights]);
      if (code !== 0) throw new Error(stderr);
      return stdout.trim();
    },
    keyNames: async () => {
      const { stdout } = await server.program(["request", "--query", "{ apiKeys { name } }"]);
      const names: readonly string[] = JSON.parse(stdout).data.apiKeys.map(({ name }: { name: string }) => name);
      return names.filter((name) => name !== "admin");
    },
    nameOf: async (secret) => {
      const request = ["request", "--query", "{ me { name } }"];
      const { code, stdout } = await server.program(request, { env: { SERVICE_API_KEY: secret.trim() } });
      return code === 3 ? undefined : JSON.parse(stdout).data.me.name;
    },
    read: (path) => Deno.readTextFile(`${directory}/${path}`),
    write,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/**
 * Writes a script `deploy`. The script asks the server for the name of the key whose secret is in `API_KEY`, and saves
 * the response in the file `used`.
 *
 * @param more a shell command that the script runs at its end
 */
export async function writeDeploy(workspace: Workspace, more = "true"): Promise<void> {
  const request = `SERVICE_API_KEY_FILE= SERVICE_API_KEY=$API_KEY service-api request --query '{ me { name } }'`;
  await workspace.write("deploy", `#!/bin/sh\n${request} > used\n${more}\n`, 0o755);
}

/** The permission bits of a file, in octal as in `chmod`. */
export async function modeOf(path: string): Promise<string> {
  return ((await Deno.stat(path)).mode ?? 0).toString(8).slice(-3);
}
