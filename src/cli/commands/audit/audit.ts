/** `audit`: prints the audit trail as a table, as JSON lines, or with `--json` as one line. */
import type { Command } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { Failure, NOTHING_CHANGED, quote } from "../../../apikey/failure.ts";
import { didYouMeanName } from "../../../apikey/nearest.ts";
import type { AuditEvent, Client } from "../../../client/client.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { unlessInterrupted } from "../../host/interrupt.ts";
import { writeNotes } from "../../host/notes.ts";
import { toJsonLine } from "../../report.ts";
import { parseSetting } from "../../settings/schema.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { type EventFilter, type EventFilterFlags, parseEventFilter } from "./event_filter.ts";
import { formatEventTable } from "./event_table.ts";
import { followEvents, type Pause, readEvents, waitFor } from "./read_events.ts";

/** Registers the command. */
export function registerAudit(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("Print the audit trail of the server, in the order in which it was recorded.")
    .optionsGroup("Events:")
    .option(
      "--since <time>",
      "print only events since this date, time or duration ago; for example 2026-12-31, 2026-12-31T23:59:59Z or 7d",
    )
    .option("--key <name>", "print only events of the key with this name or id")
    .option("--after <id>", "print only events after the event with this id; an empty id prints all events")
    .option("--follow", "then wait for new events and print them, until you press Ctrl-C")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await audit(flags, host, withClient(flags, host, log))));
}

/** The flags of the command, as typed. */
export interface AuditFlags extends EventFilterFlags {
  readonly after?: string | undefined;
  readonly follow?: true | undefined;
  readonly json?: true | undefined;
}

const EVENT_ID = z.string().check(z.regex(/^\d{1,18}$/, {
  error: ({ input }) => `must be the id of an event, not ${quote(String(input))}.`,
}));

/**
 * Prints the existing events, and with `--follow` each new event, once. Without `--json`, prints each page before it
 * requests the next one.
 *
 * @param pause waits between two requests for new events
 * @returns with `--follow`, `INTERRUPTED` after Ctrl-C
 * @throws {Failure} with any code. The events printed before the failure are correct. To continue, pass the id of the
 * last one to `--after`.
 */
export async function audit(
  flags: AuditFlags,
  host: Host,
  useClient: UseClient,
  pause: Pause = waitFor,
): Promise<ExitCode> {
  const { json, follow } = flags;
  if (json && follow) {
    throw new Failure(
      "USAGE",
      "--json and --follow cannot be combined, because --json prints one line at the end. Without --json, each event " +
        "is a line of JSON in a pipe or a file.",
    );
  }
  // A script that reads the last id from an empty file passes an empty id.
  const value = flags.after?.trim() || undefined;
  const after = value && parseSetting({ name: "--after", value }, EVENT_ID);
  const filter = parseEventFilter(flags, host.now());
  return await useClient(async (connect, interrupted, { describePlace, target }) => {
    const pages = follow
      ? followEvents({ connect, after, filter, interrupted, target: target.description, pause, host })
      : readEvents(await connect(), after, filter);
    try {
      const count = await printEvents(pages, flags, host);
      if (count === 0 && after === undefined && !json) {
        await noteNoEvents(filter, await suggestName(flags, connect), describePlace(), host);
      }
      return ExitCode.OK;
    } catch (error) {
      // Ctrl-C is how a user ends --follow, so it needs no message.
      if (follow && interrupted.aborted) return ExitCode.INTERRUPTED;
      throw error;
    }
  });
}

type Pages = AsyncIterable<readonly AuditEvent[]>;

/** The maximum number of names that are compared for a suggestion. */
const MAX_NAMES = 10_000;

/**
 * Returns ` Did you mean …?` if a key with a similar name has events. With `--since`, the name itself may have earlier events,
 * so there is no suggestion.
 */
async function suggestName({ key, since }: EventFilterFlags, connect: () => Promise<Client>): Promise<string> {
  if (key === undefined || since !== undefined) return "";
  const names = new Set<string>();
  for await (const events of readEvents(await connect(), undefined, undefined)) {
    for (const { key: { name } } of events) if (name !== null) names.add(name);
    if (names.size > MAX_NAMES) break;
  }
  return didYouMeanName(key, [...names]);
}

/** @returns the number of events */
async function printEvents(pages: Pages, { json, follow }: AuditFlags, host: Host): Promise<number> {
  let count = 0;
  const counted = async function* (): AsyncGenerator<readonly AuditEvent[]> {
    for await (const events of pages) {
      count += events.length;
      yield events;
    }
  }();
  const texts = json
    ? formatJson(counted)
    : host.stdout.isTerminal()
    ? formatEventTable(counted, follow ?? false, host)
    : formatLines(counted);
  for await (const text of texts) {
    // The reader of a pipe can stop reading without closing it.
    if (text !== "") await unlessInterrupted(host.stdout.write(text), NOTHING_CHANGED, host);
  }
  return count;
}

async function* formatLines(pages: Pages): AsyncGenerator<string> {
  for await (const events of pages) yield events.map(toJsonLine).join("");
}

/** The only line of the output must be a failure if a page cannot be read, so this reads all pages first. */
async function* formatJson(pages: Pages): AsyncGenerator<string> {
  const texts: string[] = [];
  for await (const events of pages) {
    if (events.length > 0) texts.push(events.map((event) => toJsonLine(event).trimEnd()).join(","));
  }
  yield '{"events":[';
  for (const [index, text] of texts.entries()) yield index === 0 ? text : `,${text}`;
  yield "]}\n";
}

/** A user may have searched another store than intended. The command succeeds even if this note cannot be written. */
async function noteNoEvents(
  filter: EventFilter | undefined,
  suggestion: string,
  place: string,
  host: Host,
): Promise<void> {
  const problem = filter === undefined ? "No audit events found" : "No audit events match the filters";
  await writeNotes([`${problem}.${suggestion} Searched ${place}.`], host).catch(() => {});
}

const NOTES = `
Filtering:
  --since takes a duration before now (36h, 7d), a date (2026-12-31), or a date
  and a time (2026-12-31T23:59:59Z, or "2026-12-31 23:59" as in the table).
  Without a time zone, both are UTC.
  An event is printed if it matches every filter. --key takes the id or the name
  of a key. A name finds all events of each key that has or had this name, even
  if the key was renamed before or later. Quote names that contain spaces.

Following:
  --follow prints the existing events, and then each new event within about a
  second. If the server becomes unreachable, --follow prints a message on
  standard error and tries again until the server answers. It prints each event
  once. Ctrl-C ends it with exit status 130.

Results:
  At a terminal, standard output is a table. EVENT is the action and, if it was
  refused, the reason. BY is the key used for the request. If a command opened
  the store itself, without a key, BY is the user, for example "ana (local)", or
  (local user) if the user is not known. FROM is the IP address of the client.
  If two keys have had the same name, ID tells them apart. Columns that do not
  fit are left out, and a line on standard error names them.
  Otherwise, each line is one event in JSON, and with --json, one line
  {"events":[...]} has all events.

Each event has these members. A member that does not apply is null:
  id         a number that increases with every event, as a string, for --after
  at         time of the event, RFC 3339
  actor      {"id","name"} of the key used for the request; null if a command
             opened the store itself, without a key
  localUser  user of the operating system, if a command opened the store itself;
             taken from the environment, which the user can change. Not set if
             the server is older
  address    IP address of the client
  requestId  X-Request-Id of the request
  action     CREATE, UPDATE, ROTATE, REPLACE, DELETE, ADD_RESOURCE or
             REMOVE_RESOURCE; VERIFY or INTROSPECT for a key that was refused
             at /verify or /introspect
  key        {"id","name"} of the key that the action was for; both are null for
             a resource
  outcome    DONE, NOT_FOUND if the key does not exist, or the code of the
             failure
  occurrences
             number of refused attempts that the event stands for. If an actor
             repeats an attempt with the same outcome more than 10 times in a
             minute, one event stands for the further attempts, and its other
             members describe the last one
  changes    [{"field","before","after"}]: what changed about the key or the
             resource. If the change was refused, [] or, for a resource, only
             its name. Secrets are masked. Not set if the server is older and
             does not report it

If you use a key, it needs LOGS:READ_ANY. The audit trail contains changes to
keys and resources and refused attempts, and counts the keys that were refused
at /verify and /introspect. It contains no other requests that a server rejects
because they have no valid key. service-api serve writes all requests to its
access log.

Examples:
  # Who changed or deleted the key "ci deploy" during the last week?
  service-api audit --key "ci deploy" --since 7d
  service-api audit --since 1h --follow
  service-api audit > audit.jsonl
  service-api audit --after "$(tail -n 1 audit.jsonl | cut -d '"' -f 4)" \\
    >> audit.jsonl
${EXIT_STATUS}`;
