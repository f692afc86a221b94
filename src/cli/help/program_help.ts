/**
 * The help pages of the program. They are constants, because formatting them would take more time than a whole run of
 * `--version`.
 */
import { EXIT_STATUS } from "../exit_code.ts";
import { TOPICS } from "./topic_names.ts";

/** The commands and their one-line summaries. */
export const COMMANDS = [
  ["apikey", "create, list, change, rotate and delete API keys"],
  ["request", "send a GraphQL request with a key"],
  ["needs", "print the permissions that a GraphQL document needs"],
  ["resource", "add, list and remove resources for permissions"],
  ["serve", "run the embedded server on HTTP"],
  ["store", "copy the embedded server's store, for example to PostgreSQL"],
  ["audit", "print the audit trail of key changes"],
  ["config", "print the settings in effect and their sources"],
  ["login", "store a server and its key as a profile"],
  ["logout", "remove the key that login stored"],
  ["completions", "print a shell's completion script"],
] as const;

function rows(terms: readonly (readonly [string, string])[]): string {
  return terms.map(([name, summary]) => `  ${name.padEnd(13)}${summary}`).join("\n");
}

const LIST_OF_COMMANDS = `Commands:
${rows([...COMMANDS, ["help", "describe a command or a topic; service-api help topics lists them"]])}`;

const FIRST_EXAMPLES = `Examples:
  service-api apikey
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)`;

/** The output of `-h`. */
export const SHORT_HELP = `Usage: service-api <command> [options]

Create, list, change, rotate and delete API keys on a server over GraphQL.

${LIST_OF_COMMANDS}

${FIRST_EXAMPLES}

Each command has -h for its most used flags. Everything else: service-api --help
`;

/** The output of `--help`. */
export const FULL_HELP = `Usage: service-api <command> [options]

Create, list, change, rotate and delete API keys on a server over GraphQL, from
scripts or interactively.

${FIRST_EXAMPLES}
  service-api login

${LIST_OF_COMMANDS}

Topics of service-api help:
${rows(TOPICS)}

Flags:
  --version    print the version
  -h, --help   print the short help, or this page; every command has both

Server settings:
  Unless --base-url, SERVICE_API_URL or the profile selects another server,
  commands use the embedded server, which is part of this program. It keeps keys
  in a file on this machine or in a PostgreSQL database.
  service-api help settings describes the flags, variables and profiles.
  LOG_LEVEL=debug writes debug logs to standard error.
${EXIT_STATUS}
`;
