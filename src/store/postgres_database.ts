/** The PostgreSQL database behind the store: how it is reached, whose schema it has, what its errors mean. */
// @ts-types="@types/pg"
import pg, { type Pool, type PoolClient, type PoolConfig } from "pg";
import { Failure, reasonOf } from "../apikey/failure.ts";
import { POSTGRES_MIGRATIONS as MIGRATIONS } from "./migrations.ts";

/** A database as `--database-url` names it. */
export interface DatabaseAddress {
  /** A host name, an IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Never shown. */
  readonly password: string;
  readonly database: string;
  /** How messages call the database: host, port and name. */
  readonly label: string;
  /** How the connection is secured; `undefined` for a connection in clear. */
  readonly tls: DatabaseTls | undefined;
}

export interface DatabaseTls {
  /** Whether the certificate has to be valid for the host. */
  readonly rejectUnauthorized: boolean;
  /** PEM certificates of authorities to trust besides Mozilla's. */
  readonly ca: readonly string[];
}

/** The connections that one process holds at most. */
const POOL_SIZE = 10;

/** Keys of advisory locks: numbers that nobody else's application is likely to have. */
const MIGRATION_LOCK = 0x73616b_01;
export const AUDIT_LOCK = 0x73616b_02;
/** With the hash of a name. */
export const NAME_LOCK = 0x73616b_03;

/** How long a connection that nobody needs is kept, in milliseconds. */
const IDLE_TIMEOUT = 60_000;

/** Whatever the server, the database or the user has for other programs. */
const SETTINGS = [
  "DateStyle=ISO",
  "TimeZone=UTC",
  "bytea_output=hex",
  "default_transaction_isolation=read\\ committed",
];

/**
 * ConnectionTimeouts to a database, each made when it is needed.
 *
 * @param timeout for a connection and for a statement, in milliseconds
 */
export function connectPostgres(address: DatabaseAddress, timeout: number): Pool {
  const { host, port, user, password, database, tls } = address;
  const config: PoolConfig = {
    host,
    port,
    user,
    password,
    database,
    ssl: tls === undefined ? false : { ...tls, ca: [...tls.ca] },
    application_name: "service-api",
    options: SETTINGS.map((setting) => `-c ${setting}`).join(" "),
    max: POOL_SIZE,
    idleTimeoutMillis: IDLE_TIMEOUT,
    connectionTimeoutMillis: timeout,
    statement_timeout: timeout,
    lock_timeout: timeout,
    idle_in_transaction_session_timeout: timeout,
    // The server's own timeout is to come first, since it leaves no doubt.
    query_timeout: timeout + timeout / 4,
    keepAlive: true,
  };
  const pool = new pg.Pool(config);
  // A connection that breaks while nobody uses it: the pool makes a new one.
  pool.on("error", () => {});
  return pool;
}

/** Whatever statements can be sent to. */
export type Sql = Pick<PoolClient, "query">;

/**
 * Does `act` in one transaction, or, when it throws, nothing.
 *
 * @throws {Failure} whose message says so when nobody can know whether the transaction was committed
 */
export async function inTransaction<Result>(
  pool: Pool,
  label: string,
  act: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let isBroken = true;
  // Told by the query that is under way, if there is one.
  client.on("error", ignore);
  try {
    await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    const result = await act(client).catch(async (error) => {
      await client.query("ROLLBACK").then(() => isBroken = false, ignore);
      throw error;
    });
    await client.query("COMMIT").catch((error) => {
      throw error instanceof pg.DatabaseError ? error : databaseFailure(label, error, DOUBT);
    });
    isBroken = false;
    return result;
  } finally {
    client.off("error", ignore);
    client.release(isBroken);
  }
}

function ignore(): void {}

/**
 * Brings the schema up to date. Ten processes may do so at once.
 *
 * @param label how messages call the database
 * @throws {Failure} `UNREACHABLE` when it was written by a newer version
 */
export async function migrate(pool: Pool, label: string): Promise<void> {
  if (await schemaVersion(pool, label) === MIGRATIONS.length) return;
  await inTransaction(pool, label, async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const version = await schemaVersion(sql, label);
    if (version === undefined) {
      // Not "if not exists": that takes the right to create it even where somebody else already has.
      const schema = await sql.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'service_api'");
      if (schema.rows.length === 0) await sql.query("CREATE SCHEMA service_api");
      await sql.query("CREATE TABLE service_api.schema_version (version INTEGER NOT NULL)");
      await sql.query("INSERT INTO service_api.schema_version VALUES (0)");
    }
    for (const step of MIGRATIONS.slice(version ?? 0)) {
      // deno-lint-ignore no-await-in-loop -- each step builds on the one before it
      await sql.query(step);
    }
    await sql.query("UPDATE service_api.schema_version SET version = $1", [MIGRATIONS.length]);
  });
}

/**
 * How many of the migrations a database has seen; `undefined` when it has nothing of ours.
 *
 * @throws {Failure} `UNREACHABLE` when it was written by a newer version
 */
async function schemaVersion(sql: Sql, label: string): Promise<number | undefined> {
  // Not `to_regclass`, which may go by what the connection has seen before it waited for the lock.
  const tables = await sql.query(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'service_api' AND tablename = 'schema_version'",
  );
  if (tables.rows.length === 0) return undefined;
  const { rows: [row] } = await sql.query("SELECT version FROM service_api.schema_version");
  const version = Number(row?.version);
  if (version <= MIGRATIONS.length) return version;
  throw new Failure(
    "UNREACHABLE",
    `The database ${label} was written by a newer version of service-api (schema ${version}; this one knows ` +
      `${MIGRATIONS.length}). Use that version, or choose another --database-url.`,
  );
}

/** What to do about an error, by the codes of PostgreSQL, of the driver or of the system, or by a piece of its words. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/^(28P01|28000)/, "Check the user and the password of --database-url, and pg_hba.conf; the user has to be there."],
  [/^3D000/, "Create the database, or name another one in --database-url."],
  [
    /^42501/,
    "The user needs the right to create the schema service_api (GRANT CREATE ON DATABASE), or to use what is in it; see the README.",
  ],
  [/^25006/, "It takes no changes: it is read-only, or a standby."],
  [/^53300/, "Raise max_connections, or start fewer processes."],
  [/^(53100|58030)/, "Its disk may be full or failing. Nothing was changed."],
  [/does not support SSL/, "Does it offer TLS? If it is not to, say sslmode=disable in the URL."],
  [
    /^(57P0|ECONN|EPIPE|ENOTFOUND|EAI_)|^ (Connection terminated|timeout exceeded)/,
    "Is it running, and is --database-url right?",
  ],
  [/ALTNAME_INVALID/, "Name the host in --database-url as its certificate does."],
  [
    /certificate|SELF_SIGNED|UNABLE_TO_|CERT_|tls|ssl/i,
    "Give the authority of its certificate with sslrootcert=FILE in the URL; see the README.",
  ],
];

const DOUBT = " The change under way may have been carried out.";

/**
 * What a user is to be told of an error of the database or the way to it; a `Failure` stays what it is.
 *
 * @param doubt what to say of a change whose end is not known
 */
export function databaseFailure(label: string, error: unknown, doubt = ""): Failure {
  if (error instanceof Failure) return error;
  const code = codeOf(error);
  const reason = reasonOf(error);
  if (code === "57014" || code === "55P03" || code === "25P03") {
    return new Failure("TIMEOUT", `The database ${label} did not answer in time: ${reason}. Nothing was changed.`, {
      cause: error,
    });
  }
  if (reason === "Query read timeout") {
    return new Failure("TIMEOUT", `The database ${label} did not answer in time.${doubt}`, { cause: error });
  }
  const remedy = REMEDIES.find(([pattern]) => pattern.test(`${code} ${reason}`))?.[1] ?? "";
  return new Failure("UNREACHABLE", `Cannot use the database ${label}: ${reason}.${doubt} ${remedy}`.trim(), {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
