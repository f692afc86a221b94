/** Runs the executable for tests that kill it or measure its memory. */
import { buildExecutable } from "../program/executable.ts";
import { readyLine } from "../program/installations.ts";
import { SYSTEM_ENV } from "../program/program.ts";
import { execute, type Outcome, outcomeOf } from "../execute.ts";

export type Environment = Readonly<Record<string, string>>;

/** A running process of the executable. */
export interface Running {
  readonly child: Deno.ChildProcess;
  /** Waits until the process ends. */
  readonly outcome: Promise<Outcome>;
  /** Waits until the process ends. Returns its highest resident memory in megabytes; 0 if this system does not report it. */
  readonly peak: () => Promise<number>;
}

/** How often the peak memory of a command is read, in milliseconds. */
const INTERVAL = 20;

/** The longest run of a process, in milliseconds. */
const TIMEOUT = 180_000;

/** Registers tests of the executable. If it cannot be built, registers one ignored test, whose name says why. */
export async function testOnExecutable(
  what: string,
  register: (executable: string) => void | Promise<void>,
): Promise<void> {
  const build = await buildExecutable();
  if (build.kind === "built") await register(build.path);
  else Deno.test.ignore(`${what} (skipped: the executable cannot be built: ${build.reason})`, () => {});
}

function spawn(executable: string, args: readonly string[], env: Environment): Deno.ChildProcess {
  return new Deno.Command(executable, {
    args: [...args],
    env: { ...SYSTEM_ENV, ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Starts a command. Kills it after 180 s. */
export function start(executable: string, args: readonly string[], env: Environment = {}): Running {
  const child = spawn(executable, args, env);
  const timer = setTimeout(kill, TIMEOUT, child);
  let isOver = false;
  const outcome = outcomeOf(child, "").finally(() => {
    clearTimeout(timer);
    isOver = true;
  });
  const peak = async (): Promise<number> => {
    let highest = 0;
    while (!isOver) {
      // deno-lint-ignore no-await-in-loop -- reads until the process ends
      highest = Math.max(highest, await peakOf(child.pid));
      // deno-lint-ignore no-await-in-loop -- reads until the process ends
      await new Promise((resolve) => setTimeout(resolve, INTERVAL));
    }
    return highest;
  };
  return { child, outcome, peak };
}

/** Sends SIGKILL. Returns whether the process was still running. */
export function kill(child: Deno.ChildProcess): boolean {
  try {
    child.kill("SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** A `serve` process. */
export interface Server {
  readonly url: string;
  /** The highest resident memory so far, in megabytes; 0 if this system does not report it. */
  readonly peak: () => Promise<number>;
  /** Sends a signal and waits until the process ends. Returns its exit status. */
  readonly stop: (signal: "SIGTERM" | "SIGKILL") => Promise<number>;
  /** What the process has printed on standard error. */
  readonly log: () => string;
}

/**
 * Starts `serve` on a free port.
 *
 * @param shell a shell command before the executable, for example to set a limit
 * @throws {Error} if it does not print its URL
 */
export async function serve(
  executable: string,
  args: readonly string[],
  env: Environment,
  shell?: string,
): Promise<Server> {
  const words = ["serve", "--port", "0", "--max-auth-failures", "0", "--no-access-log", ...args];
  const child = shell === undefined
    ? spawn(executable, words, env)
    : spawn("/bin/sh", ["-c", `${shell}; exec "$0" "$@"`, executable, ...words], env);
  let log = "";
  const logged = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) log += text;
  })();
  const finish = async (): Promise<number> => {
    const timer = setTimeout(kill, TIMEOUT, child);
    const { code } = await child.status;
    clearTimeout(timer);
    await Promise.all([logged, child.stdin.close().catch(() => {})]);
    return code;
  };
  const { url, drained } = await readyLine(child.stdout).catch(async (error) => {
    await finish();
    throw new Error(`${error}\n${log}`);
  });
  return {
    url,
    peak: () => peakOf(child.pid),
    log: () => log,
    stop: async (signal) => {
      child.kill(signal);
      const code = await finish();
      await drained();
      return code;
    },
  };
}

/** Returns the highest resident memory of a running process in megabytes; 0 if it has ended (proc(5), `VmHWM`). */
async function peakOf(pid: number): Promise<number> {
  // `Deno.readTextFile` would need all permissions for a file in /proc.
  const { stdout } = await execute("cat", [`/proc/${pid}/status`]).catch(() => ({ stdout: "" }));
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(stdout)?.[1] ?? 0) * 1.024 / 1000;
}
