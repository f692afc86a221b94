/** `apikey list`: prints keys as a table, as lines or as JSON. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../../../apikey/failure.ts";
import type { KeyFilter } from "../../../../apikey/key_filter.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import type { ApiKey, Client } from "../../../../client/client.ts";
import type { CommandContext } from "../../../command.ts";
import type { UseClient } from "../../../connection/connection.ts";
import { withClient } from "../../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import type { Host } from "../../../host/host.ts";
import { writeNotes } from "../../../host/notes.ts";
import { withServerFlags } from "../../../settings/server_flags.ts";
import { SEARCH_ELSEWHERE, SEES_ONLY_OWN_KEYS } from "../delete_output.ts";
import { type KnownNames, parseKnownNames, parseNamesOfServer } from "../known_names.ts";
import { type ListFilterFlags, parseListFilter } from "./list_filter.ts";
import { printKeys } from "./list_output.ts";
import { type Sort, SORT_FIELDS, sortKeys, SORTS } from "./sort_keys.ts";

/** Registers the command. */
export function registerList(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("List API keys, without their secrets.")
    .usage("[options]")
    .optionsGroup("Filters:")
    .option("--match <pattern>", "keys whose names match; * stands for any characters, ? for one")
    .option("--role <role>", "keys with this role")
    .option("--can <permission>", "keys that have this right, from a role or a permission")
    .option("--expired", "keys that have expired")
    .option("--expiring <duration>", "keys that expire within this time, or have expired")
    .option("--unused <duration>", "keys not used for this long, for example 90d; at least 5m")
    .option("--disabled", "keys that are disabled")
    .option("--check", "exit with status 1 if any key matches, for monitoring")
    .optionsGroup("Order:")
    .option("--sort <order>", "sort by name, created, used or expires")
    .option("--reverse", "reverse the order")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure")
    .option("--jsonl", "print one line of JSON for each key, as soon as the server has sent it");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await listKeys(flags, host, withClient(flags, host, log))));
}

/** The flags as typed. */
export interface ListFlags extends ListFilterFlags {
  readonly check?: true | undefined;
  readonly sort?: string | undefined;
  readonly reverse?: true | undefined;
  readonly json?: true | undefined;
  readonly jsonl?: true | undefined;
}

/**
 * Prints the keys that the caller may read and the filters select.
 *
 * @throws {Failure} with any code. What was printed before the failure is correct.
 */
export async function listKeys(flags: ListFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.json && flags.jsonl) throw new Failure("USAGE", "Use either --json or --jsonl, not both.");
  const sort = parseSort(flags.sort);
  const now = host.now();
  const parse = (known: KnownNames): KeyFilter | undefined => parseListFilter(flags, known, now);
  const parsed = parseKnownNames(parse);
  return await useClient(async (connect, _interrupted, { describePlace, isStoreMissing }) => {
    const client = await connect();
    const filter = parsed instanceof UnknownName ? await parseNamesOfServer(parse, parsed, client) : parsed;
    const read = client.readKeys({ filter, now, needs: sort && [SORT_FIELDS[sort]] });
    const count = await printKeys(inOrder(read, sort, flags.reverse), flags, host);
    if (count > 0) return flags.check ? ExitCode.FAILED : ExitCode.OK;
    // Programs know from the output that there is no key.
    if (flags.json || flags.jsonl) return ExitCode.OK;
    // Monitoring must be silent if all is well: cron sends every line as mail.
    const hasFilter = filter !== undefined;
    const isExpected = flags.check || hasFilter && !host.stderr.isTerminal();
    const isMissing = isStoreMissing();
    const notes = [
      ...isExpected && !isMissing ? [] : [describeNoKeys(hasFilter, describePlace(), isMissing)],
      ...await client.seesOnlyOwnKeys() ? [SEES_ONLY_OWN_KEYS] : [],
    ];
    // The command succeeds even if the notes cannot be written.
    if (notes.length > 0) await writeNotes(notes, host).catch(() => {});
    return ExitCode.OK;
  });
}

function parseSort(text: string | undefined): Sort | undefined {
  const sort = SORTS.find((sort) => sort === text?.trim().toLowerCase());
  if (text === undefined || sort !== undefined) return sort;
  throw new Failure("USAGE", `--sort must be one of ${SORTS.join(", ")}, not ${quote(text)}.`);
}

type Pages = ReturnType<Client["readKeys"]>;

/** Sorts or reverses keys. Without `sort` and `isReversed`, returns the same pages, and keeps only one in memory. */
function inOrder(pages: Pages, sort: Sort | undefined, isReversed: boolean | undefined): Pages {
  if (sort === undefined && !isReversed) return pages;
  return (async function* (): AsyncGenerator<readonly ApiKey[]> {
    const keys = (await Array.fromAsync(pages)).flat();
    const sorted = sort === undefined ? keys : sortKeys(keys, sort);
    yield* inPages(isReversed ? sorted.toReversed() : sorted);
  })();
}

/** Larger texts need more memory while they are printed. */
const PAGE_SIZE = 1000;

function* inPages(keys: readonly ApiKey[]): Generator<readonly ApiKey[]> {
  for (let start = 0; start < keys.length; start += PAGE_SIZE) yield keys.slice(start, start + PAGE_SIZE);
}

/** Says where the command searched, because the user may have meant another server or store. */
function describeNoKeys(hasFilter: boolean, place: string, isMissing: boolean): string {
  const found = hasFilter ? "No API keys match the filters." : "No API keys found.";
  return [found, `Searched ${place}.`, ...hasFilter && !isMissing ? [] : [SEARCH_ELSEWHERE]].join(" ");
}

const NOTES = `
Filtering:
  A key is listed if it matches every filter. Quote the pattern of --match, so
  that the shell does not expand it: 'ci *'. Patterns are case-sensitive.
  Durations are a number and s, m, h, d or w. --unused counts from the last use
  or, if a key was never used, from its creation. A key without an expiry
  matches neither --expired nor --expiring.
  --can uses the rights that the server reports for each role. Servers other
  than the embedded one may not report when keys expire or were last used.
  Filters that need these times then fail with UNSUPPORTED.

Checking:
  With --check, the exit status is 0 if no key matches, and 1 if any key
  matches. Some failures have the status 1 too. A script can tell them apart
  with --json: the line has "keys" if the check worked, and "error" if it
  failed. Without --json, a failure prints a message on standard error.

Sorting:
  Without --sort, keys are listed in the order of the server, which on the
  embedded server is the order of creation. --sort used lists keys that were
  never used first, and --sort expires lists keys that never expire last.
  --sort and --reverse keep all keys in memory.

Results:
  At a terminal, standard output is a table. Otherwise it has one line for each
  key, without a header, with these fields separated by tabs: name, id, status,
  roles, permissions, created, last used, expires, description. The status is
  active, disabled or expired. Roles and permissions are separated by commas.
  Times are in the format of RFC 3339. A field is empty if it does not apply or
  if the server does not report it.
  --json prints {"keys":[...]}, and --jsonl one key on each line:
    {"id","name","description","roles":[...],"permissions":["DOCKER:READ_ANY"],
    "enabled","createdAt","createdBy","managedBy","updatedAt","lastUsedAt",
    "expiresAt","graceUntil"}
  A member is null if it does not apply or if the server does not report it.
  A key is disabled if enabled is false, and expired if expiresAt is past.
  If no key is listed, standard output is empty, or {"keys":[]} with --json.
  Notes on standard error say if the store does not exist, or if the calling key
  does not see all keys.

The calling key needs API_KEY:READ_ANY. With API_KEY:READ_OWN, it lists itself
and the keys that it created.

Examples:
  # The keys that no client has used for 90 days.
  service-api apikey list --unused 90d
  # For monitoring: exit with status 1 if a key expires within a week.
  service-api apikey list --expiring 7d --check
  # Keys that could delete other keys.
  service-api apikey list --can API_KEY:DELETE_ANY
  service-api apikey list --sort used --jsonl
${EXIT_STATUS}`;
