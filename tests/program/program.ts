/** Runs the whole program for tests, in this process or in a separate process. */
import type { Host, Signal, Terminal } from "../../src/cli/host/host.ts";
import { run } from "../../src/cli/program.ts";
import { type Outcome, outcomeOf } from "../execute.ts";

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** The text on standard input, which is never a terminal. */
  readonly stdin?: string;
}

/** Runs the program once. */
export type Program = (args: readonly string[], surroundings?: Surroundings) => Promise<Outcome>;

/** A program with its own store. */
export interface Installation extends AsyncDisposable {
  readonly program: Program;
  /** The variables that `program` adds to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** A host that records what the program prints. It has no terminal, and only `TERM` and the given environment. */
export class FakeHost implements Host {
  readonly platform = "linux";
  readonly env: (name: string) => string | undefined;
  readonly stdin: Host["stdin"];
  readonly stdout = recordOutput();
  readonly stderr = recordOutput();
  readonly handlers = new Map<Signal, () => void>();

  constructor(readonly args: readonly string[], { env = {}, stdin = "" }: Surroundings = {}) {
    this.env = (name) => (name === "TERM" ? env.TERM ?? "xterm-256color" : env[name]) || undefined;
    this.stdin = { isTerminal: () => false, readText: () => Promise.resolve(stdin) };
  }

  isOutputClosed(): Promise<boolean> {
    return Promise.resolve(false);
  }

  openTerminal(): Promise<Terminal> {
    throw new Error("this host has no terminal");
  }

  now(): Date {
    return new Date();
  }

  onSignal(signals: readonly Signal[], handler: () => void): () => void {
    const earlier = new Map(this.handlers);
    for (const signal of signals) {
      this.handlers.set(signal, () => {
        handler();
        earlier.get(signal)?.();
      });
    }
    return () => {
      for (const signal of signals) {
        const before = earlier.get(signal);
        if (before === undefined) this.handlers.delete(signal);
        else this.handlers.set(signal, before);
      }
    };
  }
}

interface RecordedOutput {
  text: string;
  isTerminal(): boolean;
  columns(): number;
  write(text: string): Promise<void>;
}

function recordOutput(): RecordedOutput {
  return {
    text: "",
    isTerminal: () => false,
    columns: () => 80,
    write(text: string): Promise<void> {
      this.text += text;
      return Promise.resolve();
    },
  };
}

/** Runs the program in this process. */
export async function inProcess(args: readonly string[], surroundings?: Surroundings): Promise<Outcome> {
  const host = new FakeHost(args, surroundings);
  const code = await run(host);
  return { code, stdout: host.stdout.text, stderr: host.stderr.text };
}

/** Windows programs need this variable to use the network. */
const SYSTEM_ROOT = Deno.env.get("SystemRoot");
export const SYSTEM_ENV: Readonly<Record<string, string>> = SYSTEM_ROOT === undefined
  ? {}
  : { SystemRoot: SYSTEM_ROOT };

/** The longest run of a process, in milliseconds. */
const TIMEOUT = 180_000;

/** Runs an executable with only the given environment and {@link SYSTEM_ENV}. Ends it with SIGTERM after 180 s. */
export function asProcess(executable: string, leadingArgs: readonly string[] = []): Program {
  return (args, { env = {}, stdin = "" } = {}) => {
    const child = new Deno.Command(executable, {
      args: [...leadingArgs, ...args],
      env: { ...SYSTEM_ENV, ...env },
      clearEnv: true,
      signal: AbortSignal.timeout(TIMEOUT),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return outcomeOf(child, stdin);
  };
}

/** The same program with additional environment variables. The variables of a single run win over these variables. */
export function withEnv(program: Program, env: Readonly<Record<string, string>>): Program {
  return (args, surroundings = {}) => program(args, { ...surroundings, env: { ...env, ...surroundings.env } });
}
