/**
 * Selects a server by an unfinished command line and its environment, and fetches the names or ids of its keys, or its
 * resources.
 */
import { escapeInvisible } from "../../apikey/failure.ts";
import type { Client, KeySummary } from "../../client/client.ts";
import { listResources } from "../commands/resource/requests.ts";
import type { Host } from "../host/host.ts";
import { SILENT_LOG } from "../host/log.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import type { Candidate } from "./answer.ts";
import { type CommandLine, givenValue } from "./command_line.ts";

/** The longest wait after Tab, in milliseconds. */
const TIMEOUT = 1000;

/** Returns names without duplicates, with descriptions and roles, or none if they cannot be fetched within 1 second. */
export async function fetchKeyNames(line: CommandLine, host: Host): Promise<readonly Candidate[]> {
  const keys = (await fetchAll(line, host, listKeys)).filter(({ name }) => isPrintable(name));
  return [...new Map(keys.map((key) => [key.name, toCandidate(key)])).values()];
}

/** Returns ids, described by the names of their keys, or none if they cannot be fetched within 1 second. */
export async function fetchKeyIds(line: CommandLine, host: Host): Promise<readonly Candidate[]> {
  const keys = (await fetchAll(line, host, listKeys)).filter(({ id }) => isPrintable(id));
  return keys.map(({ id, name }) => ({ word: id, description: escapeInvisible(name) }));
}

/** Returns the names of all resources of the server, or none if they cannot be fetched within 1 second. */
export async function fetchResourceNames(line: CommandLine, host: Host): Promise<readonly string[]> {
  return await fetchAll(line, host, async (client) => (await client.listEnumNames()).resources);
}

/** Returns the custom resources with descriptions, or none if they cannot be fetched within 1 second. */
export async function fetchCustomResources(line: CommandLine, host: Host): Promise<readonly Candidate[]> {
  const resources = (await fetchAll(line, host, listResources)).filter(({ name }) => isPrintable(name));
  return resources.map(({ name, description }) => ({ word: name, description: escapeInvisible(description ?? "") }));
}

function listKeys(client: Client): Promise<readonly KeySummary[]> {
  return client.listKeys();
}

async function fetchAll<Item>(
  line: CommandLine,
  host: Host,
  list: (client: Client) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const { promise: timedOut, resolve } = Promise.withResolvers<readonly Item[]>();
  const timer = setTimeout(() => resolve([]), TIMEOUT);
  try {
    return await Promise.race([request(serverFlags(line, host), host, list), timedOut]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns whether the command line and its environment select the embedded server.
 *
 * @throws {Failure} `USAGE`
 */
export async function selectsEmbeddedServer(line: CommandLine, host: Host): Promise<boolean> {
  const { readEffectiveSettings } = await import("#connection");
  return (await readEffectiveSettings(serverFlags(line, host), host, SILENT_LOG)).baseUrl === undefined;
}

async function request<Item>(
  flags: ServerFlags,
  host: Host,
  list: (client: Client) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const readsStandardInput = (flags.keyFile ?? host.env("SERVICE_API_KEY_FILE")) === "-";
  if (readsStandardInput) return [];
  const { readSettings, withClientFor } = await import("#connection");
  const settings = await readSettings(flags, host, SILENT_LOG);
  return await withClientFor(settings, host, SILENT_LOG)(async (connect) => await list(await connect()));
}

function serverFlags(line: CommandLine, host: Host): ServerFlags {
  const value = (flag: string): string | undefined => givenValue(line, flag, host);
  return {
    baseUrl: value("--base-url"),
    keyFile: value("--key-file"),
    keyHeader: value("--key-header"),
    header: line.given.get("--header"),
    allowHttp: line.given.has("--allow-http"),
    caFile: value("--ca-file"),
    dataDir: value("--data-dir"),
    databaseUrl: value("--database-url"),
    profile: value("--profile"),
    config: value("--config"),
    timeout: `${TIMEOUT}ms`,
  };
}

/** Names and ids of other servers may contain control characters, which would break the lines of the answer. */
function isPrintable(word: string): boolean {
  return word !== "" && !/\p{C}/u.test(word);
}

function toCandidate({ name, description, roles }: KeySummary): Candidate {
  const rights = roles.length === 0 ? "" : `(${roles.join(", ")})`;
  return { word: name, description: escapeInvisible([description ?? "", rights].join(" ").trim()) };
}
