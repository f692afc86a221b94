/** Asks the user to choose from a numbered list, in plain lines. */
import { quote } from "../../../apikey/failure.ts";
import { formatSelection, markedLabel, NONE, toSearchText } from "../list.ts";
import type { ListItem, ListOptions, SelectOptions } from "../options.ts";
import { punctuate, type Screen } from "../run_prompt.ts";
import { CANCEL } from "../selection.ts";
import { ask, type Reply, writeLines } from "./line.ts";

/** The maximum number of items to list. Users can ask for the others, or type a part of a name. */
const MAX_LISTED = 20;

/** What the user types to list all items. */
const LIST_ALL = "?";

/**
 * Asks the user to choose one item by its number, its name or a part of its name.
 *
 * @param options at least one item
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function chooseOne<Value>(options: ListOptions<Value>, screen: Screen): Promise<Value> {
  const { label, items, initial, canGoBack } = options;
  const rows = items.map((item, index) => ({ ...item, number: index + 1 }));
  const preset = rows.find(({ value }) => initial !== undefined && value === initial);
  await writeLines([punctuate(label), ...listRows(rows, MAX_LISTED)].join("\n"), screen);
  const chosen = await ask({
    label: "Number or name",
    hints: preset === undefined ? [] : [`Enter for ${preset.number}`],
    canGoBack,
    read: (answer): Reply<Row<Value>> => {
      const typed = answer.trim();
      if (typed === LIST_ALL) return { again: listRows(rows).join("\n") };
      if (typed !== "") return findRow(typed, rows);
      return preset === undefined ? { again: "Type a number or a part of a name." } : { value: preset };
    },
  }, screen);
  await writeLines(`Selected: ${chosen.label}`, screen);
  return chosen.value;
}

/**
 * Asks the user to choose any number of items or, with `isRequired`, at least one: numbers, ranges of numbers, and names or parts of names,
 * separated by commas.
 *
 * @returns the chosen values in the order of the list
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function chooseMany<Value>(
  { label, items, initial = [], isRequired = false, canGoBack }: SelectOptions<Value>,
  screen: Screen,
): Promise<readonly Value[]> {
  const selected = new Set(initial);
  const rows = items.map((item, index) => ({ ...item, number: index + 1, isSelected: selected.has(item.value) }));
  const preset = rows.filter(({ isSelected }) => isSelected);
  await writeLines([punctuate(label), ...listRows(rows, MAX_LISTED)].join("\n"), screen);
  const chosen = await ask({
    label: "Numbers or names",
    hints: [
      "separate them with commas, for example 1,3-5",
      "all selects all",
      ...(preset.length === 0 ? [] : ["Enter keeps the selection"]),
      ...(isRequired ? [] : [preset.length === 0 ? "Enter selects none" : "none selects none"]),
    ],
    canGoBack,
    read: (answer) => {
      const typed = answer.trim();
      if (typed === LIST_ALL) return { again: listRows(rows).join("\n") };
      const reply = typed === "" ? { value: preset } : findRows(typed, rows);
      const isEmpty = "value" in reply && reply.value.length === 0;
      return isRequired && isEmpty ? { again: `Type at least one number or name, or press ${CANCEL}.` } : reply;
    },
  }, screen);
  await writeLines(`Selected: ${formatSelection(chosen.map(({ label }) => label))}`, screen);
  return chosen.map(({ value }) => value);
}

interface Row<Value> extends ListItem<Value> {
  /** The number in the list, from 1. */
  readonly number: number;
  /** Whether the item is selected when the list appears. */
  readonly isSelected?: boolean;
}

/** The lines of a list, one for each item. If there are more than `limit`, the last line says how to list the others. */
function listRows(rows: readonly Row<unknown>[], limit = Infinity): readonly string[] {
  const width = String(rows.at(-1)?.number ?? 0).length;
  const lines = rows.slice(0, limit).map((row) => {
    const { number, hint = "", isSelected = false } = row;
    // Hints align their parts in columns with spaces.
    const details = hint.trim().replaceAll(/\s{2,}/g, ", ");
    const name = `${String(number).padStart(width)}. ${markedLabel(row)}${isSelected ? " (selected)" : ""}`;
    return `  ${name}${details === "" ? "" : `: ${details}`}`;
  });
  const rest = rows.length - lines.length;
  return rest === 0 ? lines : [...lines, `  and ${rest} more. To list all of them, type ${LIST_ALL}.`];
}

/** Finds the items for an answer like `1, 3-5, ci deploy`. Each part between commas must match at least one item. */
function findRows<Value>(typed: string, rows: readonly Row<Value>[]): Reply<readonly Row<Value>[]> {
  if (typed.toLowerCase() === "all") return { value: rows };
  if (typed.toLowerCase() === NONE) return { value: [] };
  // Names on other servers may contain commas.
  const named = rows.filter(({ label }) => label === typed);
  if (named.length === 1) return { value: named };
  const found = new Set<Row<Value>>();
  for (const part of typed.split(",").map((part) => part.trim())) {
    if (part === "") return { again: "The list contains an empty item. Remove the extra comma." };
    const reply = findRange(part, rows) ?? findRow(part, rows);
    if ("again" in reply) return reply;
    for (const row of [reply.value].flat()) found.add(row);
  }
  return { value: rows.filter((row) => found.has(row)) };
}

/** @returns `undefined` if the text is not a range like `3-5` */
function findRange<Value>(typed: string, rows: readonly Row<Value>[]): Reply<readonly Row<Value>[]> | undefined {
  const [, first, last] = /^(\d+)\s*-\s*(\d+)$/.exec(typed)?.map(Number) ?? [];
  if (first === undefined || last === undefined) return undefined;
  if (first >= 1 && first <= last && last <= rows.length) return { value: rows.slice(first - 1, last) };
  return { again: `${quote(typed)} is not a range of the numbers from 1 to ${rows.length}.` };
}

/** Finds the item with this number, or with this name or, if there is none, the only one whose name contains the text. */
function findRow<Value>(typed: string, rows: readonly Row<Value>[]): Reply<Row<Value>> {
  const numbered = /^\d+$/.test(typed) ? rows[Number(typed) - 1] : undefined;
  if (numbered !== undefined) return { value: numbered };
  const text = toSearchText(typed);
  const containing = rows.filter(({ label }) => toSearchText(label).includes(text));
  const equal = containing.filter(({ label }) => toSearchText(label) === text);
  const matches = equal.length > 0 ? equal : containing;
  const [match, ...others] = matches;
  if (match !== undefined && others.length === 0) return { value: match };
  const problem = match === undefined
    ? `No name contains ${quote(typed)}.`
    : `${matches.length} names contain ${quote(typed)}. Type a number, or more of the name.`;
  if (match !== undefined) return { again: [problem, ...listRows(matches, MAX_LISTED)].join("\n") };
  return { again: `${problem} The numbers are 1 to ${rows.length}. To list all names, type ${LIST_ALL}.` };
}
