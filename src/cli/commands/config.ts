/** `config`: the settings in force and where each comes from, without asking any server. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible } from "../../apikey/failure.ts";
import { isWellFormedSecret, maskSecret, secretTail } from "../../apikey/secret.ts";
import type { Session } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import { writeJson } from "../report.ts";
import { readDataDir } from "../settings/data_dir.ts";
import { readKey } from "../connection/headers.ts";
import { type InForce, readInForce } from "../connection/settings_in_force.ts";
import { type ServerFlags, withServerFlags } from "../settings/server_flags.ts";
import type { GivenSetting } from "../settings/setting.ts";
import { checkSettings } from "../connection/settings.ts";
import { SETTINGS } from "../settings/table.ts";

/** Declares the command. */
export function registerConfig(command: Command, { host, log, setExitCode }: Session): void {
  const withOwnFlags = command
    .description(
      "Print every setting in force, its value, and the flag, variable or place in the\n" +
        "config file that it comes from. Secrets are masked. No server is asked.",
    )
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, failures too");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await config(flags, host, log)));
}

/** The flags of the command, as they were typed. */
export interface ConfigFlags extends ServerFlags {
  readonly json?: boolean | undefined;
}

interface Row {
  readonly name: string;
  /** `null`: it is not set, and there is no one value in its place. */
  readonly value: string | null;
  readonly source: GivenSetting["source"] | "default";
  /** The flag, the variable, or `path:line:column`; `null` for a default. */
  readonly from: string | null;
  /** Why it is not in force, for a setting of the profile or another that had to give way. */
  readonly ignored?: string;
}

/**
 * Prints the settings in force.
 *
 * @throws {Failure} `USAGE` when one of them is wrong
 */
export async function config(flags: ConfigFlags, host: Host, log: Log): Promise<ExitCode> {
  const inForce = await readInForce(flags, host, log);
  // Standard input belongs to the command that is asked about.
  const isPiped = inForce.keyFile?.value === "-";
  const key = isPiped ? inForce.keyFile : await readKey(inForce, host);
  await checkSettings({ ...inForce, key: isPiped ? undefined : key, keyFile: undefined }, host, log);
  const rows = rowsOf(inForce, key, host);
  if (flags.json) await writeJson(host.stdout, { settings: rows });
  else await host.stdout.write(toText(rows));
  return ExitCode.OK;
}

function rowsOf(inForce: InForce, key: GivenSetting | undefined, host: Host): readonly Row[] {
  const { config: { file, named, profile }, baseUrl, headers, ignored } = inForce;
  const logLevel = host.env("LOG_LEVEL");
  return [
    file?.named ? row("config-file", file.named) : byDefault("config-file", file?.path ?? null),
    named ? row("profile", named) : byDefault("profile", profile?.name ?? null),
    row("base-url", baseUrl),
    row("key", key, key && maskKey(key.value)),
    row("key-file", inForce.keyFile),
    row("key-header", inForce.keyHeader, undefined, "Authorization"),
    ...headers.length === 0 ? [byDefault("headers", null)] : headers.map(headerRow),
    row("allow-http", inForce.allowHttp, undefined, SETTINGS.allowHttp.default),
    row("ca-file", inForce.caFile),
    row("timeout", inForce.timeout, undefined, SETTINGS.timeout.default),
    ...storeRows(inForce, host),
    logLevel === undefined
      ? byDefault("log-level", "warn")
      : { name: "log-level", value: logLevel, source: "variable", from: "LOG_LEVEL" },
    ...ignored.map(({ member, setting, why }): Row => {
      const shown = member === "headers" ? headerRow(setting) : row(member, setting, maskIn(member, setting.value));
      return { ...shown, ignored: why };
    }),
  ];
}

function storeRows({ baseUrl, dataDir, databaseUrl }: InForce, host: Host): readonly Row[] {
  const isLocal = baseUrl === undefined && databaseUrl === undefined;
  return [
    row("data-dir", dataDir, undefined, isLocal ? readDataDir(dataDir, host) : null),
    row("database-url", databaseUrl, databaseUrl && maskIn("database-url", databaseUrl.value)),
  ];
}

function row(
  name: string,
  setting: GivenSetting | undefined,
  shown: string | undefined = setting?.value,
  fallback: string | null = null,
): Row {
  if (setting === undefined) return byDefault(name, fallback);
  return { name, value: shown ?? setting.value, source: setting.source, from: setting.from };
}

function byDefault(name: string, value: string | null): Row {
  return { name, value, source: "default", from: null };
}

/** Its value may be a secret, its name is none. */
function headerRow(setting: GivenSetting): Row {
  return row(`headers.${setting.value.replace(/:.*/s, "").trim()}`, setting, "…");
}

function maskKey(key: string): string {
  return isWellFormedSecret(key) ? maskSecret(secretTail(key)) : "…";
}

/** A URL without what may be a secret in it: it was not checked, if it is left out. */
function maskIn(member: string, value: string): string {
  if (member === "base-url") return /[@?#]/.test(value) ? "…" : value;
  if (member !== "database-url") return value;
  if (/password/i.test(value.replace(/^[^?]*/, ""))) return "…";
  if (!value.includes("@") || /^\w+:\/\/[^:@]*@[^@]*$/.test(value)) return value;
  return /^\w+:\/\/[^:@]*:[^@]*@[^@]*$/.test(value) ? value.replace(/^(\w+:\/\/[^:@]*):[^@]*@/, "$1:…@") : "…";
}

/** Values beyond this width do not move the column after them. */
const WIDEST = 48;

function toText(rows: readonly Row[]): string {
  const lines = rows.map(({ name, value, source, from, ignored }) => [
    escapeInvisible(name),
    escapeInvisible(value ?? "-"),
    escapeInvisible(`${from ?? source}${ignored === undefined ? "" : ` (not in force: ${ignored})`}`),
  ]);
  const width = (column: number, most: number): number =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0).filter((length) => length <= most));
  const [names, values] = [width(0, WIDEST), width(1, WIDEST)];
  return lines.map(([name = "", value = "", from]) => `${name.padEnd(names)}  ${value.padEnd(values)}  ${from}\n`)
    .join("");
}

const NOTES = `
With --json each setting has "name", "value" (null: none), "source" (flag,
variable, file or default), "from", and "ignored" when it is not in force.

Examples:
  service-api config
  service-api config --profile staging --json
${EXIT_STATUS}`;
