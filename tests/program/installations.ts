/** The installations for the cases: in embedded mode or over HTTP, in this process or with the executable. */
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { startHttp } from "../server/http/http_server.ts";
import { asProcess, inProcess, type Installation, type Program, SYSTEM_ENV, withEnv } from "./program.ts";

/** The program in embedded mode with a new data directory. */
export async function embedded(program: Program): Promise<Installation> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const env = { SERVICE_API_DATA_DIR: `${directory}/data` };
  return {
    env,
    program: withEnv(program, env),
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

/** The program and a server in this process, on a free port, with an ADMIN key named "admin". */
export async function overHttp(): Promise<Installation> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const store = await openSqliteStore({ directory, busyTimeout: 5000 });
  const server = await startHttp(store);
  const key = await createAdminKey(withEnv(inProcess, { SERVICE_API_DATA_DIR: directory }));
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key };
  return {
    env,
    program: withEnv(inProcess, env),
    [Symbol.asyncDispose]: async () => {
      await server.stop(5000);
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** The executable and its own `serve`, on a free port, with an ADMIN key named "admin". */
export async function executableOverHttp(executable: string): Promise<Installation> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  const key = await createAdminKey(withEnv(asProcess(executable), { SERVICE_API_DATA_DIR: directory }));
  const server = await startServe(executable, ["serve", "--port", "0", "--data-dir", directory], SYSTEM_ENV);
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key };
  return {
    env,
    program: withEnv(asProcess(executable), env),
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** A `serve` process. */
export interface Serving {
  readonly url: string;
  /** Sends SIGTERM, waits until the process ends, and returns its exit status. After 180 s, sends SIGKILL. */
  readonly stop: () => Promise<number>;
}

/**
 * Starts a `serve` process with only the given environment.
 *
 * @throws {Error} if it does not print its URL within 180 s
 */
export async function startServe(
  executable: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const server = new Deno.Command(executable, {
    args: [...args],
    env: { ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const starting = setTimeout(() => server.kill("SIGKILL"), 180_000);
  const { url, drained } = await readyLine(server.stdout);
  clearTimeout(starting);
  return {
    url,
    stop: async () => {
      server.kill("SIGTERM");
      const timer = setTimeout(() => server.kill("SIGKILL"), 180_000);
      const { code } = await server.status;
      clearTimeout(timer);
      await drained();
      return code;
    },
  };
}

/**
 * Waits for the line in which `serve` prints its URL.
 *
 * @returns the URL, and a function that closes the stream and discards further output
 */
export async function readyLine(
  stdout: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<{ readonly url: string; readonly drained: () => Promise<void> }> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /https?:\/\/\S+/.exec(value)?.[0];
  if (url === undefined) throw new Error(`serve printed ${JSON.stringify(value)}`);
  return {
    url,
    drained: async () => {
      await reader.cancel();
    },
  };
}

async function createAdminKey(program: Program): Promise<string> {
  const { stdout } = await program(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"]);
  return stdout.trim();
}
