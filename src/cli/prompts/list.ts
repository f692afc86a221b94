/** Asks for one, or for any number, of a list. What is typed filters it; it may have tens of thousands of items. */
import type { Key } from "node:readline";
import { cut, fit, widthOf } from "../terminal/text_width.ts";
import { edited, moved, pageOf, windowOf } from "./list_keys.ts";
import type { ListItem, ListQuestion } from "./question.ts";
import { BESIDE_COUNT, countOf, toggle } from "./selection.ts";
import { problemLines, questionLine, runView, type Screen } from "./run_prompt.ts";

/** The widest that labels may make their column. */
const WIDEST_LABEL = 40;

/** A hint with fewer columns is left out. */
const LEAST_HINT = 8;

/**
 * Asks for one of a few.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function selectOne<Value>({ label, items }: ListQuestion<Value>, screen: Screen): Promise<Value> {
  const { style } = screen;
  const labels = widest(items);
  let focus = 0;
  await runView({
    label,
    draw: () =>
      [
        questionLine(label, "", style),
        ...items.map((item, position) => itemLine(item, position === focus, "", labels, screen)),
      ].join("\n"),
    answer: () => items[focus]?.label ?? "",
    press: (_typed, key) => {
      focus = moved(focus, items.length, key, items.length) ?? focus;
      return false;
    },
  }, screen);
  const chosen = items[focus];
  if (chosen === undefined) throw new TypeError("a choice of nothing");
  return chosen.value;
}

/**
 * Asks for any number of a list, none included.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export async function selectMany<Value>(
  { label, items }: ListQuestion<Value>,
  screen: Screen,
): Promise<readonly Value[]> {
  const { style, terminal } = screen;
  const { dim, green, symbols } = style;
  const labels = widest(items);
  // A space ticks, so that none can be typed to filter.
  const texts = items.map(({ label, hint = "" }) => `${label} ${hint}`.toLowerCase().replaceAll(" ", ""));
  const ticked = new Set<ListItem<Value>>();
  let filter = "";
  let shown = items;
  let focus = 0;

  function refilter(text: string): void {
    if (text === filter) return;
    const focused = shown[focus];
    const wanted = text.toLowerCase();
    filter = text;
    shown = items.filter((_item, index) => texts[index]?.includes(wanted));
    focus = Math.max(0, focused === undefined ? 0 : shown.indexOf(focused));
  }

  function draw(): string {
    const { columns } = terminal.size();
    const count = countOf(ticked.size, shown.length, items.length, columns - widthOf(label + filter) - BESIDE_COUNT);
    const lines = windowOf(shown.length, focus, pageOf(screen, 2)).flatMap((position) => {
      const item = shown[position];
      if (item === undefined) return [];
      const mark = ticked.has(item) ? green(symbols.ticked) : symbols.unticked;
      return itemLine(item, position === focus, `${mark} `, labels, screen);
    });
    const help = ["space ticks", "enter ends", "letters filter", "ctrl-a ticks all"].join(symbols.separator);
    return [
      questionLine(label, `${filter}${symbols.cursor} ${dim(count)}`, style),
      ...(lines.length > 0 ? lines : problemLines("Nothing has that in it.", screen)),
      dim(`  ${cut(help, columns - 3, symbols.ellipsis)}`),
    ].join("\n");
  }

  function press(typed: string | undefined, key: Key): boolean {
    const target = moved(focus, shown.length, key, pageOf(screen, 2));
    const focused = shown[focus];
    if (target !== undefined) focus = target;
    else if (key.ctrl && key.name === "a") toggle(ticked, shown);
    else if (key.name !== "space") refilter(edited(filter, typed, key));
    else if (focused !== undefined) toggle(ticked, [focused]);
    return false;
  }

  await runView({ label, draw, press, answer: () => summary(ticked, items) }, screen);
  return items.filter((item) => ticked.has(item)).map(({ value }) => value);
}

function widest(items: readonly ListItem<unknown>[]): number {
  return Math.min(WIDEST_LABEL, items.reduce((width, { label }) => Math.max(width, widthOf(label)), 0));
}

/** How many labels the answer names. */
const MOST_NAMED = 10;

function summary<Value>(ticked: ReadonlySet<ListItem<Value>>, items: readonly ListItem<Value>[]): string {
  const labels = items.filter((item) => ticked.has(item)).map(({ label }) => label);
  const named = labels.slice(0, MOST_NAMED).join(", ") || "none";
  return labels.length > MOST_NAMED ? `${named} and ${labels.length - MOST_NAMED} more` : named;
}

function itemLine(
  { label, hint = "" }: ListItem<unknown>,
  isFocused: boolean,
  mark: string,
  labels: number,
  { style: { bold, cyan, dim, symbols }, terminal }: Screen,
): string {
  const start = `${isFocused ? cyan(symbols.pointer) : " "} ${mark}`;
  // The last column stays free: some terminals go to the next line with it.
  const { columns } = terminal.size();
  const room = columns - widthOf(start) - 1;
  const besideHint = Math.min(labels, Math.floor(columns / 2));
  const rest = room - besideHint - 2;
  const showsHint = hint !== "" && rest >= LEAST_HINT;
  const name = fit(label, showsHint ? besideHint : Math.min(labels, room), symbols.ellipsis);
  const beside = showsHint ? `  ${dim(cut(hint, rest, symbols.ellipsis))}` : "";
  return `${start}${isFocused ? bold(name) : name}${beside}`.trimEnd();
}
