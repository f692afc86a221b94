/** Opens connections to PostgreSQL, runs transactions, migrates the schema, and explains errors to the user. */
// @ts-types="@types/pg"
import pg, { type ClientConfig, type Pool, type PoolClient, type PoolConfig } from "pg";
import { Failure, reasonOf } from "../apikey/failure.ts";
import { POSTGRES_MIGRATIONS as MIGRATIONS } from "./postgres_migrations.ts";

/** The database that the setting `database-url` specifies, and the credentials for it. */
export interface DatabaseAddress {
  /** A host name, an IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Empty if none is set. Never part of a message. */
  readonly password: string;
  readonly database: string;
  /** The name of the database in messages: `HOST:PORT/DATABASE`, or `DATABASE at DIRECTORY` for a Unix socket. */
  readonly label: string;
  /** `undefined` for an unencrypted connection. */
  readonly tls: DatabaseTls | undefined;
}

export interface DatabaseTls {
  /** Whether to reject a certificate that is not trusted or not valid for the host. */
  readonly rejectUnauthorized: boolean;
  /** Additional CA certificates to trust, in PEM. */
  readonly ca: readonly string[];
}

/** The maximum number of connections of one process. */
const POOL_SIZE = 10;

/**
 * The ids of advisory locks. Other programs may use advisory locks in the same database. They are unlikely to choose
 * ids that begin with 0x73616b (`sak` in ASCII).
 */
const MIGRATION_LOCK_ID = 0x73616b_01;
export const AUDIT_LOCK_ID = 0x73616b_02;
/** The first half of a lock id that has two parts. The second half is the hash of a name. */
export const NAME_LOCK_ID = 0x73616b_03;

/** How long an idle connection stays open, in milliseconds. */
const IDLE_TIMEOUT = 60_000;

/**
 * Session settings that this store relies on. They override the settings of the server, the database and the database
 * user.
 */
const SETTINGS = [
  "DateStyle=ISO",
  "TimeZone=UTC",
  "bytea_output=hex",
  "default_transaction_isolation=read\\ committed",
];

/**
 * Creates a connection pool. The pool opens connections when the store needs them.
 *
 * @param timeout the time limit for a connection attempt, and for a statement, in milliseconds
 */
export function createPool(address: DatabaseAddress, timeout: number): Pool {
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
    // Longer than the server's timeouts, so that the server reports a timeout first. It is then certain
    // that nothing was changed.
    query_timeout: timeout + timeout / 4,
    keepAlive: true,
    ...password === "" ? { Client: ClientWithoutPassword } : {},
  };
  const pool = new pg.Pool(config);
  // Without a listener, an error on an idle connection would end the process. The pool replaces the connection.
  pool.on("error", () => {});
  return pool;
}

/**
 * Fails at once if the server asks for a password. `pg` would look for a file of passwords, for which the program has no
 * permission, and leave the connection open.
 */
class ClientWithoutPassword extends pg.Client {
  constructor(config?: ClientConfig) {
    super({
      ...config,
      password: () => {
        void this.end();
        throw new Error("the server requires a password, but none is set");
      },
    });
  }
}

/** A connection or a pool. */
export type Queryable = Pick<PoolClient, "query">;

/**
 * Runs `act` in a transaction, and rolls back if it throws.
 *
 * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if the response to the commit is lost; the message says that the change
 * may have taken effect
 */
export async function inTransaction<Result>(
  pool: Pool,
  label: string,
  act: (sql: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let isBroken = true;
  // Without a listener, an error on the connection would end the process. The running query reports the error too.
  client.on("error", ignore);
  try {
    await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    const result = await act(client).catch(async (error) => {
      await client.query("ROLLBACK").then(() => isBroken = false, ignore);
      throw error;
    });
    await client.query("COMMIT").catch((error) => {
      throw error instanceof pg.DatabaseError ? error : databaseFailure(label, error, { mayHaveExecuted: true });
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
 * Migrates the schema. If several processes call this function at once, the first one migrates and the others wait.
 *
 * @param label the name of the database in messages
 * @throws {Failure} `UNREACHABLE` if the database was written by a newer version
 */
export async function migrate(pool: Pool, label: string): Promise<void> {
  if (await schemaVersion(pool, label) === MIGRATIONS.length) return;
  await inTransaction(pool, label, async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK_ID]);
    const version = await schemaVersion(sql, label);
    if (version === undefined) {
      // `CREATE SCHEMA IF NOT EXISTS` requires the right to create a schema, even if the schema exists.
      const schema = await sql.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'service_api'");
      if (schema.rows.length === 0) await sql.query("CREATE SCHEMA service_api");
      await sql.query("CREATE TABLE service_api.schema_version (version INTEGER NOT NULL)");
      await sql.query("INSERT INTO service_api.schema_version VALUES (0)");
    }
    for (const step of MIGRATIONS.slice(version ?? 0)) {
      // deno-lint-ignore no-await-in-loop -- each migration depends on the previous one
      await sql.query(step);
    }
    await sql.query("UPDATE service_api.schema_version SET version = $1", [MIGRATIONS.length]);
  });
}

/**
 * Returns the number of migrations that ran on a database; `undefined` if the database has no table of this program.
 *
 * @throws {Failure} `UNREACHABLE` if the database was written by a newer version
 */
export async function schemaVersion(sql: Queryable, label: string): Promise<number | undefined> {
  // Not `to_regclass`, because it could use a catalog cache that is older than the lock, and miss the table.
  const tables = await sql.query(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'service_api' AND tablename = 'schema_version'",
  );
  if (tables.rows.length === 0) return undefined;
  const { rows: [row] } = await sql.query("SELECT version FROM service_api.schema_version");
  requireKnownSchema(row?.version, label);
  return Number(row?.version);
}

/**
 * Throws if a newer version of this program has migrated the database.
 *
 * @param version the number in the table `schema_version`
 * @throws {Failure} `UNREACHABLE`
 */
export function requireKnownSchema(version: unknown, label: string): void {
  if (Number(version) <= MIGRATIONS.length) return;
  throw new Failure(
    "UNREACHABLE",
    `The database ${label} was written by a newer version of service-api (schema ${version}; this version ` +
      `supports ${MIGRATIONS.length}). Upgrade service-api, or choose another --database-url.`,
  );
}

/** Advice for errors. Each pattern is matched against the error's code, a space and the error's message. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /requires a password/,
    "Set PGPASSWORD, or add the password to the URL in SERVICE_API_DATABASE_URL or in the profile.",
  ],
  [/^(28P01|28000)/, "Check the user, the password and the server's pg_hba.conf."],
  [/^3D000/, "Create the database, or choose another one in --database-url."],
  [
    /^42501/,
    "Grant the user the right to create the schema service_api (GRANT CREATE ON DATABASE). If the schema exists, grant the user the right to use its tables.",
  ],
  [/^(42703|42P01)/, "A newer version of service-api may have migrated the database. Upgrade service-api."],
  [/^25006/, "The database is read-only, or the server is a standby. Set --database-url to the primary server."],
  [/^53300/, "Raise max_connections on the server, or run fewer processes."],
  [/^(53100|58030)/, "Nothing was changed. The disk may be full or failing. Check the disk of the database server."],
  [
    /does not support SSL/,
    "Enable TLS on the server. To connect without encryption, add sslmode=disable to --database-url.",
  ],
  [
    /^(57P0|ECONN|EPIPE|ENOTFOUND|EAI_)|^ (Connection terminated|timeout exceeded)/,
    "Check that the server is running and that --database-url is correct.",
  ],
  [/ALTNAME_INVALID/, "In --database-url, use the host name that the certificate is for."],
  [
    /certificate|SELF_SIGNED|UNABLE_TO_|CERT_|tls|ssl/i,
    "Add sslrootcert=FILE to --database-url, where FILE contains the server's CA certificate.",
  ],
];

/**
 * Turns an error of the database or the connection into a `Failure` that explains it to the user. Returns a `Failure`
 * unchanged.
 *
 * @param options `mayHaveExecuted`: whether the current change may have taken effect
 */
export function databaseFailure(
  label: string,
  error: unknown,
  { mayHaveExecuted }: { readonly mayHaveExecuted: boolean } = { mayHaveExecuted: false },
): Failure {
  if (error instanceof Failure) return error;
  const outcomeNote = mayHaveExecuted ? " The current change may have taken effect." : "";
  const code = codeOf(error);
  const reason = reasonOf(error);
  if (isRolledBack(error)) {
    return new Failure(
      "TIMEOUT",
      `The database ${label} is busy with other changes: ${reason}. Nothing was changed. Try again.`,
      { cause: error },
    );
  }
  if (code === "57014" || code === "55P03" || code === "25P03") {
    return new Failure("TIMEOUT", `The database ${label} did not respond in time: ${reason}. Nothing was changed.`, {
      cause: error,
    });
  }
  if (reason === "Query read timeout") {
    return new Failure("TIMEOUT", `The database ${label} did not respond in time.${outcomeNote}`, {
      cause: error,
      mayHaveExecuted,
    });
  }
  const remedy = REMEDIES.find(([pattern]) => pattern.test(`${code} ${reason}`))?.[1] ?? "";
  return new Failure("UNREACHABLE", `Cannot use the database ${label}: ${reason}.${outcomeNote} ${remedy}`.trim(), {
    cause: error,
    mayHaveExecuted,
  });
}

/**
 * Returns whether an error says that the database rolled a transaction back because of concurrent transactions: a
 * serialization failure or a deadlock. Running the transaction again can succeed.
 */
export function isRolledBack(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
