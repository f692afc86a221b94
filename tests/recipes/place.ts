/** A place to run a recipe in: a directory with the program in it, and a server with an ADMIN key. */
import { expect } from "expect";
import { installFromSources } from "../program/from_sources.ts";
import { startServe } from "../program/installations.ts";
import type { Outcome } from "../execute.ts";
import { inProcess, withEnv } from "../program/program.ts";

/** What stands in a recipe, and what is put in its place; `DIRECTORY` and `URL` are those of the place. */
export type Substitutions = readonly (readonly [inRecipe: string, here: string])[];

export interface RunOptions {
  /** The whole environment; by default `env` of the place. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Whether the secret of a key may be seen in what it prints. */
  readonly printsSecret?: boolean;
}

/** A command under way. */
export interface Running {
  readonly pid: number;
  /** What it has printed on standard output until now. */
  readonly printed: () => string;
  /** What came of it, once it has ended. */
  readonly outcome: Promise<Outcome>;
}

export interface Place extends AsyncDisposable {
  readonly directory: string;
  /** Of the server. */
  readonly url: string;
  /** The program, the server and the ADMIN key. */
  readonly env: Readonly<Record<string, string>>;
  /** A text of the README as it is run here. */
  adapt(text: string): string;
  /** Starts a command in the directory. */
  start(command: readonly string[], options?: RunOptions): Running;
  /** Runs a command in the directory to its end. */
  run(command: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Makes a key as the admin and returns its secret. */
  createKey(name: string, ...rights: readonly string[]): Promise<string>;
  /** Which keys there are, besides that of the admin. */
  keyNames(): Promise<readonly string[]>;
  /** The name of the key that a secret belongs to; nothing if the server refuses it. */
  nameOf(secret: string): Promise<string | undefined>;
  /** Reads a file of the directory. */
  read(path: string): Promise<string>;
  /** Writes a file of the directory, and the directories above it. */
  write(path: string, text: string, mode?: number): Promise<void>;
}

/** Opens a place for the recipes of one test. */
export async function openPlace(substitutions: Substitutions = []): Promise<Place> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-recipe-" });
  const data = `${directory}/data`;
  await Deno.mkdir(`${directory}/bin`);
  await installFromSources(`${directory}/bin/service-api`);
  const embedded = withEnv(inProcess, { SERVICE_API_DATA_DIR: data });
  const { stdout: admin } = await embedded(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"]);
  await Deno.writeTextFile(`${directory}/admin.key`, admin, { mode: 0o600 });
  const server = await startServe(`${directory}/bin/service-api`, ["serve", "--port", "0", "--data-dir", data]);
  const { url } = server;
  const env = {
    PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
    HOME: directory,
    SERVICE_API_URL: url,
    SERVICE_API_KEY_FILE: `${directory}/admin.key`,
  };
  const asked = withEnv(inProcess, { SERVICE_API_URL: url });
  const place: Place = {
    directory,
    url,
    env,
    adapt: (text) =>
      substitutions.reduce(
        (adapted, [inRecipe, here]) =>
          adapted.replaceAll(inRecipe, here.replace("DIRECTORY", directory).replace("URL", new URL(url).origin)),
        text,
      ),
    start: (command, options = {}) => start(command, directory, { env, ...options }),
    run: (command, options) => place.start(command, options).outcome,
    createKey: async (name, ...rights) => {
      const { code, stdout, stderr } = await embedded(["apikey", "--create", "--name", name, ...rights]);
      if (code !== 0) throw new Error(stderr);
      return stdout.trim();
    },
    keyNames: async () => {
      const { stdout } = await embedded(["request", "--query", "{ apiKeys { name } }"]);
      const names: readonly string[] = JSON.parse(stdout).data.apiKeys.map(({ name }: { name: string }) => name);
      return names.filter((name) => name !== "admin");
    },
    nameOf: async (secret) => {
      const answer = await asked(["request", "--query", "{ me { name } }"], { env: { SERVICE_API_KEY: secret } });
      if (answer.code === 3) return undefined;
      return JSON.parse(answer.stdout).data.me.name;
    },
    read: (path) => Deno.readTextFile(`${directory}/${path}`),
    write: async (path, text, mode = 0o644) => {
      await Deno.mkdir(`${directory}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${directory}/${path}`, text, { mode });
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
  return place;
}

function start(
  [executable = "", ...args]: readonly string[],
  cwd: string,
  { env = {}, stdin = "", printsSecret = false }: RunOptions,
): Running {
  const child = new Deno.Command(executable, {
    args,
    cwd,
    env: { ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const finish = async (): Promise<Outcome> => {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(stdin)).catch(() => {});
    await writer.close().catch(() => {});
    const [{ code }] = await Promise.all([child.status, stdout.whole, stderr.whole]);
    const outcome = { code, stdout: stdout.text(), stderr: stderr.text() };
    if (!printsSecret) expect(outcome.stdout + outcome.stderr).not.toMatch(/sak_\w/);
    return outcome;
  };
  return { pid: child.pid, printed: stdout.text, outcome: finish() };
}

interface Collected {
  /** Until now. */
  readonly text: () => string;
  /** Is resolved when there is no more. */
  readonly whole: Promise<void>;
}

function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Collected {
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) text += chunk;
  };
  return { text: () => text, whole: read() };
}

/** Writes a `deploy` that keeps what the server tells of the key that it is given in `asked`, and then does more. */
export async function writeDeploy(here: Place, more: string): Promise<void> {
  const ask = `SERVICE_API_KEY_FILE= SERVICE_API_KEY=$API_KEY service-api request --query '{ me { name } }'`;
  await here.write("deploy", `#!/bin/sh\n${ask} > asked\n${more}\n`, 0o755);
}

/** What may be done with a file, as `chmod` takes it. */
export async function modeOf(path: string): Promise<string> {
  return ((await Deno.stat(path)).mode ?? 0).toString(8).slice(-4);
}
