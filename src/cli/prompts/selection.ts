/** What lists and the permission grid have in common: selecting items, and the texts about the selected items. */
import { truncate } from "../terminal/text_width.ts";
import type { Screen } from "./run_prompt.ts";

/** Columns of the prompt line that the label, the filter and the count cannot use, including the empty last one. */
export const PROMPT_LINE_MARGIN = 7;

/**
 * Says how many of `total` items are selected, and how many the filter shows. If the text exceeds `columns`, returns a
 * shorter or an empty text.
 *
 * @param shown `undefined` if there is no filter
 */
export function formatCount(selected: number, total: number, shown: number | undefined, columns: number): string {
  const counts = [
    ...(shown === undefined ? [] : [`(${selected} of ${total} selected, ${shown} shown)`]),
    `(${selected} of ${total} selected)`,
    `(${selected} selected)`,
  ];
  return counts.find((count) => count.length <= columns) ?? "";
}

/** Says that none of `total` items is selected, and that none has to be. If there is no room, returns an empty text. */
export function formatOptional(total: number, columns: number): string {
  return [`(optional, 0 of ${total} selected)`, "(optional)"].find((text) => text.length <= columns) ?? "";
}

/** Names the selected items that the filter hides, in one line. Returns no line if it hides none. */
export function hiddenSelectionLines(hidden: readonly string[], { style, terminal }: Screen): readonly string[] {
  if (hidden.length === 0) return [];
  const { columns } = terminal.size();
  const named = hidden.slice(0, columns).join(", ");
  return [`  ${truncate(`Also selected: ${named}`, columns - 3, style.symbols.ellipsis)}`];
}

/**
 * Returns why Enter is rejected while nothing is selected. The user probably expects Enter to select the focused item, as
 * it does in some programs, or has forgotten to select it.
 *
 * @param focused what a key would select; `undefined` if the filter matches nothing
 * @param options `alternative`: what else the user can do if no filter is set, for example `Enter again for none`
 */
export function nothingSelected(
  focused: string | undefined,
  { filter, alternative }: { readonly filter: string; readonly alternative: string },
): string {
  const key = filter === "" ? "Space" : "Tab";
  const select = focused === undefined ? "Press" : `Press ${key} to select ${focused}, or`;
  return `Nothing is selected. ${select} ${filter === "" ? alternative : "Esc to clear the filter"}.`;
}

/** The alternatives to selecting something if nothing is selected. */
export const NONE_AGAIN = "Enter again for none";
export const CANCEL = "Ctrl-C to cancel";

/** Adds all values to the set. If the set already has all of them, removes them. */
export function toggle<Value>(set: Set<Value>, values: readonly Value[]): void {
  const hasAll = values.every((value) => set.has(value));
  for (const value of values) {
    if (hasAll) set.delete(value);
    else set.add(value);
  }
}

/**
 * What the keys of a list do, the most important first.
 *
 * @param options `spaceSelects`: whether Space selects also while a filter is set
 */
export function selectionKeys(
  { filter, canGoBack, spaceSelects = false, others }: {
    readonly filter: string;
    readonly canGoBack: boolean;
    readonly spaceSelects?: boolean;
    readonly others: readonly string[];
  },
): readonly string[] {
  const select = filter === "" || spaceSelects ? "space to select" : "tab to select";
  const keys = filter === ""
    ? ["type to filter", ...(canGoBack ? ["esc to go back"] : [])]
    : ["esc to clear", ...(canGoBack ? ["shift-tab to go back"] : [])];
  return [select, "enter to confirm", ...keys, ...others];
}
