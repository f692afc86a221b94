/**
 * The settings of commands that use a server or a store. For each setting, this table declares the flag, the variable
 * and the name in the config file.
 */

export interface SettingDeclaration {
  /** The flag with the placeholder of its value, in the form that commander expects. */
  readonly option: `--${string}`;
  readonly variable: `SERVICE_API_${string}` | undefined;
  /** The name of the setting in a profile of the config file; `undefined` if a profile cannot contain the setting. */
  readonly member: string | undefined;
  /** The type of the value in the config file. A relative path starts at the directory of that file. */
  readonly type: "text" | "path" | "boolean" | "headers";
  /** Whether the value in a profile is ignored if another server or store than that of the profile is selected. */
  readonly belongsToServer: boolean;
  readonly help: string;
  /** The default value, if it is the same on every machine. */
  readonly default?: string;
  /** Replaces the line of the help that names the variable and the default. */
  readonly sources?: string;
}

export const SETTINGS = {
  baseUrl: {
    option: "--base-url <url>",
    variable: "SERVICE_API_URL",
    member: "base-url",
    type: "text",
    belongsToServer: false,
    help: "URL of the server; the default, except for login, is the embedded server, which is part of this program",
  },
  keyFile: {
    option: "--key-file <file>",
    variable: "SERVICE_API_KEY_FILE",
    member: "key-file",
    type: "path",
    belongsToServer: true,
    help: "file with your key; - reads standard input",
    sources: "[SERVICE_API_KEY_FILE, or SERVICE_API_KEY with the key]",
  },
  keyHeader: {
    option: "--key-header <name>",
    variable: "SERVICE_API_KEY_HEADER",
    member: "key-header",
    type: "text",
    belongsToServer: true,
    help: "send the bare key in this header",
    sources: "[SERVICE_API_KEY_HEADER] (default: Authorization: Bearer)",
  },
  header: {
    option: "--header <line>",
    variable: undefined,
    member: "headers",
    type: "headers",
    belongsToServer: true,
    help: "additional header, 'Name: value'; repeatable",
  },
  allowHttp: {
    option: "--allow-http",
    variable: undefined,
    member: "allow-http",
    type: "boolean",
    belongsToServer: true,
    help: "send the key unencrypted over http:// to other machines",
    default: "false",
  },
  caFile: {
    option: "--ca-file <pem>",
    variable: "SERVICE_API_CA_FILE",
    member: "ca-file",
    type: "path",
    belongsToServer: true,
    help: "file with the CA certificates to trust",
    sources: "[SERVICE_API_CA_FILE] (default: the system's)",
  },
  timeout: {
    option: "--timeout <duration>",
    variable: "SERVICE_API_TIMEOUT",
    member: "timeout",
    type: "text",
    belongsToServer: false,
    help: "longest wait for a response, for example 500ms or 2m",
    default: "30s",
  },
  maxResponseSize: {
    option: "--max-response-size <size>",
    variable: "SERVICE_API_MAX_RESPONSE_SIZE",
    member: "max-response-size",
    type: "text",
    belongsToServer: false,
    help: "largest response to accept over the network, after decompression, for example 500KB or 200MB",
    default: "64MB",
  },
  dataDir: {
    option: "--data-dir <dir>",
    variable: "SERVICE_API_DATA_DIR",
    member: "data-dir",
    type: "path",
    belongsToServer: false,
    help: "directory of the embedded server's store",
    sources: "[SERVICE_API_DATA_DIR] (default: see config --help)",
  },
  databaseUrl: {
    option: "--database-url <url>",
    variable: "SERVICE_API_DATABASE_URL",
    member: "database-url",
    type: "text",
    belongsToServer: false,
    help: "PostgreSQL database for the embedded server's store, postgres://user@host:5432/database",
  },
  profile: {
    option: "--profile <name>",
    variable: "SERVICE_API_PROFILE",
    member: undefined,
    type: "text",
    belongsToServer: false,
    help: "profile of the config file",
    default: "default",
  },
  config: {
    option: "--config <file>",
    variable: "SERVICE_API_CONFIG",
    member: undefined,
    type: "path",
    belongsToServer: false,
    help: "config file",
    sources: "[SERVICE_API_CONFIG] (default: see config --help)",
  },
} as const satisfies Readonly<Record<string, SettingDeclaration>>;

export type SettingKey = keyof typeof SETTINGS;

/** The settings that can be in a profile. */
export const PROFILE_SETTINGS = ([
  "baseUrl",
  "keyFile",
  "keyHeader",
  "header",
  "allowHttp",
  "caFile",
  "timeout",
  "maxResponseSize",
  "dataDir",
  "databaseUrl",
] as const satisfies readonly SettingKey[]).map((key) => ({ key, ...SETTINGS[key] }));

/** The flag without its value: `--base-url`. */
export function flagOf(key: SettingKey): string {
  return SETTINGS[key].option.replace(/ .*/, "");
}

/** The help text of a setting. */
export function helpOf(key: SettingKey): string {
  const declaration: SettingDeclaration = SETTINGS[key];
  const { help, variable, sources } = declaration;
  if (variable === undefined) return help;
  const fallback = declaration.default === undefined ? "" : ` (default: ${declaration.default})`;
  return `${help}\n${sources ?? `[${variable}]${fallback}`}`;
}
