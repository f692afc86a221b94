/** Describes keys in lists and in confirmations: their rights, their last use, and what is special about them. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../../../../apikey/permission.ts";
import type { ApiKey, EffectivePermissions } from "../../../../client/client.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Host } from "../../../host/host.ts";
import { fitMarkedLabel, markedLabel } from "../../../prompts/list.ts";
import type { ListItem } from "../../../prompts/options.ts";
import { summarizePermissions } from "../../../terminal/permission_summary.ts";
import { timeAgo } from "../../../terminal/relative_time.ts";
import { styleFor } from "../../../terminal/style.ts";
import { fit, truncate, truncateColumns, widthOf, wrapText } from "../../../terminal/text_width.ts";
import { describeRights, statusOf } from "../key_output.ts";

/** The width of the titles in a confirmation, in columns. */
const TITLE_WIDTH = 15;

/** A title and its lines or its text, which is wrapped. */
export type Row = readonly [title: string, value: string | readonly string[]];

/** The columns beside the titles. */
function roomIn(host: Host): number {
  return host.stderr.columns() - TITLE_WIDTH - 1;
}

/** Formats rows with their titles in a column. Omits rows without a value. Warnings are yellow. */
export function formatRows(rows: readonly Row[], host: Host): string {
  const { dim, yellow } = styleFor(host.stderr, host);
  const room = roomIn(host);
  return rows.flatMap(([title, value]) => {
    const lines = value === "" ? [] : typeof value === "string" ? wrapText(value, room) : value;
    const paint = title === "Warning" ? yellow : (line: string): string => line;
    return lines.map((line, index) => `${dim((index === 0 ? `  ${title}` : "").padEnd(TITLE_WIDTH))}${paint(line)}\n`);
  }).join("");
}

/** What is special about keys, by their ids: for example `in use, last ADMIN`. */
export type Marks = ReadonlyMap<string, string>;

/** The items of a list of keys. Their hints are in columns: rights, last use, day of creation, description. */
export function listItems<Key extends ApiKey>(
  keys: readonly Key[],
  notes: Marks,
  now: Date,
): readonly ListItem<Key>[] {
  const cells = keys.map((key) => [describeRights(key), describeUse(key, now), describeCreation(key)] as const);
  const widths = ([0, 1, 2] as const).map((column) =>
    cells.reduce((width, cell) => Math.max(width, widthOf(cell[column])), 0)
  );
  return keys.map((key, index) => {
    const note = describeNotes(key, notes, now);
    const columns = [
      ...widths.flatMap((width, column) => width === 0 ? [] : [fit(cells[index]?.[column] ?? "", width, "")]),
      key.description ?? "",
    ];
    return {
      value: key,
      label: escapeInvisible(key.name),
      mark: note === "" ? undefined : note,
      hint: escapeInvisible(columns.join("  ")),
    };
  });
}

/** The maximum number of keys that a confirmation describes. */
const MAX_KEYS = 8;

/** On a screen with fewer columns, each key takes two lines, so there is room for fewer keys, and even fewer with warnings. */
const SMALL_SCREEN = 60;
const MAX_KEYS_ON_SMALL_SCREEN = 3;
const MAX_KEYS_WITH_WARNINGS = 2;

/** Long names leave this room, in columns, for the rights and the last use. */
const DETAILS_WIDTH = 37;

/** Names get up to this many columns even if details then have less room. */
const MIN_NAME_WIDTH = 24;

/** What a description of keys says besides the keys. */
interface DescriptionOptions {
  /** Rows about the change. */
  readonly more?: readonly Row[];
  /** Whether to name the server or store. */
  readonly showsTarget?: boolean;
}

/**
 * Describes the keys that a command is about to change: their rights, their last use, and whether they are special. The
 * server or store comes last, so that a small screen shows it above the question.
 */
export async function describeKeys(
  keys: readonly ApiKey[],
  marks: Marks,
  { host, target }: Dialog,
  { more = [], showsTarget = true }: DescriptionOptions = {},
): Promise<void> {
  if (showsTarget) target.isShown = true;
  const warnings = keys.flatMap((one) => warningsAbout(one, marks, keys.length === 1 ? undefined : quote(one.name)));
  const rows: readonly Row[] = [
    ...rowsOfKeys(keys, marks, warnings.length > 0, host),
    ...more,
    ["Warning", warnings.flatMap((text) => wrapText(text, roomIn(host)))],
    ["Using", showsTarget ? target.description : ""],
  ];
  await host.stderr.write(`\n${formatRows(rows, host)}\n`);
}

function rowsOfKeys(keys: readonly ApiKey[], marks: Marks, hasWarnings: boolean, host: Host): readonly Row[] {
  const now = host.now();
  const [key, ...others] = keys;
  if (key !== undefined && others.length === 0) return rowsOfKey(key, now);
  const { symbols: { ellipsis } } = styleFor(host.stderr, host);
  const room = roomIn(host);
  // The marked keys come first, so that they are always shown.
  const sorted = keys.toSorted((one, other) => Number(marks.has(other.id)) - Number(marks.has(one.id)));
  const isSmall = host.stderr.columns() < SMALL_SCREEN;
  const maxKeys = !isSmall ? MAX_KEYS : hasWarnings ? MAX_KEYS_WITH_WARNINGS : MAX_KEYS_ON_SMALL_SCREEN;
  const shown = listItems(sorted.slice(0, maxKeys), marks, now);
  const more = keys.length > maxKeys ? [`and ${keys.length - maxKeys} more`] : [];
  if (isSmall) {
    const lines = shown.flatMap((item) => {
      const details = [describeUse(item.value, now), describeRights(item.value)].filter((fact) => fact !== "");
      return [
        fitMarkedLabel(item, room, ellipsis).trimEnd(),
        ...details.length === 0 ? [] : [`  ${truncate(escapeInvisible(details.join(", ")), room - 2, ellipsis)}`],
      ];
    });
    return [["Keys", [...lines, ...more]]];
  }
  const widest = Math.max(...shown.map((item) => widthOf(markedLabel(item))));
  const nameWidth = Math.min(widest, room, Math.max(MIN_NAME_WIDTH, room - DETAILS_WIDTH));
  const lines = shown.map((item) =>
    truncateColumns(`${fitMarkedLabel(item, nameWidth, ellipsis)}  ${item.hint ?? ""}`, room, ellipsis)
  );
  return [["Keys", [...lines, ...more]]];
}

function rowsOfKey(key: ApiKey, now: Date): readonly Row[] {
  const { name, description, roles, permissions } = key;
  const status = statusOf(key, now);
  return [
    ["Key", escapeInvisible(name)],
    ["Description", escapeInvisible(description ?? "")],
    ["Roles", roles === null ? "" : escapeInvisible(roles.join(", ")) || "none"],
    ["Permissions", escapeInvisible(summarizePermissions(permissions ?? []))],
    ["Last used", describeUse(key, now).replace(/^used /, "").replace("never used", "never")],
    ["Status", status === undefined || status === "active" ? "" : status],
  ];
}

/**
 * Describes the keys that a new key replaces.
 *
 * @param roles the roles of the new key
 */
export function describeReplaced(
  keys: readonly ApiKey[],
  marks: Marks,
  roles: readonly string[],
  host: Host,
): readonly Row[] {
  return keys.flatMap((key): readonly Row[] => {
    const facts = [escapeInvisible(describeRights(key)), describeUse(key, host.now())].filter((fact) => fact !== "");
    const mark = marks.get(key.id) ?? "";
    const warnings = [
      ...mark.includes("in use") ? ["The existing key is the key in use."] : [],
      ...mark.includes("last ADMIN") && !roles.includes("ADMIN") ? ["Without it, no key has the role ADMIN."] : [],
    ];
    return [
      ["Replaces", `the key with ${facts.join(", ") || "this name"}; its secret stops working`],
      ["Warning", warnings.flatMap((text) => wrapText(text, roomIn(host)))],
    ];
  });
}

/**
 * The marks of a key as sentences.
 *
 * @param name the quoted name of the key, if other keys are described too
 */
function warningsAbout({ id }: ApiKey, marks: Marks, name: string | undefined): readonly string[] {
  const sentences: ReadonlyMap<string, string> = new Map([
    ["in use", `${name ?? "This"} is the key in use.`],
    [
      "last ADMIN",
      name === undefined ? "No other key has the role ADMIN." : `Without ${name}, no key has the role ADMIN.`,
    ],
  ]);
  return (marks.get(id)?.split(", ") ?? []).map((mark) => sentences.get(mark) ?? mark);
}

/** Returns `used 3d ago`, `never used`, or an empty text if the server does not report it. */
function describeUse({ lastUsedAt, enabled }: ApiKey, now: Date): string {
  if (lastUsedAt !== null) return `used ${timeAgo(lastUsedAt, now)}`;
  // A server that does not report whether keys are enabled does not report their use either.
  return enabled === null ? "" : "never used";
}

/** Returns, for example, `created 2026-01-02`, or an empty text if the server does not report it. */
function describeCreation({ createdAt }: ApiKey): string {
  return createdAt === null ? "" : `created ${/^\d{4}-\d{2}-\d{2}/.exec(createdAt)?.[0] ?? createdAt}`;
}

function describeNotes(key: ApiKey, notes: Marks, now: Date): string {
  const status = statusOf(key, now);
  const note = notes.get(key.id);
  const isStated = status === undefined || status === "active" || note?.includes(status);
  return [...(note ? [note] : []), ...(isStated ? [] : [status])].join(", ");
}

/** Says what a key may do if it may do everything. Returns `undefined` for every other key. */
export function describeFullRights({ roles, byRoles, byPermissions }: EffectivePermissions): string | undefined {
  const allows = "every action on every resource, including creating and deleting keys.";
  if (roles.includes("ADMIN")) return `The role ADMIN allows ${allows}`;
  const isGranted = (right: string): boolean => byPermissions.has(right) || (byRoles?.has(right) ?? false);
  const grantsAll = RESOURCES.every((resource) => ACTIONS.every((action) => isGranted(`${resource}:${action}`)));
  return grantsAll ? `The key is allowed ${allows}` : undefined;
}
