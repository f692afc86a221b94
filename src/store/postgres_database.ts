/** The PostgreSQL database behind the store: how it is reached, whose schema it has, what its errors mean. */
import postgres, { type Sql } from "postgres";
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
  readonly tls: "prefer" | DatabaseTls | undefined;
}

export interface DatabaseTls {
  /** Whether the certificate has to be valid for the host. */
  readonly rejectUnauthorized: boolean;
  /** PEM certificates of authorities to trust besides Mozilla's. */
  readonly ca: readonly string[];
}

/** The connections that one process holds at most. */
const POOL_SIZE = 10;

/** Everything that the driver would else look for in environment variables that this program may not read. */
const DRIVER_OPTIONS = {
  max: POOL_SIZE,
  idle_timeout: 600,
  max_lifetime: 3600,
  keep_alive: 60,
  max_pipeline: 100,
  /** Each call tries for itself, and at once: a queue of them would only fail, or succeed, later. */
  backoff: (): number => 0,
  prepare: true,
  debug: false,
  fetch_types: false,
  publications: "alltables",
  sslnegotiation: null,
  target_session_attrs: undefined,
  onnotice: (): void => {},
};

/** Keys of advisory locks: numbers that nobody else's application is likely to have. */
const MIGRATION_LOCK = 0x73616b_01;
export const AUDIT_LOCK = 0x73616b_02;
/** With the hash of a name. */
export const NAME_LOCK = 0x73616b_03;

/**
 * Connections to a database, each made when it is needed.
 *
 * @param timeout for a connection and for a statement, in milliseconds
 */
export function connectPostgres(address: DatabaseAddress, timeout: number): Sql {
  const { host, port, user, password, database, tls } = address;
  return postgres({
    ...DRIVER_OPTIONS,
    ...timeouts(timeout),
    ssl: tlsOptions(tls, host),
    host,
    port,
    user,
    password,
    database,
  });
}

/** The driver itself checks a certificate against "localhost" where the host is an IP address. */
function tlsOptions(tls: DatabaseAddress["tls"], host: string): "prefer" | object | false {
  return typeof tls === "object" ? { ...tls, ca: [...tls.ca], host } : tls ?? false;
}

function timeouts(milliseconds: number): { readonly connect_timeout: number; readonly connection: object } {
  return {
    connect_timeout: milliseconds / 1000,
    connection: {
      application_name: "service-api",
      // Whatever the server, the database or the user has for other programs.
      DateStyle: "ISO",
      TimeZone: "UTC",
      bytea_output: "hex",
      default_transaction_isolation: "read committed",
      statement_timeout: milliseconds,
      lock_timeout: milliseconds,
      idle_in_transaction_session_timeout: milliseconds,
    },
  };
}

/**
 * Brings the schema up to date. Ten processes may do so at once.
 *
 * @param label how messages call the database
 * @throws {Failure} `UNREACHABLE` when it was written by a newer version
 */
export async function migrate(sql: Sql, label: string): Promise<void> {
  if (await schemaVersion(sql, label) === MIGRATIONS.length) return;
  await sql.begin("isolation level read committed", async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    const version = await schemaVersion(transaction, label);
    if (version === undefined) {
      // Not "if not exists": that takes the right to create it even where somebody else already has.
      const [schema] = await transaction`SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'service_api'`;
      if (schema === undefined) await transaction`CREATE SCHEMA service_api`;
      await transaction`CREATE TABLE service_api.schema_version (version INTEGER NOT NULL)`;
      await transaction`INSERT INTO service_api.schema_version VALUES (0)`;
    }
    for (const step of MIGRATIONS.slice(version ?? 0)) {
      // deno-lint-ignore no-await-in-loop -- each step builds on the one before it
      await transaction.unsafe(step);
    }
    await transaction`UPDATE service_api.schema_version SET version = ${MIGRATIONS.length}`;
  });
}

/**
 * How many of the migrations a database has seen; `undefined` when it has nothing of ours.
 *
 * @throws {Failure} `UNREACHABLE` when it was written by a newer version
 */
async function schemaVersion(sql: Pick<Sql, "unsafe">, label: string): Promise<number | undefined> {
  // Not `to_regclass`, which may go by what the connection has seen before it waited for the lock.
  const [table] = await sql.unsafe(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'service_api' AND tablename = 'schema_version'",
  );
  if (table === undefined) return undefined;
  const [row] = await sql.unsafe("SELECT version FROM service_api.schema_version");
  const version = Number(row?.["version"]);
  if (version <= MIGRATIONS.length) return version;
  throw new Failure(
    "UNREACHABLE",
    `The database ${label} was written by a newer version of service-api (schema ${version}; this one knows ` +
      `${MIGRATIONS.length}). Use that version, or choose another --database-url.`,
  );
}

/** What to do about an error, by the codes of PostgreSQL, of the driver or of the system, or by a piece of its words. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/^(28P01|28000)/, "Check the user and the password of --database-url, and pg_hba.conf."],
  [/^3D000/, "Create the database, or name another one in --database-url."],
  [/^42501/, "The user needs the right to create the schema service_api, and to use what is in it."],
  [/^25006/, "It takes no changes: it is read-only, or a standby."],
  [/^53300/, "Raise max_connections, or start fewer processes."],
  [/^(53100|58030)/, "Its disk may be full or failing. Nothing was changed."],
  [/before secure TLS/, "Does it offer TLS? If it is not to, say sslmode=disable in the URL."],
  [/^(57P0|CONNECTION_|CONNECT|ECONN|EPIPE|ENOTFOUND|EAI_)/, "Is it running, and is --database-url right?"],
  [/ALTNAME_INVALID/, "Name the host in --database-url as its certificate does."],
  [
    /certificate|SELF_SIGNED|UNABLE_TO_|CERT_|tls|ssl/i,
    "Give the authority of its certificate with sslrootcert=FILE in the URL; see the README.",
  ],
];

const DOUBT = " The change under way, if any, may have been carried out.";

/** What a user is to be told of an error of the database or the way to it; a `Failure` stays what it is. */
export function databaseFailure(label: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const code = codeOf(error);
  const reason = reasonOf(error);
  if (code === "57014" || code === "55P03" || code === "25P03") {
    return new Failure("TIMEOUT", `The database ${label} did not answer in time: ${reason}. Nothing was changed.`, {
      cause: error,
    });
  }
  if (code === "CONNECTION_DESTROYED") {
    return new Failure("TIMEOUT", `The database ${label} did not answer in time.${DOUBT}`);
  }
  const remedy = REMEDIES.find(([pattern]) => pattern.test(`${code} ${reason}`))?.[1] ?? "";
  const mayBeDone = /^(CONNECTION_CLOSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT) (?!.*before secure TLS)/;
  const doubt = mayBeDone.test(`${code} ${reason}`) ? DOUBT : "";
  return new Failure("UNREACHABLE", `Cannot use the database ${label}: ${reason}.${doubt} ${remedy}`.trim(), {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
