/** Starts processes that run `racer.ts`. */
import type { DatabaseAddress } from "../../src/store/postgres_database.ts";

/** The arguments of `racer.ts` that specify the store, and the permissions that the process needs. */
export interface RacerOptions {
  readonly args: readonly string[];
  readonly permissions: readonly string[];
}

export function sqliteRacer(directory: string): RacerOptions {
  return { args: ["sqlite", directory], permissions: ["--allow-read", "--allow-write"] };
}

/** Allows the environment variables that the PostgreSQL driver always reads. */
export function postgresRacer(address: DatabaseAddress): RacerOptions {
  return {
    args: ["postgres", JSON.stringify(address)],
    permissions: ["--allow-net=127.0.0.1", "--allow-env=PGBINARY,PGSSLNEGOTIATION,PGCLIENT_ENCODING,PGREPLICATION"],
  };
}

export interface Racer {
  /** Resolves when the process is ready for the race. */
  readonly ready: Promise<void>;
  /** Makes the process create its keys. Returns the line that the process prints for each name. */
  readonly run: () => Promise<readonly string[]>;
}

export function startRacer({ args, permissions }: RacerOptions, names: readonly string[]): Racer {
  const program = import.meta.resolve("./racer.ts");
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...permissions, program, ...args, ...names],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = process.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let printed = "";
  async function readUntil(isEnough: () => boolean): Promise<void> {
    const { done = false, value } = await lines.next();
    printed += value ?? "";
    if (!done && !isEnough()) await readUntil(isEnough);
  }
  return {
    ready: readUntil(() => printed.includes("ready\n")),
    run: async () => {
      await process.stdin.close();
      await readUntil(() => false);
      await process.status;
      return printed.trim().split("\n").slice(1);
    },
  };
}
