/** Selects events of the audit trail by their time and key. */
import { Failure, quote } from "../../../apikey/failure.ts";
import { parseDuration, parseTime } from "../../../apikey/lifetime.ts";
import type { AuditEvent, EventSelection } from "../../../client/client.ts";
import { parseAt } from "../../settings/parse_at.ts";

/** The flags as typed. */
export interface EventFilterFlags {
  readonly since?: string | undefined;
  readonly key?: string | undefined;
}

export interface EventFilter {
  /** What the server selects. */
  readonly selection: EventSelection;
  /**
   * Returns whether an event is selected, if the server is too old to select events. Call it with the events in their
   * order. It cannot select the events from before a key got the name of `--key`.
   */
  readonly selects: (event: AuditEvent) => boolean;
}

/**
 * Parses the flags.
 *
 * @param now durations count back from this time
 * @returns `undefined` if no flag is given
 * @throws {Failure} `USAGE`
 */
export function parseEventFilter(flags: EventFilterFlags, now: Date): EventFilter | undefined {
  const { since, key } = flags;
  if (since === undefined && key === undefined) return undefined;
  const start = since === undefined ? undefined : parseAt("--since", () => parseSince(since, now));
  const wanted = key === undefined ? undefined : parseKey(key);
  // An event without a valid time is shown, because an audit trail must not hide anything.
  const isRecent = ({ at }: AuditEvent): boolean => start === undefined || !(new Date(at) < start);
  const concerns = wanted === undefined ? () => true : selectByKey(wanted);
  return {
    selection: { since: start, key: wanted },
    selects: (event) => concerns(event) && isRecent(event),
  };
}

function selectByKey(wanted: string): (event: AuditEvent) => boolean {
  const ids = new Set([wanted]);
  return ({ key: { id, name }, changes }) => {
    const newName = changes?.find(({ field }) => field === "name")?.after;
    if (id !== null && (isName(name, wanted) || isName(newName, wanted))) ids.add(id);
    return isName(name, wanted) || id !== null && ids.has(id);
  };
}

/** @param wanted in NFC */
function isName(name: string | null | undefined, wanted: string): boolean {
  return name?.normalize("NFC") === wanted;
}

/** A date or, as in the table, a date and a time without a zone. Both are UTC. */
const DATE_AND_TIME = /^(\d+-\d+-\d+)(?:[ T](\d+:\d+)(:\d+)?)?$/i;

/**
 * Parses a duration before now, a date, or a date and a time.
 *
 * @throws {Failure} `USAGE`
 */
function parseSince(text: string, now: Date): Date {
  const since = text.trim();
  const [, date, time = "00:00", seconds = ":00"] = DATE_AND_TIME.exec(since) ?? [];
  try {
    if (date !== undefined) return parseTime(`${date}T${time}${seconds}Z`);
    return /^\d+-/.test(since) ? parseTime(since) : new Date(now.getTime() - parseDuration(since));
  } catch {
    throw new Failure(
      "USAGE",
      `${quote(text)} is neither a duration nor a date or a time. Write, for example, 36h, 7d, 2026-12-31 or ` +
        "2026-12-31T23:59:59Z.",
    );
  }
}

/** The audit trail also has names that break the rules for names, of keys whose creation was refused. */
function parseKey(text: string): string {
  const wanted = text.trim().normalize("NFC");
  if (wanted !== "") return wanted;
  throw new Failure("USAGE", "--key is empty. Pass the name or the id of a key.");
}
