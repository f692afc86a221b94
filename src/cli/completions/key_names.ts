/** The names of the keys on the server that a command line names, where it answers soon. */
import { escapeInvisible } from "../../apikey/failure.ts";
import type { KeySummary } from "../../client/client.ts";
import { withClientFor } from "../connection/connection.ts";
import type { Host } from "../host/host.ts";
import { SILENT_LOG } from "../host/log.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import { readSettings, type Settings } from "../connection/settings.ts";
import type { Candidate } from "./answer.ts";
import { type CommandLine, typedValue } from "./command_line.ts";

/** How long somebody who presses Tab waits for the names at most, in milliseconds. */
const PATIENCE = 1000;

/**
 * Asks the server.
 *
 * @returns the names, each once, with what the keys are for; none when they cannot be had within a second
 */
export async function readKeyNames(line: CommandLine, host: Host): Promise<readonly Candidate[]> {
  const { promise: late, resolve } = Promise.withResolvers<readonly KeySummary[]>();
  const timer = setTimeout(() => resolve([]), PATIENCE);
  try {
    const keys = await Promise.race([listKeys(serverFlags(line, host), host), late]);
    return [...new Map(keys.filter(isOnOneLine).map((key) => [key.name, toCandidate(key)])).values()];
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

async function listKeys(flags: ServerFlags, host: Host): Promise<readonly KeySummary[]> {
  const readsStandardInput = (flags.keyFile ?? host.env("SERVICE_API_KEY_FILE")) === "-";
  if (readsStandardInput) return [];
  const settings = await readSettings(flags, host, SILENT_LOG);
  if (!await canBeAsked(settings)) return [];
  return await withClientFor(settings, host, SILENT_LOG)(async (connect) => await (await connect()).list());
}

/** The embedded server would make a store where there is none, and bring its tables into any database. */
async function canBeAsked({ server }: Settings): Promise<boolean> {
  if (server.kind === "network") return true;
  if (server.location.kind === "database") return false;
  return await Deno.stat(`${server.location.path}/keys.db`).then(({ size }) => size > 0, () => false);
}

function serverFlags(line: CommandLine, host: Host): ServerFlags {
  const value = (flag: string): string | undefined => typedValue(line, flag, host);
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
    timeout: `${PATIENCE}ms`,
  };
}

/** What a shell could not be told of in a line, and nobody could type, is no name of a key. */
function isOnOneLine({ name }: KeySummary): boolean {
  return name !== "" && !/\p{C}/u.test(name);
}

function toCandidate({ name, description, roles }: KeySummary): Candidate {
  const rights = roles.length === 0 ? "" : `(${roles.join(", ")})`;
  return { word: name, description: escapeInvisible([description ?? "", rights].join(" ").trim()) };
}
