/** The flags on the pages of `-h`. */

/** The most used flags of each command, in the order of the page. Commands without flags of their own are missing. */
export const MOST_USED_FLAGS: ReadonlyMap<string, readonly `--${string}`[]> = new Map([
  ["service-api apikey", ["--create", "--delete", "--name", "--roles", "--permissions"]],
  [
    "service-api apikey create",
    ["--roles", "--permissions", "--description", "--expires-in", "--secret-file", "--overwrite", "--json"],
  ],
  ["service-api apikey delete", ["--match", "--unused", "--expired", "--if-exists", "--yes", "--json"]],
  ["service-api apikey list", ["--match", "--role", "--expiring", "--expired", "--unused", "--sort", "--json"]],
  ["service-api apikey show", ["--id", "--json"]],
  [
    "service-api apikey update",
    ["--rename", "--add-roles", "--add-permissions", "--remove-permissions", "--expires-in", "--disable", "--enable"],
  ],
  ["service-api apikey rotate", ["--grace", "--expires-in", "--secret-file", "--overwrite", "--json"]],
  ["service-api apikey verify", ["--key-file", "--can", "--json"]],
  [
    "service-api apikey ensure",
    ["--roles", "--permissions", "--secret-file", "--expires-in", "--rotate-before", "--grace"],
  ],
  ["service-api apikey apply", ["--dry-run", "--prune", "--secrets-dir", "--json"]],
  ["service-api request", ["--query", "--variables", "--body", "--key-file", "--json"]],
  ["service-api needs", ["--schema", "--variables", "--json"]],
  ["service-api resource add", ["--description", "--json"]],
  ["service-api resource list", ["--json"]],
  ["service-api resource remove", ["--json"]],
  ["service-api serve", ["--host", "--port", "--tls-cert", "--tls-key", "--data-dir", "--database-url"]],
  ["service-api store copy", ["--from", "--database-url", "--data-dir", "--json"]],
  ["service-api audit", ["--since", "--key", "--follow", "--json"]],
  ["service-api config", ["--profile", "--json"]],
  ["service-api login", ["--base-url", "--key-file", "--profile"]],
  ["service-api logout", ["--profile"]],
]);
