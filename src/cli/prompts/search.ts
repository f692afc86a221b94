/** Prompts the user to find one item in a list of any length. */
import { widthOf } from "../terminal/text_width.ts";
import { drawRows, editFilter, MOVE_KEYS, moveFocus } from "./list_navigation.ts";
import { initialFocus, itemLine, labelWidthsOf, toSearchable, toSearchText } from "./list.ts";
import type { ListOptions } from "./options.ts";
import { PROMPT_LINE_MARGIN } from "./selection.ts";
import { errorLines, promptLine, runView, type Screen } from "./run_prompt.ts";

/**
 * Prompts the user to select one item. Typed characters filter the items by label and hint. Enter selects the focused
 * item.
 *
 * @param options at least one item
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 * @throws {GoBack}
 */
export async function searchOne<Value>(options: ListOptions<Value>, screen: Screen): Promise<Value> {
  const { label, items, canGoBack = false } = options;
  const { style, terminal } = screen;
  const labelWidths = labelWidthsOf(items);
  const searchTexts = items.map(toSearchable);
  let filter = "";
  let matches = items;
  let focus = initialFocus(options);
  /** How many items are on the screen. */
  let page = 0;

  function applyFilter(text: string): void {
    if (text === filter) return;
    filter = text;
    matches = items.filter((_item, index) => searchTexts[index]?.includes(toSearchText(text)));
    focus = 0;
  }

  await runView({
    label,
    canGoBack,
    clearFilter: () => {
      const hasFilter = filter !== "";
      applyFilter("");
      return hasFilter;
    },
    draw: (footer) => {
      const rows = drawRows(matches.length, focus, 1 + footer.length, (index, columns) => {
        return itemLine(matches[index], index === focus, "", { labelWidths, columns }, screen);
      }, screen);
      page = rows.page;
      const room = terminal.size().columns - widthOf(label + filter) - PROMPT_LINE_MARGIN;
      const count = filter === "" ? "" : `(${matches.length} of ${items.length} shown)`;
      return [
        promptLine(
          label,
          `${filter}${style.symbols.cursor} ${count === "" || count.length > room ? "" : style.dim(count)}`,
          style,
        ),
        ...(matches.length > 0 ? rows.lines : errorLines("No matches.", screen)),
        ...footer,
      ].join("\n");
    },
    keys: () => {
      const escape = filter !== "" ? ["esc to clear"] : canGoBack ? ["esc to go back"] : [];
      return ["enter to select", "type to filter", ...escape, ...MOVE_KEYS];
    },
    answer: () => matches[focus]?.label ?? "",
    validate: () => matches.length === 0 ? "No item matches the filter. Press Esc to clear the filter." : undefined,
    handleKey: (typed, key) => {
      const target = moveFocus(focus, matches.length, key, page);
      if (target === undefined) applyFilter(editFilter(filter, typed, key));
      else focus = target;
      return false;
    },
  }, screen);
  const selected = matches[focus];
  if (selected === undefined) throw new TypeError("searchOne needs at least one item");
  return selected.value;
}
