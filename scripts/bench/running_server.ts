/** Sets up benchmarks: creates a store with an ADMIN key, and starts a server. */

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a server and waits for its first line of output, which contains its URL.
 *
 * @param command the executable and its arguments
 */
export async function startServer(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  const [executable = "", ...args] = command;
  const process = new Deno.Command(executable, { args, env, stdin: "null", stdout: "piped", stderr: "null" }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /http:\S+/.exec(value)?.[0];
  if (url === undefined) throw new Error(`${executable} printed ${JSON.stringify(value)} instead of its URL`);
  return {
    url,
    pid: process.pid,
    stop: async () => {
      process.kill("SIGTERM");
      await process.status;
      await reader.cancel();
    },
  };
}

/** Creates a store with an ADMIN key, and returns the secret of the key. */
export async function createAdmin(program: string, env: Readonly<Record<string, string>>): Promise<string> {
  const args = ["apikey", "--create", "--name", "admin", "--roles", "ADMIN"];
  const { success, stdout, stderr } = await new Deno.Command(program, { args, env }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
