/** What a request carries besides its body: the key, and headers that the user asks for. */
import { Failure, quote } from "../../apikey/failure.ts";
import type { Host } from "../host/host.ts";
import type { InForce } from "./settings_in_force.ts";
import { type GivenSetting, readSettingFile, readStandardInput, type Setting } from "../settings/setting.ts";

/** A field name as RFC 9110 section 5.1 has it. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that the request has of its own. */
const RESERVED_HEADERS = ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/**
 * The headers of every request: those that are asked for, and the one that carries the key.
 *
 * @returns names in lower case, and values
 * @throws {Failure} `USAGE`; its message repeats no value
 */
export async function readHeaders(inForce: InForce, host: Host): Promise<ReadonlyMap<string, string>> {
  const headers = new Map<string, string>();
  const add = (setting: string, name: string, value: string): void => {
    if (headers.has(name)) throw new Failure("USAGE", `${setting}: the header ${name} is given twice.`);
    headers.set(name, value);
  };
  for (const setting of inForce.headers) add(setting.name, ...parseHeader(setting));
  const key = await readKey(inForce, host);
  if (key !== undefined) {
    const name = readKeyHeader(inForce);
    add(key.name, name, name === "authorization" ? `Bearer ${key.value}` : key.value);
  }
  return headers;
}

/** Which header the key goes into, in lower case. The embedded server knows but one. */
function readKeyHeader({ keyHeader, baseUrl }: InForce): string {
  const name = keyHeader === undefined ? "authorization" : parseHeaderName(keyHeader.value, keyHeader.name);
  return baseUrl === undefined ? "authorization" : name;
}

function parseHeaderName(text: string, setting: string): string {
  const name = text.trim().toLowerCase();
  if (HEADER_NAME.test(name) && !RESERVED_HEADERS.includes(name)) return name;
  throw new Failure(
    "USAGE",
    `${setting} takes the name of a header that is not the request's own, not ${quote(text)}.`,
  );
}

function parseHeader({ name: setting, value: line }: Setting): [string, string] {
  const [, name, value = ""] = /^([^:]*):(.*)$/s.exec(line) ?? [];
  if (name !== undefined && isHeaderValue(value.trim())) return [parseHeaderName(name, setting), value.trim()];
  throw new Failure("USAGE", `${setting} takes 'Name: value', in visible ASCII characters.`);
}

function isHeaderValue(value: string): boolean {
  return /^[\x20-\x7e]*$/.test(value);
}

/**
 * The key and where it comes from.
 *
 * @throws {Failure} `USAGE`; its message repeats nothing of the key
 */
export async function readKey(
  { key, keyFile }: Pick<InForce, "key" | "keyFile">,
  host: Host,
): Promise<GivenSetting | undefined> {
  if (keyFile !== undefined) return { ...keyFile, value: parseKey(await readKeyFile(keyFile, host), keyFile.name) };
  return key && { ...key, value: parseKey(key.value, key.name) };
}

/** @throws {Failure} `USAGE`; its message repeats nothing of the key */
export function parseKey(text: string, source: string): string {
  const key = text.trim();
  if (key !== "" && isHeaderValue(key) && !key.includes(" ")) return key;
  throw new Failure(
    "USAGE",
    key === ""
      ? `${source} has no key in it.`
      : `${source} has something in it that is not a key: a key is one word of ASCII.`,
  );
}

async function readKeyFile({ name, value }: Setting, host: Host): Promise<string> {
  return value === "-" ? await readStandardInput(name, host) : await readSettingFile(value, name);
}
