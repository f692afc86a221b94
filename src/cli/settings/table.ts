/**
 * The settings that say which server is asked and as whom: the one place that has their names. The flags, the
 * variables, the members of the config file and what `config` prints all come from here.
 */

export interface SettingDeclaration {
  /** The flag as Commander takes it, with the placeholder of its value. */
  readonly option: `--${string}`;
  readonly variable: `SERVICE_API_${string}` | undefined;
  /** Its name in a profile of the config file; `undefined`: it cannot stand there. */
  readonly member: string | undefined;
  /** What it is in the config file. A path is relative to the directory of that file. */
  readonly type: "text" | "path" | "boolean" | "headers";
  /** Goes with the profile's server, and to no other. */
  readonly ofServer: boolean;
  readonly help: string;
  /** What is in force without it, where that is one value. */
  readonly default?: string;
  /** What the help says about variable and default, where that is not just their names. */
  readonly sources?: string;
}

export const SETTINGS = {
  baseUrl: {
    option: "--base-url <url>",
    variable: "SERVICE_API_URL",
    member: "base-url",
    type: "text",
    ofServer: false,
    help: "server to ask; none: the embedded one",
  },
  keyFile: {
    option: "--key-file <file>",
    variable: "SERVICE_API_KEY_FILE",
    member: "key-file",
    type: "path",
    ofServer: true,
    help: "file with the key to show the server; -: standard input",
    sources: "[SERVICE_API_KEY_FILE, or the key itself in SERVICE_API_KEY]",
  },
  keyHeader: {
    option: "--key-header <name>",
    variable: "SERVICE_API_KEY_HEADER",
    member: "key-header",
    type: "text",
    ofServer: true,
    help: "send the key bare in this header",
    sources: "[SERVICE_API_KEY_HEADER] (default: Authorization, as Bearer)",
  },
  header: {
    option: "--header <line>",
    variable: undefined,
    member: "headers",
    type: "headers",
    ofServer: true,
    help: "send 'Name: value' too; repeatable",
  },
  allowHttp: {
    option: "--allow-http",
    variable: undefined,
    member: "allow-http",
    type: "boolean",
    ofServer: true,
    help: "send the key in clear to a host that is not this one",
    default: "false",
  },
  caFile: {
    option: "--ca-file <pem>",
    variable: "SERVICE_API_CA_FILE",
    member: "ca-file",
    type: "path",
    ofServer: true,
    help: "authorities to trust",
    sources: "[SERVICE_API_CA_FILE] (default: the system's)",
  },
  timeout: {
    option: "--timeout <duration>",
    variable: "SERVICE_API_TIMEOUT",
    member: "timeout",
    type: "text",
    ofServer: false,
    help: "how long to wait, such as 500ms, 30s, 2m",
    default: "30s",
  },
  dataDir: {
    option: "--data-dir <dir>",
    variable: "SERVICE_API_DATA_DIR",
    member: "data-dir",
    type: "path",
    ofServer: false,
    help: "where the embedded server keeps keys",
    sources: "[SERVICE_API_DATA_DIR] (default: the platform's data directory)",
  },
  databaseUrl: {
    option: "--database-url <url>",
    variable: "SERVICE_API_DATABASE_URL",
    member: "database-url",
    type: "text",
    ofServer: false,
    help: "PostgreSQL database to keep them in instead,\npostgres://user@host:5432/database",
  },
  profile: {
    option: "--profile <name>",
    variable: "SERVICE_API_PROFILE",
    member: undefined,
    type: "text",
    ofServer: false,
    help: "which profile of the config file",
    default: "default",
  },
  config: {
    option: "--config <file>",
    variable: "SERVICE_API_CONFIG",
    member: undefined,
    type: "path",
    ofServer: false,
    help: "config file",
    sources: "[SERVICE_API_CONFIG] (default: config.yaml of the platform)",
  },
} as const satisfies Readonly<Record<string, SettingDeclaration>>;

export type SettingKey = keyof typeof SETTINGS;

/** The settings that a profile can have. */
export const MEMBERS = ([
  "baseUrl",
  "keyFile",
  "keyHeader",
  "header",
  "allowHttp",
  "caFile",
  "timeout",
  "dataDir",
  "databaseUrl",
] as const satisfies readonly SettingKey[]).map((key) => ({ key, ...SETTINGS[key] }));

/** The flag by itself: `--base-url`. */
export function flagOf(key: SettingKey): string {
  return SETTINGS[key].option.replace(/ .*/, "");
}

/** What the help says of a setting. */
export function helpOf(key: SettingKey): string {
  const declaration: SettingDeclaration = SETTINGS[key];
  const { help, variable, sources } = declaration;
  if (variable === undefined) return help;
  const fallback = declaration.default === undefined ? "" : ` (default: ${declaration.default})`;
  return `${help}\n${sources ?? `[${variable}]${fallback}`}`;
}
