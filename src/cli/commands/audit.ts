/** `audit`: prints the audit trail as JSON lines, or with `--json` as one line. */
import type { Command } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { quote } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import type { AuditEvent } from "../../client/client.ts";
import type { UseClient } from "../connection/connection.ts";
import { withClient } from "../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { toJsonLine, writeJson } from "../report.ts";
import { parseSetting } from "../settings/schema.ts";
import { withServerFlags } from "../settings/server_flags.ts";

/** Registers the command. */
export function registerAudit(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("Print the audit trail of the server, oldest event first. Each line is one event in JSON.")
    .optionsGroup("Events:")
    .option("--after <id>", "print only events after the event with this id; an empty id prints all events")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await audit(flags, host, withClient(flags, host, log))));
}

/** The flags of the command, as typed. */
export interface AuditFlags {
  readonly after?: string | undefined;
  readonly json?: true | undefined;
}

/** The maximum number of events per request. */
const PAGE_SIZE = 1000;

const EVENT_ID = z.string().check(z.regex(/^\d{1,18}$/, {
  error: ({ input }) => `must be the id of an event, not ${quote(String(input))}.`,
}));

/**
 * Prints the existing events. Does not wait for new events. Without `--json`, prints each page before it requests the
 * next one.
 *
 * @throws {Failure} with any code. The events printed before the failure are correct. To continue, pass the id of the
 * last one to `--after`.
 */
export async function audit(flags: AuditFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  // A script that reads the last id from an empty file passes an empty id.
  const value = flags.after?.trim() || undefined;
  const after = value && parseSetting({ name: "--after", value }, EVENT_ID);
  await useClient(async (connect, _interrupted, { describePlace }) => {
    const client = await connect();
    const all: AuditEvent[] = [];
    for (let last = after;;) {
      // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
      const events = await client.listAuditEvents(last, PAGE_SIZE);
      if (flags.json) all.push(...events);
      // deno-lint-ignore no-await-in-loop -- prints each page before it requests the next one
      else await host.stdout.write(events.map(toJsonLine).join(""));
      // deno-lint-ignore no-await-in-loop -- at most once
      if (last === undefined && events.length === 0 && !flags.json) await noteNoEvents(describePlace(), host);
      if (events.length < PAGE_SIZE) break;
      last = events.at(-1)?.id;
    }
    if (flags.json) await writeJson(host.stdout, { events: all });
  });
  return ExitCode.OK;
}

/** A user may have searched another store than intended. The command succeeds even if this note cannot be written. */
async function noteNoEvents(place: string, host: Host): Promise<void> {
  await host.stderr.write(`service-api: No audit events found. Searched ${place}.\n`).catch(() => {});
}

const NOTES = `
Each event has these members. A member that does not apply is null:
  id         a number that increases with every event, as a string, for --after
  at         time of the event, RFC 3339
  actor      {"id","name"} of the key used for the request; null if a command
             opened the store itself, without a key
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
             resource. Secrets are masked. Not set if the server is older and
             does not report it

With --json, one line {"events":[...]} has all events.

If you use a key, it needs LOGS:READ_ANY. The audit trail contains changes to
keys and resources and refused attempts, and counts the keys that were refused
at /verify and /introspect. It contains no other requests that a server rejects
because they have no valid key. service-api serve writes all requests to its
access log.

Examples:
  service-api audit > audit.jsonl
  service-api audit --after "$(tail -n 1 audit.jsonl | cut -d '"' -f 4)" \\
    >> audit.jsonl
${EXIT_STATUS}`;
