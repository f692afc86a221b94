/** The address of a PostgreSQL database: a URL as libpq has it, and the variables of libpq for what it leaves out. */
import { Failure, quote } from "../../apikey/failure.ts";
import type { DatabaseAddress } from "../../store/postgres_database.ts";
import { isLoopback } from "./base_url.ts";
import type { Host } from "../host/host.ts";
import { parseCount } from "./number.ts";
import { readSettingFile, type Setting } from "./setting.ts";

/** Stands in the URL where it names no host (RFC 2606: nobody has it). */
const NO_HOST = "none.invalid";

const PARAMETERS = ["host", "sslmode", "sslrootcert"];

/**
 * Reads `postgres://[user[:password]@][host][:port][/database][?host=…&sslmode=…&sslrootcert=…]`.
 *
 * @throws {Failure} `USAGE`; its message repeats nothing of the URL that could be a password
 */
export async function parseDatabaseUrl({ name, value }: Setting, host: Host): Promise<DatabaseAddress> {
  // A user without a host, as there is before the directory of a socket, is more than the parser takes.
  const text = value.replace(/^(\w+:\/\/[^/?#@]*@)(?=[/?]|$)/, `$1${NO_HOST}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isDatabase = url !== undefined && ["postgres:", "postgresql:"].includes(url.protocol);
  // An @ after the host is the end of a password that was not encoded.
  if (!isDatabase || url.hash !== "" || /@/.test(url.pathname + url.search)) {
    throw new Failure(
      "USAGE",
      `${name} takes a URL such as postgres://user@host:5432/database, with %2F, %3F, %23 and %40 for /, ?, # and @ ` +
        "in a user or password.",
    );
  }
  const unknown = [...url.searchParams.keys()].find((parameter) => !PARAMETERS.includes(parameter));
  if (unknown !== undefined) {
    throw new Failure(
      "USAGE",
      `${name}: there is no parameter ${quote(unknown)}; the parameters are ${PARAMETERS.join(", ")}.`,
    );
  }
  const named = url.hostname === NO_HOST ? "" : unbracketed(decode(url.hostname, name));
  const hostname = url.searchParams.get("host") ?? (named || host.env("PGHOST")) ?? "localhost";
  const user = decode(url.username, name) || host.env("PGUSER");
  if (user === undefined) throw new Failure("USAGE", `${name} has to name a user, or PGUSER.`);
  const database = decode(url.pathname.slice(1), name) || (host.env("PGDATABASE") ?? user);
  const port = url.port === "" ? parseCount(host.env("PGPORT") ?? "5432", "PGPORT", 65_535) : Number(url.port);
  const shown = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    host: hostname,
    port,
    user,
    password: decode(url.password, name) || (host.env("PGPASSWORD") ?? ""),
    database,
    label: hostname.startsWith("/") ? `${database} at ${hostname}` : `${shown}:${port}/${database}`,
    tls: await readTls(url.searchParams, hostname, name, host),
  };
}

/** A `sslmode` of libpq; without one the connection is secured unless it stays on this machine. */
async function readTls(
  parameters: URLSearchParams,
  hostname: string,
  setting: string,
  host: Host,
): Promise<DatabaseAddress["tls"]> {
  const stays = hostname.startsWith("/") || isLoopback(hostname);
  const file = parameters.get("sslrootcert");
  const mode = parameters.get("sslmode") ?? (stays && file === null ? "disable" : "verify-full");
  if (mode === "disable") return undefined;
  // As libpq has it: with an authority at hand the certificate has to be its own.
  if (mode === "require" && file === null) return { rejectUnauthorized: false, ca: [] };
  if (["require", "verify-ca", "verify-full"].includes(mode)) {
    return { rejectUnauthorized: true, ca: await readAuthorities(file, setting, host) };
  }
  throw new Failure(
    "USAGE",
    `${setting}: sslmode is disable, require, verify-ca or verify-full, and not ${quote(mode)}.`,
  );
}

async function readAuthorities(file: string | null, setting: string, host: Host): Promise<readonly string[]> {
  if (file !== null && file !== "system") return [await readSettingFile(file, `${setting} (sslrootcert)`)];
  const { systemCertificates } = await import("../../client/system_certificates.ts");
  return await systemCertificates(host.env("SSL_CERT_FILE"));
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function decode(part: string, setting: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Failure("USAGE", `${setting}: a % in it is not followed by two hexadecimal digits; write % as %25.`);
  }
}
