/** Prompts the user to select items from a list. A list may have tens of thousands of items. */
import type { Key } from "node:readline";
import { quote } from "../../apikey/failure.ts";
import { fit, truncate, truncateColumns, widthOf } from "../terminal/text_width.ts";
import { drawRows, editFilter, isSelectKey, MOVE_KEYS, moveFocus } from "./list_navigation.ts";
import type { ListItem, ListOptions, SelectOptions } from "./options.ts";
import {
  CANCEL,
  formatCount,
  formatOptional,
  hiddenSelectionLines,
  NONE_AGAIN,
  nothingSelected,
  PROMPT_LINE_MARGIN,
  selectionKeys,
  toggle,
} from "./selection.ts";
import { errorLines, promptLine, runView, type Screen } from "./run_prompt.ts";

/** The widest label column, in terminal columns. */
const MAX_LABEL_WIDTH = 40;

/** Labels leave this room for hints, which is enough for the rights and the last use of a key. */
const HINT_ROOM = 43;

/** Labels get up to this many columns even if hints then have less room. */
const MIN_SHARE = 20;

/** If marks leave fewer columns than this for labels, an item with a mark has no hint. */
const MIN_LABEL_WIDTH = 12;

/** A hint is hidden if fewer columns than this remain for it. */
const MIN_HINT_WIDTH = 8;

/**
 * Prompts the user to select one item from a short list.
 *
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 * @throws {GoBack}
 */
export async function selectOne<Value>(options: ListOptions<Value>, screen: Screen): Promise<Value> {
  const { label, items, canGoBack = false } = options;
  const labelWidths = labelWidthsOf(items);
  let focus = initialFocus(options);
  let page = 0;
  await runView({
    label,
    canGoBack,
    draw: (footer) => {
      const rows = drawRows(items.length, focus, 1 + footer.length, (index, columns) => {
        return itemLine(items[index], index === focus, "", { labelWidths, columns }, screen);
      }, screen);
      page = rows.page;
      return [promptLine(label, "", screen.style), ...rows.lines, ...footer].join("\n");
    },
    keys: () => ["enter to select", "arrows to move", ...(canGoBack ? ["esc to go back"] : [])],
    answer: () => items[focus]?.label ?? "",
    handleKey: (_typed, key) => {
      focus = moveFocus(focus, items.length, key, page) ?? focus;
      return false;
    },
  }, screen);
  const selected = items[focus];
  if (selected === undefined) throw new TypeError("selectOne needs at least one item");
  return selected.value;
}

/**
 * Prompts the user to select any number of items; with `isRequired`, at least one. Typed characters filter the items by
 * label and hint. If nothing is selected, rejects Enter while a filter is set, and once after the focus has moved.
 *
 * @returns the selected values in the order of the list
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 * @throws {GoBack}
 */
export async function selectMany<Value>(
  { label, items, initial = [], isRequired = false, canGoBack = false, saveDraft }: SelectOptions<Value>,
  screen: Screen,
): Promise<readonly Value[]> {
  const { style, terminal } = screen;
  const { dim, green, symbols } = style;
  const labelWidths = labelWidthsOf(items);
  const labels = items.map(({ label }) => toSearchText(label));
  const searchTexts = items.map(toSearchable);
  const initialValues = new Set(initial);
  const selected = new Set(items.filter(({ value }) => initialValues.has(value)));
  let filter = "";
  let matches = items;
  let focus = 0;
  /** How many items are on the screen. */
  let page = 0;
  /** Whether the last keys moved the focus. Enter may then be meant to select the focused item. */
  let hasMoved = false;

  /** Filters the items. If the text is the whole label of an item, moves the focus to that item. */
  function applyFilter(text: string): void {
    if (text === filter) return;
    const typed = toSearchText(text);
    const focused = items[labels.indexOf(typed.trimEnd())] ?? matches[focus];
    filter = text;
    matches = items.filter((_item, index) => searchTexts[index]?.includes(typed));
    focus = Math.max(0, focused === undefined ? 0 : matches.indexOf(focused));
  }

  function draw(footer: readonly string[]): string {
    const room = terminal.size().columns - widthOf(label + filter) - PROMPT_LINE_MARGIN;
    const isOptional = !isRequired && selected.size === 0 && filter === "";
    const count = isOptional
      ? formatOptional(items.length, room)
      : formatCount(selected.size, items.length, filter === "" ? undefined : matches.length, room);
    const visible = new Set(selected.size === 0 ? [] : matches);
    const hidden = [...selected].filter((item) => !visible.has(item)).map(({ label }) => label);
    const below = [...hiddenSelectionLines(hidden, screen), ...footer];
    const rows = drawRows(matches.length, focus, 1 + below.length, (index, columns) => {
      const item = matches[index];
      const mark = item !== undefined && selected.has(item) ? green(symbols.selected) : symbols.unselected;
      return itemLine(item, index === focus, `${mark} `, { labelWidths, columns }, screen);
    }, screen);
    page = rows.page;
    return [
      promptLine(label, `${filter}${symbols.cursor} ${dim(count)}`, style),
      ...(matches.length > 0 ? rows.lines : errorLines("No matches.", screen)),
      ...below,
    ].join("\n");
  }

  function handleKey(typed: string | undefined, key: Key): boolean {
    const target = moveFocus(focus, matches.length, key, page);
    const focused = matches[focus];
    if (key.name !== "return") hasMoved = target !== undefined;
    if (target !== undefined) focus = target;
    else if (key.ctrl && key.name === "a") toggle(selected, matches);
    else if (!isSelectKey(key, filter === "")) applyFilter(editFilter(filter, typed, key));
    else if (focused !== undefined) toggle(selected, [focused]);
    return false;
  }

  function validate(): string | undefined {
    if (selected.size > 0 || !(filter !== "" || isRequired || hasMoved)) return undefined;
    hasMoved = false;
    const focused = matches[focus];
    return nothingSelected(focused && quote(focused.label), { filter, alternative: isRequired ? CANCEL : NONE_AGAIN });
  }

  const values = (): readonly Value[] => items.filter((item) => selected.has(item)).map(({ value }) => value);
  await runView({
    label,
    canGoBack,
    draw,
    keys: () => {
      const toggled = filter === "" ? "all or none" : `all ${matches.length} shown or none`;
      return selectionKeys({ filter, canGoBack, others: [`ctrl-a for ${toggled}`, ...MOVE_KEYS] });
    },
    handleKey,
    validate,
    answer: () => formatSelection(items.filter((item) => selected.has(item)).map(({ label }) => label)),
    clearFilter: () => {
      const hasFilter = filter !== "";
      applyFilter("");
      return hasFilter;
    },
    saveDraft: () => saveDraft?.(values()),
  }, screen);
  return values();
}

/** The index of the item with the initial value, or 0. */
export function initialFocus<Value>({ items, initial }: ListOptions<Value>): number {
  return initial === undefined ? 0 : Math.max(0, items.findIndex(({ value }) => value === initial));
}

/** The text in lower case and in Unicode NFC, with one space in place of each sequence of white space. */
export function toSearchText(text: string): string {
  return text.normalize("NFC").toLowerCase().replace(/\s+/g, " ");
}

/** The text of an item that a filter searches. */
export function toSearchable(item: ListItem<unknown>): string {
  return toSearchText(`${markedLabel(item)} ${item.hint ?? ""}`);
}

/** The label and the mark. */
export function markedLabel({ label, mark }: Pick<ListItem<unknown>, "label" | "mark">): string {
  return mark === undefined ? label : `${label} [${mark}]`;
}

/** The label and the mark, exactly this wide. Truncates a long label, but not its mark. */
export function fitMarkedLabel(
  { label, mark }: Pick<ListItem<unknown>, "label" | "mark">,
  columns: number,
  ellipsis: string,
): string {
  const markWidth = widthOf(markedLabel({ label, mark })) - widthOf(label);
  return fit(markedLabel({ label: truncate(label, columns - markWidth, ellipsis), mark }), columns, ellipsis);
}

/** The widths of the widest label, the widest mark and the widest label with its mark, in terminal columns. */
export interface LabelWidths {
  readonly label: number;
  readonly mark: number;
  readonly both: number;
}

export function labelWidthsOf(items: readonly ListItem<unknown>[]): LabelWidths {
  const widths = items.map((item) => ({ label: widthOf(item.label), both: widthOf(markedLabel(item)) }));
  return widths.reduce<LabelWidths>((widest, { label, both }) => ({
    label: Math.max(widest.label, label),
    mark: Math.max(widest.mark, both - label),
    both: Math.max(widest.both, both),
  }), { label: 0, mark: 0, both: 0 });
}

/** The answer if nothing is selected. */
export const NONE = "none";

/** The maximum number of labels in the answer. */
const MAX_NAMED = 10;

/** Names the selected items, or says that there are none. */
export function formatSelection(labels: readonly string[]): string {
  const named = labels.slice(0, MAX_NAMED).join(", ") || NONE;
  return labels.length > MAX_NAMED ? `${named} and ${labels.length - MAX_NAMED} more` : named;
}

/**
 * The line of an item, at most `columns` wide: its label, its mark and, if there is room, its hint. A long label is
 * truncated, its mark is not.
 */
export function itemLine(
  item: ListItem<unknown> | undefined,
  isFocused: boolean,
  symbol: string,
  { labelWidths, columns }: { readonly labelWidths: LabelWidths; readonly columns: number },
  { style: { bold, cyan, dim, symbols: { ellipsis, pointer } } }: Screen,
): string {
  const { label = "", mark, hint = "" } = item ?? {};
  const start = `${isFocused ? cyan(pointer) : " "} ${symbol}`;
  const room = columns - widthOf(start);
  const share = Math.min(MAX_LABEL_WIDTH, Math.ceil(columns / 2), Math.max(MIN_SHARE, columns - HINT_ROOM));
  const fitsMarks = share - labelWidths.mark >= MIN_LABEL_WIDTH;
  const column = Math.min(share, fitsMarks ? labelWidths.both : labelWidths.label);
  const hintWidth = room - column - 2;
  const labelWidth = widthOf(label);
  const markWidth = widthOf(markedLabel({ label, mark })) - labelWidth;
  const showsHint = hint !== "" && hintWidth >= MIN_HINT_WIDTH && (fitsMarks || labelWidth + markWidth <= column);
  const nameWidth = showsHint ? column : Math.min(room, MAX_LABEL_WIDTH + markWidth, labelWidth + markWidth);
  const name = fitMarkedLabel({ label, mark }, nameWidth, ellipsis);
  const shownHint = showsHint ? `  ${dim(truncateColumns(hint, hintWidth, ellipsis))}` : "";
  return `${start}${isFocused ? bold(name) : name}${shownHint}`.trimEnd();
}
