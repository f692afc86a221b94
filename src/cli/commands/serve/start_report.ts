/** What `serve` writes to standard error when it has started: its version, store and keys, and how to make the first key and log in. */
import { escapeInvisible, quote, reasonOf } from "../../../apikey/failure.ts";
import { shellWord } from "../../../apikey/shell_word.ts";
import type { StoreLocation } from "#server";
import { absolute } from "../../connection/target.ts";
import type { Host } from "../../host/host.ts";
import { isLoopback } from "../../settings/base_url.ts";
import type { ProfileFlags } from "../../settings/server_flags.ts";
import type { Profile, SourcedSetting } from "../../settings/setting.ts";
import type { StoreSettings } from "../../settings/store_location.ts";

/** How many keys the store has in each state. */
export interface KeyCounts {
  readonly active: number;
  readonly disabled: number;
  readonly expired: number;
}

export interface StartedServer {
  /** The output of `--version`. */
  readonly version: string;
  /** The URL of the GraphQL endpoint. */
  readonly url: string;
  readonly metricsUrl: string | undefined;
  /** The value of `--host`. */
  readonly hostname: string;
  readonly isTls: boolean;
  readonly location: StoreLocation;
  readonly store: StoreSettings;
  readonly profile: Profile | undefined;
  readonly flags: ProfileFlags;
  readonly countKeys: () => Promise<KeyCounts>;
}

/**
 * Counts the keys and writes the report: text at a terminal, otherwise one line of JSON. Ignores write errors, because the
 * server must continue.
 *
 * @param isStopping if it returns true, the report is not written, because counting fails while the store is closed
 */
export async function reportStart(server: StartedServer, host: Host, isStopping: () => boolean): Promise<void> {
  const keys = await server.countKeys().catch((error) => reasonOf(error));
  if (isStopping()) return;
  const text = host.stderr.isTerminal() ? await toText(server, keys, host) : toJson(server, keys, host);
  await host.stderr.write(text).catch(() => {});
}

async function toText(server: StartedServer, keys: KeyCounts | string, host: Host): Promise<string> {
  const { styleFor, wrapMessage } = await import("#terminal");
  const { bold, dim, yellow } = styleFor(host.stderr, host);
  const columns = host.stderr.columns() - 1;
  const source = sourceOf(server.store, server.profile);
  const isUnknown = typeof keys === "string";
  const login = loginCommand(server);
  const room = columns - LABEL_WIDTH - 2;
  const version = server.version.replace(/^service-api /, "");
  const rows = [
    ["Version", version.length <= room ? version : version.replace(/ .*/, "")],
    ["Store", `${escapeInvisible(storeOf(server.location))} (${escapeInvisible(source)})`],
    ...isEmpty(keys) ? [] : [["Keys", isUnknown ? `unknown: ${escapeInvisible(keys)}` : describeKeys(keys)]],
    ["TLS", describeTls(server)],
    ...login === undefined || isEmpty(keys) ? [] : [["Log in", login]],
    ["Stop", "Ctrl-C"],
  ].flatMap(([label = "", value = ""]) => {
    const paint = isUnknown && label === "Keys" ? yellow : (line: string) => line;
    return wrapMessage(value, room)
      .map((line, index) => `  ${dim((index === 0 ? label : "").padEnd(LABEL_WIDTH))}${paint(line)}`);
  });
  if (!isEmpty(keys)) return [...rows, ""].join("\n");
  const { before, command } = firstKeyCommand(server, host);
  const next = login === undefined ? "" : ", and log in with it";
  const instruction = `No keys yet. Create the first key in another terminal${before}${next}:`;
  const commands = [command, ...login === undefined ? [] : [login]].map((line) => `  ${bold(line)}`);
  return [...rows, "", ...wrapMessage(instruction, columns).map(yellow), ...commands, "", ""].join("\n");
}

/** The width of the labels and the space after them. */
const LABEL_WIDTH = 9;

function toJson(server: StartedServer, keys: KeyCounts | string, host: Host): string {
  const { version, url, metricsUrl, location, isTls } = server;
  const time = host.now().toISOString();
  const facts = { version, url, metricsUrl, store: storeOf(location), tls: isTls };
  const counts = typeof keys === "string"
    ? {}
    : { keys: { active: keys.active, disabled: keys.disabled, expired: keys.expired } };
  const started = `${JSON.stringify({ time, level: "info", message: "The server started.", ...facts, ...counts })}\n`;
  if (!isEmpty(keys)) return started;
  const { before, command } = firstKeyCommand(server, host);
  const message = `The store has no keys. Create the first key${before}.`;
  return `${started}${JSON.stringify({ time, level: "warning", message, command })}\n`;
}

function isEmpty(keys: KeyCounts | string): boolean {
  return typeof keys !== "string" && keys.active + keys.disabled + keys.expired === 0;
}

function describeKeys({ active, disabled, expired }: KeyCounts): string {
  const others = [[disabled, "disabled"], [expired, "expired"]].filter(([count]) => count !== 0);
  return [[active, "active"], ...others].map(([count, state]) => `${count} ${state}`).join(", ");
}

function describeTls({ isTls, hostname }: StartedServer): string {
  const isLocal = isLoopback(hostname);
  const state = `${isTls ? "on" : "off"}; ${isLocal ? "local connections only" : "other machines can connect"}`;
  return isTls || isLocal ? state : `${state}, and send keys unencrypted`;
}

/** Returns the file of a local store, or the database without its password. */
export function storeOf(location: StoreLocation): string {
  return location.kind === "database" ? location.address.label : absolute(`${location.path}/keys.db`);
}

/** Returns what selects the store. */
export function sourceOf(store: StoreSettings, profile: Profile | undefined): string {
  const setting = selected(store);
  return setting === undefined
    ? "default"
    : setting.source === "file"
    ? `profile ${quote(profile?.name ?? "")}`
    : setting.from;
}

function selected({ dataDir, databaseUrl }: StoreSettings): SourcedSetting | undefined {
  return databaseUrl ?? dataDir;
}

/** Returns the command that logs in to this server, unless a profile is in use or other machines can connect. */
function loginCommand({ url, hostname, profile }: StartedServer): string | undefined {
  if (profile !== undefined || !isLoopback(hostname)) return undefined;
  return `service-api login --base-url ${new URL(url).origin}`;
}

/**
 * Returns a command that creates the first key in the store of the server, and what to write before the command. The
 * name of the key needs no quotes, so that the command is readable in JSON. The command contains no `--database-url`,
 * because the URL may contain a password.
 */
function firstKeyCommand(
  { location, store, profile, flags }: StartedServer,
  host: Host,
): { readonly before: string; readonly command: string } {
  const command = (flags: string): string => `service-api apikey --create --name admin --roles ADMIN${flags}`;
  const setting = selected(store);
  if (location.kind === "database" && setting?.source === "file") {
    const config = flags.config === undefined ? "" : ` --config ${shellWord(flags.config)}`;
    return { before: "", command: command(` --profile ${profile?.name}${config}`) };
  }
  if (location.kind === "database") return { before: ` with the same ${setting?.from}`, command: command("") };
  const selectsServer = host.env("SERVICE_API_URL") !== undefined || profile?.values.has("baseUrl");
  const isDefault = setting === undefined && !selectsServer;
  return { before: "", command: command(isDefault ? "" : ` --data-dir ${shellWord(absolute(location.path))}`) };
}
