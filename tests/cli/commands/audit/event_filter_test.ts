/** The events that `audit --since` and `audit --key` print if the server is too old to select them. */
import { expect } from "expect";
import type { AuditEvent } from "../../../../src/client/client.ts";
import { type EventFilterFlags, parseEventFilter } from "../../../../src/cli/commands/audit/event_filter.ts";
import { inProcess } from "../../../program/program.ts";

const NOW = new Date("2026-05-10T12:00:00Z");

function event(id: string, at: string, key: AuditEvent["key"], changes: AuditEvent["changes"] = []): AuditEvent {
  const others = { action: "UPDATE", outcome: "DONE", actor: null, address: null, requestId: null, occurrences: 1 };
  return { ...others, id, at, key, changes };
}

const EVENTS: readonly AuditEvent[] = [
  event("1", "2026-05-01T00:00:00.000Z", { id: "key_a", name: "ci" }),
  event("2", "2026-05-09T11:59:59.999Z", { id: "key_a", name: "ci" }, [
    { field: "name", before: "ci", after: "caf\u00e9" },
  ]),
  event("3", "2026-05-09T12:00:00.000Z", { id: "key_a", name: "cafe\u0301" }),
  event("4", "2026-05-10T11:00:00.000Z", { id: "key_b", name: "ci" }),
  event("5", "not a time", { id: null, name: "ci deploy" }),
  event("6", "2026-05-10T11:30:00.000Z", { id: null, name: null }, [{ field: "name", before: null, after: "ci" }]),
];

function idsFor(flags: EventFilterFlags): string {
  const filter = parseEventFilter(flags, NOW);
  return EVENTS.filter((event) => filter?.selects(event) ?? true).map(({ id }) => id).join(" ");
}

for (
  const [rule, flags, ids] of [
    ["without filters, all events are printed", {}, "1 2 3 4 5 6"],
    [
      "--since with a duration counts back from now, and hides no event without a valid time",
      { since: "1d" },
      "3 4 5 6",
    ],
    ["--since takes a time too", { since: "2026-05-09T13:59:59.999+02:00" }, "2 3 4 5 6"],
    ["--since takes a date, which begins at midnight in UTC", { since: "2026-05-10" }, "4 5 6"],
    ["--since takes a date and a time as in the table, in UTC", { since: " 2026-05-10 11:01 " }, "5 6"],
    ["--since takes a date and a time with seconds, in UTC", { since: "2026-05-09T11:59:59" }, "2 3 4 5 6"],
    ["--key prints the events for keys that had this name, and what happened to them later", { key: "ci" }, "1 2 3 4"],
    ["--key prints the event in which a key got this name, in any Unicode form", { key: " cafe\u0301 " }, "2 3"],
    ["--key finds a refused request that names a key without an id", { key: "ci deploy" }, "5"],
    ["--key with an id prints all events for a key that was renamed", { key: "key_a" }, "1 2 3"],
    ["--since and --key must both match", { since: "1d", key: "ci" }, "3 4"],
  ] as const
) {
  Deno.test(rule, () => expect(idsFor(flags)).toBe(ids));
}

for (
  const [flag, message] of [
    [
      "--since=yesterday",
      /^service-api: --since: "yesterday" is neither a duration nor a date or a time\. Write, for example, 36h, 7d, 2026-12-31 or 2026-12-31T23:59:59Z\.\n$/,
    ],
    ["--since=2026-02-30", /^service-api: --since: "2026-02-30" is neither a duration nor a date or a time\. /],
    ["--since=2026-05-10 25:00", /^service-api: --since: "2026-05-10 25:00" is neither /],
    ["--key= ", /^service-api: --key is empty\. Pass the name or the id of a key\.\n$/],
  ] as const
) {
  Deno.test(`audit ${flag} is a usage error`, async () => {
    const { code, stdout, stderr } = await inProcess(["audit", flag]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
}
