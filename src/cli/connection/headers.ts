/** The HTTP headers of a request: the key, and the headers that the user adds. */
import { Failure, quote } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { EffectiveSettings } from "./effective_settings.ts";
import { readTimeout } from "../settings/duration.ts";
import { parseSetting, type TextSchema, textSchema } from "../settings/schema.ts";
import { readSettingFile, readStandardInput, type Setting, type SourcedSetting } from "../settings/setting.ts";

/** The headers that the program sets itself. */
const RESERVED_HEADERS = ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/** A field name (RFC 9110 section 5.1), in lower case. */
function headerNameSchema(): TextSchema<string> {
  return textSchema((text, reject) => {
    const name = text.trim().toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return reject(`must be the name of a header, not ${quote(text)}.`);
    if (RESERVED_HEADERS.includes(name)) return reject(`is ${name}, a header that service-api sets itself.`);
    return name;
  });
}

function headerLineSchema(): TextSchema<{ readonly name: string; readonly value: string }> {
  return textSchema((line, reject) => {
    const [, name, value = ""] = /^([^:]*):(.*)$/s.exec(line) ?? [];
    if (name !== undefined && /^[\x20-\x7e]*$/.test(value.trim())) return { name, value: value.trim() };
    return reject("must be 'Name: value' in visible ASCII characters.");
  });
}

/** A key: one word of visible ASCII characters. The messages never repeat any part of the key. */
export function keySchema(): TextSchema<string> {
  return textSchema((text, reject) => {
    const key = text.trim();
    if (/^[\x21-\x7e]+$/.test(key)) return key;
    return reject(
      key === "" ? "is empty." : "must contain exactly one word of visible ASCII characters.",
    );
  });
}

/**
 * Reads the headers of every request.
 *
 * @returns the values by name; the names are in lower case
 * @throws {Failure} `USAGE`, whose message repeats no header value; `INTERRUPTED` while reading standard input;
 * `TIMEOUT` while reading a pipe
 */
export async function readHeaders(
  settings: EffectiveSettings,
  host: Host,
  log: Log,
): Promise<ReadonlyMap<string, string>> {
  const headers = new Map<string, string>();
  const add = (setting: string, name: string, value: string): void => {
    if (headers.has(name)) throw new Failure("USAGE", `${setting}: the header ${name} is set twice.`);
    headers.set(name, value);
  };
  for (const setting of settings.headers) {
    const { name, value } = parseSetting(setting, headerLineSchema());
    add(setting.name, parseSetting({ name: setting.name, value: name }, headerNameSchema()), value);
  }
  const key = await readKey(settings, host, log);
  if (key !== undefined) {
    const name = readKeyHeader(settings);
    add(key.name, name, name === "authorization" ? `Bearer ${key.value}` : key.value);
  }
  return headers;
}

/** The header for the key, in lower case. The embedded server always uses `Authorization`. */
function readKeyHeader({ keyHeader, baseUrl }: EffectiveSettings): string {
  const name = keyHeader === undefined ? "authorization" : parseSetting(keyHeader, headerNameSchema());
  return baseUrl === undefined ? "authorization" : name;
}

/**
 * Reads the key from its variable, its file or standard input. Warns if other users can read the file.
 *
 * @throws {Failure} `USAGE`, whose message repeats no part of the key; `INTERRUPTED` while reading standard input;
 * `TIMEOUT` while reading a pipe
 */
export async function readKey(
  { key, keyFile, timeout }: Pick<EffectiveSettings, "key" | "keyFile" | "timeout">,
  host: Host,
  log: Log,
): Promise<SourcedSetting | undefined> {
  const source = keyFile === undefined
    ? key
    : { ...keyFile, value: await readKeyFile(keyFile, readTimeout(timeout), host, log) };
  return source && { ...source, value: parseSetting(source, keySchema()) };
}

async function readKeyFile({ name, value }: Setting, timeout: number, host: Host, log: Log): Promise<string> {
  if (value === "-") return await readStandardInput(name, host);
  if (value === "/dev/stdin") {
    throw new Failure("USAGE", `${name}: cannot read ${quote(value)}. Use --key-file - to read standard input.`);
  }
  const text = await readSettingFile(value, name, timeout);
  if (isExposed(value, host)) {
    log.warn("Other users can access the key file {path}. Run: chmod 600 {argument}", {
      path: quote(value),
      argument: shellWord(value),
    });
  }
  return text;
}

/** Where Docker and Kubernetes mount secrets, with modes that the user often cannot change. */
const SECRET_MOUNT = /^\/run\/|\/\.\.\d{4}_[^/]*\//;

/**
 * Whether the mode of the user's own file permits access by other users. Deno does not permit asking for the user, so
 * the owner of the home directory counts as the user.
 */
function isExposed(path: string, host: Host): boolean {
  const home = host.env("HOME");
  if (host.platform === "windows" || home === undefined) return false;
  try {
    const { isFile, mode, uid } = Deno.statSync(path);
    return isFile && ((mode ?? 0) & 0o077) !== 0 && uid === Deno.statSync(home).uid &&
      !SECRET_MOUNT.test(Deno.realPathSync(path));
  } catch {
    return false;
  }
}
