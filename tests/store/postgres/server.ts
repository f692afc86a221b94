/** Runs a PostgreSQL server for the tests of one file, with a new database for each test. */
// @ts-types="@types/pg"
import pg from "pg";
import type { DatabaseAddress } from "../../../src/store/postgres_database.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../../client/certificates.ts";
import { freePort } from "../../free_port.ts";
import { findBinaries, type NpmVersion } from "./binaries.ts";

/** The password of the users `admin` and `service`. It contains characters that have a special meaning in URLs. */
export const PASSWORD = "never/be:shown @ 100%?#";

export interface PostgresOptions {
  /** Whether the server offers TLS, with the certificate in `tests/client/certificates.ts`. */
  readonly tls?: boolean;
  /** Which version from npm to run. Without it, any installed version. */
  readonly version?: NpmVersion | undefined;
}

/** Runs a statement on one connection and returns its rows. */
export type Run = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export type Start =
  | { readonly kind: "running"; readonly server: PostgresServer }
  | { readonly kind: "not running"; readonly reason: string };

/**
 * Registers tests that share a server. If PostgreSQL is not available, registers one ignored test, whose name states the
 * reason.
 *
 * @throws {Error} if PostgreSQL is available but does not start
 */
export async function testOnPostgres(
  what: string,
  options: PostgresOptions,
  register: (server: PostgresServer) => void,
): Promise<void> {
  const start = await startPostgres(options);
  if (start.kind === "not running") {
    Deno.test.ignore(`${what} (skipped: PostgreSQL is not available: ${start.reason})`, () => {});
    return;
  }
  register(start.server);
  Deno.test.afterAll(() => start.server.remove());
}

/**
 * Starts a server on 127.0.0.1 with password authentication. `remove` stops the server and deletes its files. The same
 * happens when the process that runs the tests ends, even if that process is killed.
 *
 * @throws {Error} if PostgreSQL is available but does not start
 */
export async function startPostgres({ tls = false, version }: PostgresOptions = {}): Promise<Start> {
  if (Deno.build.os === "windows") {
    return { kind: "not running", reason: "the tests start it with a POSIX shell, which Windows lacks" };
  }
  const directory = await Deno.makeTempDir({ prefix: "service-api-postgres-" });
  try {
    const binaries = await findBinaries(directory, version);
    if ("reason" in binaries) {
      await Deno.remove(directory, { recursive: true });
      return { kind: "not running", reason: binaries.reason };
    }
    await Deno.writeTextFile(`${directory}/password`, PASSWORD);
    await Deno.writeTextFile(`${directory}/certificate`, CERTIFICATE);
    await Deno.writeTextFile(`${directory}/private_key`, PRIVATE_KEY, { mode: 0o600 });
    return { kind: "running", server: await PostgresServer.start(directory, binaries.directory, tls) };
  } catch (error) {
    await Deno.remove(directory, { recursive: true }).catch(() => {});
    throw error;
  }
}

/**
 * Settings of the server. `fsync` and `full_page_writes` are off, because the data need not survive a power failure.
 */
const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=.",
  "max_connections=200",
  "max_prepared_transactions=1",
  "fsync=off",
  "full_page_writes=off",
];

/** Where `server.sh` keeps new clusters, to copy them. */
const CACHE = `${import.meta.dirname}/../../../dist/test`;

const TLS_SETTINGS = ["ssl=on", "ssl_cert_file=../certificate", "ssl_key_file=../private_key"];

export class PostgresServer {
  readonly #directory: string;
  readonly #process: Deno.ChildProcess;
  readonly #commands: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<Uint8Array>;
  #databases = 0;

  private constructor(directory: string, binaries: string, readonly port: number, tls: boolean) {
    const options = [...SETTINGS, ...tls ? TLS_SETTINGS : []].map((setting) => `-c ${setting}`).join(" ");
    this.#directory = directory;
    this.#process = new Deno.Command("sh", {
      args: [`${import.meta.dirname}/server.sh`, directory, binaries, String(port), options, CACHE],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#commands = this.#process.stdin.getWriter();
    this.#replies = this.#process.stdout.getReader();
  }

  /** Creates and starts a server. Called by `startPostgres`. */
  static async start(directory: string, binaries: string, tls: boolean): Promise<PostgresServer> {
    const server = new PostgresServer(directory, binaries, freePort(), tls);
    try {
      await server.start();
      await server.execute("postgres", `CREATE ROLE service LOGIN PASSWORD '${PASSWORD}'`);
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** Starts the server. Called again after `stop`, starts it on the same port as before. */
  async start(): Promise<void> {
    await this.#send("start");
  }

  /** Stops the server as `pg_ctl stop` does. The server closes all connections. */
  async stop(): Promise<void> {
    await this.#send("stop");
  }

  /** Stops the server and deletes its files. */
  async remove(): Promise<void> {
    await this.#commands.close();
    await this.#replies.cancel();
    await this.#process.status;
  }

  /** Returns the address of a database. The user in the address is `service`, which is not a superuser. */
  address(database: string): DatabaseAddress {
    const label = `127.0.0.1:${this.port}/${database}`;
    return { host: "127.0.0.1", port: this.port, user: "service", password: PASSWORD, database, label, tls: undefined };
  }

  /** Calls `act` with a connection of its own to a database. The connection's search path is the schema of the store. */
  async as<Result>(user: "admin" | "service", database: string, act: (run: Run) => Promise<Result>): Promise<Result> {
    const { host, port, password } = this.address(database);
    const client = new pg.Client({ host, port, user, password, database, options: "-c search_path=service_api" });
    // Without a listener, a test that stops the server would end the process.
    client.on("error", () => {});
    await client.connect();
    try {
      return await act(async (statement) => (await client.query(statement)).rows);
    } finally {
      await client.end();
    }
  }

  /** Runs SQL in a database as the superuser `admin`. */
  execute(database: string, sql: string): ReturnType<Run> {
    return this.as("admin", database, (run) => run(sql));
  }

  /** Runs `test` with the name of a new database of the user `service`, and drops the database afterwards. */
  async withNewDatabase(test: (name: string) => Promise<void>): Promise<void> {
    const name = `test_${++this.#databases}`;
    await this.execute("postgres", `CREATE DATABASE ${name} OWNER service`);
    try {
      await test(name);
    } finally {
      await this.execute("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
    }
  }

  /** Waits until a statement in a database waits for a lock. */
  untilWaiting(database: string): Promise<void> {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    const deadline = Date.now() + 20_000;
    return this.as("admin", "postgres", async (run) => {
      // deno-lint-ignore no-await-in-loop -- polls
      while ((await run(waiting)).length === 0) {
        if (Date.now() > deadline) throw new Error("no statement waits for a lock");
      }
    });
  }

  async #send(command: "start" | "stop"): Promise<void> {
    await this.#commands.write(new TextEncoder().encode(`${command}\n`));
    const { value } = await this.#replies.read();
    const reply = new TextDecoder().decode(value).trim();
    if (reply === "done") return;
    const log = await Deno.readTextFile(`${this.#directory}/log`).catch(String);
    throw new Error(`PostgreSQL did not ${command}:\n${log}`);
  }
}
