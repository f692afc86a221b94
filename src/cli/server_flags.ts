/** The flags that every command that asks a server has, declared once. */
import type { Command } from "@commander-js/extra-typings";

export const DATA_DIR_HELP =
  "where the embedded server keeps keys\n[SERVICE_API_DATA_DIR] (default: the platform's data directory)";

export const DATABASE_URL_HELP =
  "PostgreSQL database to keep them in instead,\npostgres://user@host:5432/database [SERVICE_API_DATABASE_URL]";

// deno-lint-ignore explicit-function-return-type explicit-module-boundary-types -- commander infers the flags' types
export function withServerFlags<Args extends unknown[], Flags extends Record<string, unknown>>(
  command: Command<Args, Flags>,
) {
  return command
    .optionsGroup("Server:")
    .option("--base-url <url>", "server to ask; none: the embedded one\n[SERVICE_API_URL]")
    .option(
      "--key-file <file>",
      "file with the key to show the server; -: standard input\n[SERVICE_API_KEY_FILE, or the key itself in SERVICE_API_KEY]",
    )
    .option(
      "--key-header <name>",
      "send the key bare in this header\n[SERVICE_API_KEY_HEADER] (default: Authorization, as Bearer)",
    )
    .option("--header <line>", "send 'Name: value' too; repeatable", collect)
    .option("--allow-http", "send the key in clear to a host that is not this one")
    .option("--ca-file <pem>", "authorities to trust\n[SERVICE_API_CA_FILE] (default: the system's)")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 30s, 2m\n[SERVICE_API_TIMEOUT] (default: 30s)")
    .option("--data-dir <dir>", DATA_DIR_HELP)
    .option("--database-url <url>", DATABASE_URL_HELP);
}

function collect(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...previous ?? [], value];
}
