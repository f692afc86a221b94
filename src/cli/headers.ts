/** What a request carries besides its body: the key, and headers that the user asks for. */
import { Failure, quote } from "../apikey/failure.ts";
import type { Host } from "./host.ts";
import { choose, readSettingFile, readStandardInput, type Setting } from "./setting.ts";
import type { ServerFlags } from "./settings.ts";

/** A field name as RFC 9110 section 5.1 has it. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that the request has of its own. */
const RESERVED_HEADERS = ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/**
 * The headers of every request: those of `--header`, and the one that carries the key.
 *
 * @returns names in lower case, and values
 * @throws {Failure} `USAGE`; its message repeats no value
 */
export async function readHeaders(
  flags: ServerFlags,
  server: "network" | "embedded",
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
function readKeyHeader(flags: ServerFlags, server: "network" | "embedded", host: Host): string {
  const keyHeader = choose(host, ["--key-header", flags.keyHeader], "SERVICE_API_KEY_HEADER");
  const name = keyHeader === undefined ? "authorization" : parseHeaderName(keyHeader.value, keyHeader.name);
  return server === "embedded" ? "authorization" : name;
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
  return value === "-" ? await readStandardInput(name, host) : await readSettingFile(value, name);
}
