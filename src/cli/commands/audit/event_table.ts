/** Formats events of the audit trail as a table for a terminal. */
import { escapeInvisible } from "../../../apikey/failure.ts";
import type { AuditEvent } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { writeNotes } from "../../host/notes.ts";

/** The last columns are left out first if the terminal is too narrow. */
const COLUMNS = [
  { title: "TIME (UTC)", isOptional: false },
  { title: "EVENT", isFlexible: true, isLastToShrink: true },
  { title: "NAME", isFlexible: true },
  { title: "BY", isFlexible: true },
  { title: "FROM" },
  { title: "CHANGES", isFlexible: true, isOptional: true },
  { title: "ID" },
];

const TIME = 0;
const EVENT = 1;
const ID = 6;

/** How many events decide on the widths of the columns. If there are more, they are formatted page by page. */
const MEASURED_EVENTS = 1000;

/** While following, later events can have longer texts than the first ones, so these texts are measured too. */
const TYPICAL_EVENT = ["", "REPLACE", "nightly backup", "first admin", "203.0.113.255", "roles: ADMIN, VIEWER", ""];

/** On a terminal that is narrower than this, in columns, times have no seconds. */
const MIN_COLUMNS_FOR_SECONDS = 100;

/** On a terminal that is narrower than this, in columns, times have no year either. */
const MIN_COLUMNS_FOR_YEAR = 60;

/**
 * Yields the header and the rows as text, or nothing if there is no event.
 *
 * @param isFollowing whether each event must be shown at once
 */
export async function* formatEventTable(
  pages: AsyncIterable<readonly AuditEvent[]>,
  isFollowing: boolean,
  host: Host,
): AsyncGenerator<string> {
  const { layoutTable, styleFor, tableRow } = await import("#terminal");
  const { dim, red, symbols: { arrow, ellipsis } } = styleFor(host.stdout, host);
  const columns = host.stdout.columns();
  let leftOut: readonly string[] = [];
  let layout: ReturnType<typeof layoutTable> | undefined;

  const textsOf = (event: AuditEvent): readonly string[] =>
    [
      shortTime(event.at, columns),
      describeEvent(event),
      subjectOf(event),
      callerOf(event),
      event.address ?? "",
      describeChanges(event, arrow),
      event.key.id ?? "",
    ].map(escapeInvisible);
  const formatRow = (event: AuditEvent): string => {
    const paint = (text: string, column: number): string => {
      if (column === TIME) return dim(text);
      return column === EVENT && event.outcome !== "DONE" ? red(text) : text;
    };
    return `${tableRow(layout ?? [], textsOf(event), ellipsis, paint)}\n`;
  };

  function formatFirst(events: readonly AuditEvent[], isComplete: boolean): string {
    const rows = [...events.map(textsOf), ...(isFollowing ? [TYPICAL_EVENT] : [])];
    const needsId = shareName(events);
    const isShown = (index: number): boolean =>
      index === ID ? needsId : !isComplete || rows.some((row) => row[index] !== "");
    const shown = layoutTable(COLUMNS, rows, columns, isShown);
    const isUseful = (column: number): boolean =>
      column === ID ? needsId : events.some((event) => textsOf(event)[column] !== "");
    leftOut = COLUMNS.filter((_, column) => isUseful(column) && !shown.some(({ index }) => index === column))
      .map(({ title }) => title);
    layout = shown;
    const header = tableRow(layout, COLUMNS.map(({ title }) => title), ellipsis, dim);
    return `${header}\n${events.map(formatRow).join("")}`;
  }

  const first: AuditEvent[] = [];
  for await (const events of pages) {
    if (layout !== undefined) {
      yield events.map(formatRow).join("");
      continue;
    }
    first.push(...events);
    if (first.length < (isFollowing ? 1 : MEASURED_EVENTS)) continue;
    const text = formatFirst(first.splice(0), false);
    // While following, there is no end after which the note could come.
    if (isFollowing) await noteLeftOut(leftOut, "a pipe", host);
    yield text;
  }
  if (first.length > 0) yield formatFirst(first, true);
  if (!isFollowing) await noteLeftOut(leftOut, "--json", host);
}

/**
 * The table is complete without this note.
 *
 * @param alternative what shows everything in a terminal of any width
 */
async function noteLeftOut(titles: readonly string[], alternative: string, host: Host): Promise<void> {
  if (titles.length === 0) return;
  const columns = `${titles.length === 1 ? "The column" : "The columns"} ${titles.join(" and ")}`;
  const verb = titles.length === 1 ? "does" : "do";
  await writeNotes([`${columns} ${verb} not fit. Use a wider terminal or ${alternative} to see everything.`], host)
    .catch(() => {});
}

/** @returns the start of the text if it is not a time */
function shortTime(at: string, columns: number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at.slice(0, 11);
  const text = time.toISOString().replace("T", " ");
  return text.slice(columns < MIN_COLUMNS_FOR_YEAR ? 5 : 0, columns < MIN_COLUMNS_FOR_SECONDS ? 16 : 19);
}

/** Names the action and, if it was refused, the reason. */
function describeEvent({ action, outcome, occurrences }: AuditEvent): string {
  return [action, ...(outcome === "DONE" ? [] : [outcome]), ...(occurrences > 1 ? [`x${occurrences}`] : [])].join(" ");
}

/** Returns the name of the key or of the resource; if only the id of the key is known, the id. */
function subjectOf({ key, changes }: AuditEvent): string {
  const { before, after } = changes?.find(({ field }) => field === "name") ?? {};
  return key.name ?? key.id ?? after ?? before ?? "";
}

/** Returns whether two keys in the events have the same name, so that only their ids tell them apart. */
function shareName(events: readonly AuditEvent[]): boolean {
  const ids = new Map<string, string>();
  return events.some(({ key: { id, name } }) => {
    if (id === null || name === null) return false;
    const known = ids.get(name);
    ids.set(name, id);
    return known !== undefined && known !== id;
  });
}

/** Parentheses mark a user of the machine who opened the store itself, because names of keys have none. */
function callerOf({ actor, localUser, address }: AuditEvent): string {
  if (actor !== null) return actor.name ?? actor.id ?? "";
  if (address !== null) return "";
  return typeof localUser === "string" ? `${localUser} (local)` : "(local user)";
}

/** The fields that say nothing about a key that was created or deleted. */
const OBVIOUS_FIELDS: readonly string[] = ["name", "key", "enabled"];

const REMOVALS: readonly string[] = ["REPLACE", "DELETE", "REMOVE_RESOURCE"];

/** The actions that create or remove something, so that each field has only one value. */
const ONE_VALUE_ACTIONS: readonly string[] = ["CREATE", "ADD_RESOURCE", ...REMOVALS];

function describeChanges({ action, changes = [] }: AuditEvent, arrow: string): string {
  const hasOneValue = ONE_VALUE_ACTIONS.includes(action);
  const text = changes.filter(({ field }) => !(hasOneValue && OBVIOUS_FIELDS.includes(field)))
    .map(({ field, before, after }) => {
      const isList = LISTS.includes(field);
      if (hasOneValue) return `${field}: ${isList ? summarize(itemsOf(after ?? before)) : after ?? before}`;
      if (!isList) return `${field}: ${before ?? "none"} ${arrow} ${after ?? "none"}`;
      const [old, current] = [itemsOf(before), itemsOf(after)];
      const added = current.filter((item) => !old.includes(item)).map((item) => `+${item}`);
      const removed = old.filter((item) => !current.includes(item)).map((item) => `-${item}`);
      return `${field}: ${summarize([...added, ...removed])}`;
    }).join("; ");
  return text !== "" && REMOVALS.includes(action) ? `had ${text}` : text;
}

/** The fields whose values are lists, separated by commas. */
const LISTS: readonly string[] = ["roles", "permissions"];

function itemsOf(value: string | null): readonly string[] {
  return value === null ? [] : value.split(",");
}

/** How many items of a list are shown. */
const SHOWN_ITEMS = 3;

function summarize(items: readonly string[]): string {
  const more = items.length - SHOWN_ITEMS;
  return [...items.slice(0, SHOWN_ITEMS), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
