/** The texts of the topics. Parts of them come from the help pages of commands and from the table of settings. */
import { ROLES } from "../../apikey/role.ts";
import { type SettingDeclaration, SETTINGS } from "../settings/table.ts";
import { columnOf, formatGroup, formatSection, joinBlocks } from "./format.ts";
import type { Group, Page, Row, Section } from "./page.ts";
import { type Topic, TOPICS } from "./topic_names.ts";

/** A topic as data. Its text and its man page are made from it. */
export interface TopicPage {
  readonly name: string;
  readonly summary: string;
  readonly sections: readonly (Section | Group)[];
}

/**
 * @param readCommand reads the page of a command
 */
export async function readTopic(
  topic: Topic,
  readCommand: (command: "apikey" | "config") => Promise<Page>,
): Promise<TopicPage> {
  const summary = TOPICS.find(([name]) => name === topic)?.[1] ?? "";
  const sections = await readSectionsOf(topic, readCommand);
  return { name: topic, summary, sections };
}

/** Lists the topics. */
export function formatTopics(): string {
  const rows = TOPICS.map(([term, description]) => ({ term, description }));
  return joinBlocks([
    "Usage: service-api help <topic>",
    formatGroup({ title: "Topics", rows }, columnOf(rows)),
    "Commands have help pages too, for example service-api help apikey list.",
  ]);
}

export function formatTopic({ name, summary, sections }: TopicPage): string {
  const column = columnOf(sections.flatMap((section) => "rows" in section ? section.rows : []));
  return joinBlocks([
    `service-api help ${name}: ${summary}`,
    ...sections.map((section) => "rows" in section ? formatGroup(section, column) : formatSection(section)),
  ]);
}

async function readSectionsOf(
  topic: Topic,
  readCommand: (command: "apikey" | "config") => Promise<Page>,
): Promise<readonly (Section | Group)[]> {
  switch (topic) {
    case "exit-codes":
      return EXIT_CODES_TOPIC;
    case "json":
      return JSON_TOPIC;
    case "environment":
      return [SERVER_VARIABLES, ...OTHER_VARIABLES];
    case "settings": {
      const { settings, sections } = await readCommand("config");
      return [
        text("Server settings", "Every command that uses a server or a store has these flags."),
        { title: "Flags", rows: settings },
        ...only(sections, ["Settings", "Default directories", "Config file"]),
      ];
    }
    case "rights": {
      const { sections } = await readCommand("apikey");
      return [
        { title: "Roles", lines: grantedByRoles(only(sections, ["Rights"])) },
        ...only(sections, ["Resources"]),
        ...only(sections, ["Actions"]).map(({ title, lines }) => ({ title, lines: [...lines, ...ABOUT_ACTIONS] })),
        { title: undefined, lines: [MORE_ABOUT_RIGHTS] },
      ];
    }
  }
}

function only(sections: readonly Section[], titles: readonly string[]): readonly Section[] {
  return sections.filter(({ title }) => title !== undefined && titles.includes(title));
}

function text(title: string, lines: string): Section {
  return { title, lines: lines.trim().split("\n") };
}

/** Finds the lines that say what each role grants. */
function grantedByRoles(sections: readonly Section[]): readonly string[] {
  const names: readonly string[] = ROLES;
  return sections.flatMap(({ lines }) => lines).map((line) => line.trim())
    .filter((line) => names.includes(/^\w+(?= {2})/.exec(line)?.[0] ?? ""));
}

/** The embedded server enforces the rules in `src/server/auth/authorization.ts`. */
const ABOUT_ACTIONS = [
  "_ANY includes _OWN. On API_KEY, _OWN is the key itself and those it created.",
  "The embedded server itself requires rights only on API_KEY, LOGS, PERMISSION.",
  "Services define the others: e.g. DOCKER:READ_ANY to pull, UPDATE_ANY to push.",
];

/** The page with this fits into 80 columns and 23 rows. */
const MORE_ABOUT_RIGHTS = "service-api apikey --help and service-api needs --help say what a key needs.";

const EXIT_CODES_TOPIC = [
  text(
    "Exit statuses and codes",
    `
The code is the member "code" of a failure with --json.

  0  success
  1  ALREADY_EXISTS      a key or resource with this name already exists
     NOT_FOUND           no key with this name or id, or no such resource
     EXPIRED             the key has expired and cannot be rotated without a
                         new expiry
     UNSUPPORTED         the server does not support what the command needs
     FAILED              refused or failed for any other reason
  2  INVALID_NAME        the name is empty, too long, or contains characters
                         other than letters, digits and spaces
     INVALID_ROLE        unknown role
     INVALID_PERMISSION  unknown resource or action, or not RESOURCE:ACTION
     NO_RIGHTS           neither a role nor a permission is given
     USAGE               any other invalid flag, value or setting, or a value
                         is missing and the command cannot prompt for it
  3  UNAUTHENTICATED     the key is missing, mistyped, unknown, deleted,
                         disabled, expired or rotated
     FORBIDDEN           the key lacks a right; the message names it
  4  UNREACHABLE         no connection, or the key store is full, read-only or
                         damaged, or was written by a newer version of this
                         program
     TLS                 the certificate is not valid, or the TLS handshake
                         failed
     TIMEOUT             no response within --timeout, or another process kept
                         the store locked for that long
     BAD_RESPONSE        the response is not GraphQL, is too large, or is a
                         redirect
     RATE_LIMITED        too many requests; the message says how long to wait
130  INTERRUPTED         Ctrl-C, SIGINT or SIGTERM, or you did not confirm;
                         nothing was changed unless the message says so`,
  ),
  text(
    "Other meanings",
    `
apikey list --check exits with 1 if any key matches. apikey verify exits with
3 if the key is not valid, or lacks a permission of --can.`,
  ),
  text(
    "Examples",
    `
# Stop a script if the command fails. After export KEY=$(...), the shell would
# continue.
KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER) || exit
# Tell a server that cannot be reached from other failures.
service-api apikey list --json > keys.json
case $? in 0) ;; 4) echo "Try again later." ;; *) exit 1 ;; esac`,
  ),
];

const JSON_TOPIC = [
  text(
    "Output",
    `
With --json, a command prints exactly one line of JSON on standard output,
even if it fails. Messages and prompts go to standard error. Test the exit
status first: service-api help exit-codes describes it.`,
  ),
  text(
    "Results",
    `
created    {"key":"sak_...","name":"ci deploy","id":"key_..."}
rotated    the same; with --secret-file, {"name","id","secretFile"}
deleted    {"deleted":1,"keys":[{"id","name"}]}
           also "failed":[{"id","name","code","error"}] if some keys failed
           {"deleted":0,"error":"No API key found with name: ci deploy"}
           (exit status 1; 0 with --if-exists)
           {"deleted":0,"message":"No API keys found to delete"}
listed     {"keys":[KEY,...]}; with --jsonl, one KEY on each line
shown      KEY
updated    KEY
verified   {"active":true,"id","name","roles","permissions","expiresAt"}
           also "missing":["DOCKER:UPDATE_ANY"] if --can is not satisfied
           {"active":false,"reason":"expired"}
ensured    {"created":1,"updated":0,"rotated":0,"deleted":0,"unchanged":0,
           "keys":[{"name","id","action","secretFile"}]}
applied    the same, with "failed" if some keys failed
needs      {"permissions":["API_KEY:READ_ANY"],"unstated":0}
resources  {"resources":[{"name","description"}]}, {"name","description"} or
           {"removed":"ORDERS"}
copied     {"keys":12,"resources":2,"auditEvents":340}
audit      {"events":[...]}; in a pipe without --json, one event on each line
config     {"settings":[{"name","value","source","from"},...]}
request    the response body
failure    {"error":"...","code":"NOT_FOUND"}; with --delete also "deleted"`,
  ),
  text(
    "Keys",
    `
KEY is {"id","name","description","roles":["VIEWER"],
"permissions":["DOCKER:READ_ANY"],"enabled","createdAt","createdBy",
"managedBy","updatedAt","lastUsedAt","expiresAt","graceUntil"}. A member is
null if it does not apply or if the server does not report it. Times are in
the format of RFC 3339, usually with milliseconds. In jq, compare them as
texts.`,
  ),
  text(
    "Examples",
    `
# The names of keys that were never used.
service-api apikey list --json |
  jq -r '.keys[] | select(.lastUsedAt == null) | .name'
# The names of keys that expire in the next two weeks.
service-api apikey list --json |
  jq -r '(now | todate) as $from | (now + 1209600 | todate) as $to | .keys[] |
    select(.expiresAt != null and .expiresAt > $from and .expiresAt < $to) |
    .name'
# Create a key, and keep its id and its secret.
json=$(service-api apikey create "ci deploy" --roles VIEWER --json) || exit
id=$(printf %s "$json" | jq -r .id)
KEY=$(printf %s "$json" | jq -r .key)`,
  ),
];

/** What the variables of settings are for. Their flags have longer descriptions. */
const SERVER_VARIABLES: Group = {
  title: "Server and store",
  rows: Object.values<SettingDeclaration>(SETTINGS).flatMap(({ option, variable, help, ...rest }) => {
    if (variable === undefined) return [];
    const fallback = rest.default === undefined ? "" : ` (default: ${rest.default})`;
    const row = { term: variable, description: `${help.split(";")[0]}${fallback}\n${option.replace(/ .*/, "")}` };
    const isKeyFile = option === SETTINGS.keyFile.option;
    const key = { term: "SERVICE_API_KEY", description: "your key itself, instead of a file" };
    return isKeyFile ? [key, row] : [row];
  }),
};

function row(term: string, description: string): Row {
  return { term, description };
}

const OTHER_VARIABLES = [
  {
    title: "Output",
    rows: [
      row(
        "LOG_LEVEL",
        "trace, debug, info, warn, error or fatal (default: warn); debug logs every step, without secrets",
      ),
      row("NO_COLOR", "if set, no colours"),
      row("FORCE_COLOR", "colours even if the output is not a terminal; 0 turns them off; wins over NO_COLOR"),
      row("TERM", "dumb or, except on Windows, unset: no colours and no cursor movement"),
      row("SERVICE_API_PLAIN", "if set, prompts are plain lines, for example for screen readers"),
      row("LC_ALL, LC_CTYPE, LANG", "on Linux and macOS, the locale; unless it is UTF-8, symbols are ASCII"),
    ],
  },
  {
    title: "Files and network",
    rows: [
      row("HOME", "the home directory; on Windows, USERPROFILE"),
      row("XDG_DATA_HOME", "on Linux, the directory with the data directory of the program"),
      row("XDG_CONFIG_HOME", "on Linux, the directory with the directory of the config file"),
      row("LOCALAPPDATA, APPDATA", "the same on Windows, for data and for the config file"),
      row("SUDO_USER, LOGNAME, USER", "the user in the audit trail of a local store; on Windows, USERNAME"),
      row("SSL_CERT_FILE", "PEM file with the CA certificates of the system"),
      row("HTTP_PROXY, ALL_PROXY", "proxy for http:// URLs of other machines"),
      row("PGHOST, PGPORT", "replace missing parts of --database-url"),
      row("PGUSER, PGPASSWORD", "the same"),
      row("PGDATABASE", "the same"),
    ],
  },
  text(
    "Precedence",
    `
A flag wins over its variable, and a variable wins over the profile. An empty
variable counts as unset. service-api config prints what is in effect.`,
  ),
];
