/** Prompts the user to select items from a list. A list may have tens of thousands of items. */
import type { Key } from "node:readline";
import { fit, truncate, widthOf } from "../terminal/text_width.ts";
import { editFilter, moveFocus, pageSize, visibleRange } from "./list_navigation.ts";
import type { ListItem, ListOptions } from "./options.ts";
import { formatCount, PROMPT_LINE_MARGIN, toggle } from "./selection.ts";
import { errorLines, keyHelpLine, promptLine, runView, type Screen } from "./run_prompt.ts";

/** The widest label column, in terminal columns. */
const MAX_LABEL_WIDTH = 40;

/** A hint is hidden if fewer columns than this remain for it. */
const MIN_HINT_WIDTH = 8;

/** Lines of `selectMany` besides the items: the prompt and the key help. */
const OTHER_LINES = 2;

/**
 * Prompts the user to select one item from a short list.
 *
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 */
export async function selectOne<Value>({ label, items }: ListOptions<Value>, screen: Screen): Promise<Value> {
  const { style } = screen;
  const labelWidth = labelColumnWidth(items);
  let focus = 0;
  await runView({
    label,
    draw: () =>
      [
        promptLine(label, "", style),
        ...items.map((item, index) => itemLine(item, index === focus, "", labelWidth, screen)),
      ].join("\n"),
    answer: () => items[focus]?.label ?? "",
    handleKey: (_typed, key) => {
      focus = moveFocus(focus, items.length, key, items.length) ?? focus;
      return false;
    },
  }, screen);
  const selected = items[focus];
  if (selected === undefined) throw new TypeError("selectOne needs at least one item");
  return selected.value;
}

/**
 * Prompts the user to select any number of items, including none. Typed characters filter the items by label and hint.
 *
 * @returns the selected values in the order of the list
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 */
export async function selectMany<Value>(
  { label, items }: ListOptions<Value>,
  screen: Screen,
): Promise<readonly Value[]> {
  const { style, terminal } = screen;
  const { dim, green, symbols } = style;
  const labelWidth = labelColumnWidth(items);
  // The space key selects an item, so a filter cannot contain spaces.
  const searchTexts = items.map(({ label, hint = "" }) => `${label} ${hint}`.toLowerCase().replaceAll(" ", ""));
  const selected = new Set<ListItem<Value>>();
  let filter = "";
  let matches = items;
  let focus = 0;

  function applyFilter(text: string): void {
    if (text === filter) return;
    const focused = matches[focus];
    const lowerCase = text.toLowerCase();
    filter = text;
    matches = items.filter((_item, index) => searchTexts[index]?.includes(lowerCase));
    focus = Math.max(0, focused === undefined ? 0 : matches.indexOf(focused));
  }

  function draw(): string {
    const room = terminal.size().columns - widthOf(label + filter) - PROMPT_LINE_MARGIN;
    const count = formatCount(selected.size, matches.length, items.length, room);
    const lines = visibleRange(matches.length, focus, pageSize(screen, OTHER_LINES)).flatMap((index) => {
      const item = matches[index];
      if (item === undefined) return [];
      const mark = selected.has(item) ? green(symbols.selected) : symbols.unselected;
      return itemLine(item, index === focus, `${mark} `, labelWidth, screen);
    });
    return [
      promptLine(label, `${filter}${symbols.cursor} ${dim(count)}`, style),
      ...(lines.length > 0 ? lines : errorLines("No matches.", screen)),
      keyHelpLine(["space to select", "enter to confirm", "type to filter", "ctrl-a for all or none"], screen),
    ].join("\n");
  }

  function handleKey(typed: string | undefined, key: Key): boolean {
    const target = moveFocus(focus, matches.length, key, pageSize(screen, OTHER_LINES));
    const focused = matches[focus];
    if (target !== undefined) focus = target;
    else if (key.ctrl && key.name === "a") toggle(selected, matches);
    else if (key.name !== "space") applyFilter(editFilter(filter, typed, key));
    else if (focused !== undefined) toggle(selected, [focused]);
    return false;
  }

  await runView({ label, draw, handleKey, answer: () => formatSelection(selected, items) }, screen);
  return items.filter((item) => selected.has(item)).map(({ value }) => value);
}

function labelColumnWidth(items: readonly ListItem<unknown>[]): number {
  return Math.min(MAX_LABEL_WIDTH, items.reduce((width, { label }) => Math.max(width, widthOf(label)), 0));
}

/** The maximum number of labels in the answer. */
const MAX_NAMED = 10;

function formatSelection<Value>(selected: ReadonlySet<ListItem<Value>>, items: readonly ListItem<Value>[]): string {
  const labels = items.filter((item) => selected.has(item)).map(({ label }) => label);
  const named = labels.slice(0, MAX_NAMED).join(", ") || "none";
  return labels.length > MAX_NAMED ? `${named} and ${labels.length - MAX_NAMED} more` : named;
}

function itemLine(
  { label, hint = "" }: ListItem<unknown>,
  isFocused: boolean,
  mark: string,
  labelWidth: number,
  { style: { bold, cyan, dim, symbols }, terminal }: Screen,
): string {
  const start = `${isFocused ? cyan(symbols.pointer) : " "} ${mark}`;
  // Some terminals wrap after writing the last column, so leave it empty.
  const { columns } = terminal.size();
  const room = columns - widthOf(start) - 1;
  const widthBesideHint = Math.min(labelWidth, Math.floor(columns / 2));
  const hintWidth = room - widthBesideHint - 2;
  const showsHint = hint !== "" && hintWidth >= MIN_HINT_WIDTH;
  const name = fit(label, showsHint ? widthBesideHint : Math.min(labelWidth, room), symbols.ellipsis);
  const shownHint = showsHint ? `  ${dim(truncate(hint, hintWidth, symbols.ellipsis))}` : "";
  return `${start}${isFocused ? bold(name) : name}${shownHint}`.trimEnd();
}
