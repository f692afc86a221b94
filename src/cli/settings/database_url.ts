/**
 * The address of a PostgreSQL database: a URL in the format of libpq. Environment variables of libpq supply the parts
 * that the URL omits.
 */
import * as z from "zod/mini";
import { Failure, quote } from "../../apikey/failure.ts";
import type { DatabaseAddress } from "../../store/postgres_database.ts";
import type { Host } from "../host/host.ts";
import { isLoopback } from "./base_url.ts";
import { countUpTo } from "./number.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import { readSettingFile, type Setting } from "./setting.ts";

/** Replaces an omitted host in the URL. No host has this name (RFC 2606). */
const NO_HOST = "none.invalid";

function databaseUrlSchema(): TextSchema<URL> {
  return textSchema((text, reject) => {
    // The URL class rejects a URL with a user and no host. libpq accepts it, because `?host=` can name a socket directory.
    const complete = text.replace(/^(\w+:\/\/[^/?#@]*@)(?=[/?]|$)/, `$1${NO_HOST}`);
    const url = URL.canParse(complete) ? new URL(complete) : undefined;
    const isDatabase = url !== undefined && ["postgres:", "postgresql:"].includes(url.protocol);
    // An @ after the host means that the user or password is not percent-encoded.
    if (isDatabase && url.hash === "" && !/@/.test(url.pathname + url.search)) return url;
    if (url !== undefined && !isDatabase) {
      return reject("must begin with postgres:// or postgresql://. Only PostgreSQL databases are supported.");
    }
    return reject(
      "must be a URL, for example postgres://user@host:5432/database. Write /, ?, # and @ in a user or password as " +
        "%2F, %3F, %23 and %40.",
    );
  });
}

// deno-lint-ignore explicit-function-return-type -- the type follows from the schema
function parametersSchema() {
  return z.strictObject({
    host: z.optional(z.string()),
    sslmode: z.optional(z.enum(["disable", "require", "verify-ca", "verify-full"], {
      error: ({ input }) => `must be disable, require, verify-ca or verify-full, not ${quote(String(input))}.`,
    })),
    sslrootcert: z.optional(z.string()),
  }, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys"
        ? `has an unknown parameter ${quote(String(keys))}. The parameters are host, sslmode and sslrootcert.`
        : undefined,
  });
}

function percentEncodedSchema(): TextSchema<string> {
  return textSchema((text, reject) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return reject("contains a % that is not followed by two hexadecimal digits. Write % as %25.");
    }
  });
}

/**
 * Parses `postgres://[user[:password]@][host][:port][/database][?host=…&sslmode=…&sslrootcert=…]`.
 *
 * @throws {Failure} `USAGE`; its message repeats no part of the URL that may be a password
 */
export async function parseDatabaseUrl(setting: Setting, host: Host): Promise<DatabaseAddress> {
  const { name } = setting;
  const decode = (part: string): string => parseSetting({ name, value: part }, percentEncodedSchema());
  const url = parseSetting(setting, databaseUrlSchema());
  // If a parameter is repeated, the first value counts.
  const value = Object.fromEntries([...url.searchParams].toReversed());
  const parameters = parseSetting({ name, value }, parametersSchema());
  const urlHost = url.hostname === NO_HOST ? "" : withoutBrackets(decode(url.hostname));
  const hostname = parameters.host ?? (urlHost || host.env("PGHOST")) ?? "localhost";
  const user = decode(url.username) || host.env("PGUSER");
  if (user === undefined) throw new Failure("USAGE", `${name} names no user. Add one to the URL, or set PGUSER.`);
  const database = decode(url.pathname.slice(1)) || (host.env("PGDATABASE") ?? user);
  const port = url.port === ""
    ? parseSetting({ name: "PGPORT", value: host.env("PGPORT") ?? "5432" }, countUpTo(65_535))
    : Number(url.port);
  const urlStyleHost = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    host: hostname,
    port,
    user,
    password: decode(url.password) || (host.env("PGPASSWORD") ?? ""),
    database,
    label: hostname.startsWith("/") ? `${database} at ${hostname}` : `${urlStyleHost}:${port}/${database}`,
    tls: await readTls(parameters, hostname, name, host),
  };
}

/** Returns the TLS options. Without `sslmode`, connections to other machines use TLS and verify the certificate. */
async function readTls(
  { sslmode, sslrootcert }: z.infer<ReturnType<typeof parametersSchema>>,
  hostname: string,
  setting: string,
  host: Host,
): Promise<DatabaseAddress["tls"]> {
  const isLocal = hostname.startsWith("/") || isLoopback(hostname);
  const mode = sslmode ?? (isLocal && sslrootcert === undefined ? "disable" : "verify-full");
  if (mode === "disable") return undefined;
  // As in libpq, `require` verifies the certificate only if a CA certificate is given.
  if (mode === "require" && sslrootcert === undefined) return { rejectUnauthorized: false, ca: [] };
  return { rejectUnauthorized: true, ca: await readCaCertificates(sslrootcert, setting, host) };
}

async function readCaCertificates(file: string | undefined, setting: string, host: Host): Promise<readonly string[]> {
  if (file !== undefined && file !== "system") return [await readSettingFile(file, `${setting} (sslrootcert)`)];
  const { systemCertificates } = await import("../../client/system_certificates.ts");
  return await systemCertificates(host.env("SSL_CERT_FILE"), host.platform === "windows");
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Masks the password of a database URL. Returns `…` for an invalid URL, because any part of it may be a secret. */
export function maskDatabaseUrl(text: string): string {
  const { data: url } = databaseUrlSchema().safeParse(text);
  if (url === undefined || !parametersSchema().safeParse(Object.fromEntries(url.searchParams)).success) return "…";
  if (url.password === "") return text;
  const host = url.hostname === NO_HOST ? "" : url.host;
  return `${url.protocol}//${url.username}:…@${host}${url.pathname}${url.search}`;
}
