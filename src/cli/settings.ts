/**
 * The settings that say which server is asked and as whom: flag, else environment variable, else default. Every
 * value is checked here; nothing downstream sees what was typed.
 */
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import { parseDuration } from "./duration.ts";
import type { Host } from "./host.ts";

/** The flags that every command that asks a server has, as they were typed. */
export interface ServerFlags {
  readonly baseUrl?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly keyHeader?: string | undefined;
  readonly allowHttp?: boolean | undefined;
  readonly caFile?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly timeout?: string | undefined;
}

export interface Settings {
  readonly server: NetworkServer | EmbeddedServer;
  /** The headers sent with every request, the key among them. */
  readonly headers: ReadonlyMap<string, string>;
  /** Milliseconds. */
  readonly timeout: number;
}

export interface NetworkServer {
  readonly kind: "network";
  /** `{base_url}/graphql`. */
  readonly endpoint: URL;
  /** PEM certificates of the authorities to trust in place of the system's. */
  readonly caCertificates: string | undefined;
}

export interface EmbeddedServer {
  readonly kind: "embedded";
  /** Where it keeps its store. */
  readonly dataDir: string;
}

const DEFAULT_TIMEOUT = "30s";

/**
 * Reads the settings in force.
 *
 * @throws {Failure} `USAGE`, naming the flag or variable
 */
export async function readSettings(flags: ServerFlags, host: Host): Promise<Settings> {
  const timeout = choose(host, ["--timeout", flags.timeout], "SERVICE_API_TIMEOUT");
  const server = await readServer(flags, host);
  return {
    server,
    timeout: parseDuration(timeout?.value ?? DEFAULT_TIMEOUT, timeout?.name ?? "--timeout"),
    headers: await readHeaders(flags, server, host),
  };
}

async function readServer(flags: ServerFlags, host: Host): Promise<NetworkServer | EmbeddedServer> {
  const baseUrl = choose(host, ["--base-url", flags.baseUrl], "SERVICE_API_URL");
  const asksForStore = flags.dataDir !== undefined && flags.baseUrl === undefined;
  if (baseUrl === undefined || asksForStore) return { kind: "embedded", dataDir: readDataDir(flags.dataDir, host) };
  const caFile = choose(host, ["--ca-file", flags.caFile], "SERVICE_API_CA_FILE");
  return {
    kind: "network",
    endpoint: parseBaseUrl(baseUrl.value, baseUrl.name, flags.allowHttp ?? false),
    caCertificates: caFile && await readCertificates(caFile.value, caFile.name),
  };
}

interface Setting {
  /** The flag or variable that the value comes from, for messages. */
  readonly name: string;
  readonly value: string;
}

function choose(
  host: Host,
  [flag, typed]: readonly [string, string | undefined],
  variable: string,
): Setting | undefined {
  if (typed !== undefined) return { name: flag, value: typed };
  const value = host.env(variable);
  return value === undefined ? undefined : { name: variable, value };
}

/** Brings `{base_url}`, `{base_url}/` or `{base_url}/graphql` to `{base_url}/graphql`. */
export function parseBaseUrl(text: string, setting: string, allowHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Failure("USAGE", `${setting} takes a URL such as https://host.example, and not ${quote(text)}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Failure("USAGE", `${setting} may not contain a user or password. Use --key-file or SERVICE_API_KEY.`);
  }
  if (url.search !== "" || url.hash !== "") {
    throw new Failure("USAGE", `${setting} may not have a query or fragment: ${quote(text)}.`);
  }
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname)) {
    throw new Failure(
      "USAGE",
      `Keys would cross the network in clear to ${url.host}: use https://, or --allow-http if that is all right.`,
    );
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/graphql$/, "").replace(/\/+$/, "")}/graphql`;
  return url;
}

/** Whether a host, as URLs and `--host` have it, can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || /^127(\.\d{1,3}){3}$/.test(hostname) ||
    hostname === "[::1]" || hostname === "::1";
}

/**
 * The data directory for the embedded server: the flag, the variable, or `service-api` in the platform's
 * directory for data.
 *
 * @throws {Failure} `USAGE` when none is given and the platform names none
 */
export function readDataDir(flag: string | undefined, host: Host): string {
  const given = choose(host, ["--data-dir", flag], "SERVICE_API_DATA_DIR");
  if (given?.value.trim() === "") throw new Failure("USAGE", `${given.name} takes a directory, not an empty text.`);
  const directory = given?.value ?? platformDataDir(host);
  if (directory !== undefined) return directory;
  throw new Failure(
    "USAGE",
    "There is no home directory to keep keys in: give --data-dir or SERVICE_API_DATA_DIR, or the server with " +
      "--base-url.",
  );
}

function platformDataDir(host: Host): string | undefined {
  const home = host.env("HOME");
  if (host.platform === "windows") return inside(host.env("LOCALAPPDATA"), "service-api");
  if (host.platform === "darwin") return inside(home, "Library/Application Support/service-api");
  const data = host.env("XDG_DATA_HOME");
  return inside(data?.startsWith("/") ? data : inside(home, ".local/share"), "service-api");
}

function inside(directory: string | undefined, path: string): string | undefined {
  return directory && `${directory}/${path}`;
}

/** A field name as RFC 9110 section 5.1 has it. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that the request has of its own. */
const RESERVED_HEADERS = ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

async function readHeaders(
  flags: ServerFlags,
  server: NetworkServer | EmbeddedServer,
  host: Host,
): Promise<ReadonlyMap<string, string>> {
  const lines = (flags.header ?? []).map(parseHeader);
  const key = await readKey(flags, host);
  if (key !== undefined) {
    const name = readKeyHeader(flags, server, host);
    lines.push([name, name === "authorization" ? `Bearer ${key}` : key]);
  }
  const headers = new Map(lines);
  if (headers.size === lines.length) return headers;
  throw new Failure("USAGE", "A header is given twice: by --header, or by --header and as the one for the key.");
}

/** Which header the key goes into, in lower case. The embedded server knows but one. */
function readKeyHeader(flags: ServerFlags, server: NetworkServer | EmbeddedServer, host: Host): string {
  const keyHeader = choose(host, ["--key-header", flags.keyHeader], "SERVICE_API_KEY_HEADER");
  const name = keyHeader === undefined ? "authorization" : parseHeaderName(keyHeader.value, keyHeader.name);
  return server.kind === "embedded" ? "authorization" : name;
}

function parseHeaderName(text: string, setting: string): string {
  const name = text.trim().toLowerCase();
  if (HEADER_NAME.test(name) && !RESERVED_HEADERS.includes(name)) return name;
  throw new Failure(
    "USAGE",
    `${setting} takes the name of a header that is not the request's own, not ${quote(text)}.`,
  );
}

function parseHeader(line: string): [string, string] {
  const [, name, value = ""] = /^([^:]*):(.*)$/s.exec(line) ?? [];
  if (name !== undefined && isHeaderValue(value.trim())) return [parseHeaderName(name, "--header"), value.trim()];
  throw new Failure("USAGE", "--header takes 'Name: value', in visible ASCII characters.");
}

function isHeaderValue(value: string): boolean {
  return /^[\x20-\x7e]*$/.test(value);
}

async function readKey(flags: ServerFlags, host: Host): Promise<string | undefined> {
  const direct = host.env("SERVICE_API_KEY");
  const file = choose(host, ["--key-file", flags.keyFile], "SERVICE_API_KEY_FILE");
  if (file === undefined && direct === undefined) return undefined;
  if (file?.name === "SERVICE_API_KEY_FILE" && direct !== undefined) {
    throw new Failure("USAGE", "SERVICE_API_KEY and SERVICE_API_KEY_FILE are both set: unset one of them.");
  }
  const source = file?.name ?? "SERVICE_API_KEY";
  const key = (file ? await readKeyFile(file, host) : direct ?? "").trim();
  if (key !== "" && isHeaderValue(key) && !key.includes(" ")) return key;
  throw new Failure(
    "USAGE",
    key === "" ? `${source} has no key in it.` : `What ${source} has in it is not a key: a key is one word of ASCII.`,
  );
}

async function readKeyFile({ name, value }: Setting, host: Host): Promise<string> {
  if (value !== "-") return await readSettingFile(value, name);
  if (host.stdin.isTerminal()) {
    throw new Failure("USAGE", `${name} - reads the key from standard input, which is a terminal: pipe it in.`);
  }
  return await host.stdin.readText();
}

async function readCertificates(path: string, setting: string): Promise<string> {
  const text = await readSettingFile(path, setting);
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new Failure("USAGE", `${setting}: there is no PEM certificate in ${quote(path)}.`);
}

/**
 * Reads the file that a flag or variable names.
 *
 * @throws {Failure} `USAGE` when it cannot be read
 */
export async function readSettingFile(path: string, setting: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotCapable ? "the runtime opens no such path" : reasonOf(error);
    throw new Failure("USAGE", `${setting}: cannot read ${quote(path)}: ${reason}.`, { cause: error });
  }
}
