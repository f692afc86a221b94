/** Prompts the user to find one item in a list of any length. */
import { editFilter, moveFocus, pageSize, visibleRange } from "./list_navigation.ts";
import { initialFocus, itemLine, labelColumnWidth, toSearchText } from "./list.ts";
import type { ListOptions } from "./options.ts";
import { errorLines, keyHelpLine, promptLine, runView, type Screen } from "./run_prompt.ts";

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
  const { style } = screen;
  const labelWidth = labelColumnWidth(items);
  const searchTexts = items.map(({ label, hint = "" }) => toSearchText(`${label} ${hint}`));
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
    draw: (error) => {
      const below = error === undefined
        ? [keyHelpLine(["enter to select", "type to filter"], screen)]
        : errorLines(error, screen);
      page = pageSize(screen, 1 + below.length);
      const lines = visibleRange(matches.length, focus, page).flatMap((index) => {
        const item = matches[index];
        return item === undefined ? [] : itemLine(item, index === focus, "", labelWidth, screen);
      });
      return [
        promptLine(label, `${filter}${style.symbols.cursor}`, style),
        ...(lines.length > 0 ? lines : errorLines("No matches.", screen)),
        ...below,
      ].join("\n");
    },
    answer: () => matches[focus]?.label ?? "",
    validate: () => matches.length === 0 ? "No item matches the filter. Press Ctrl-U to clear the filter." : undefined,
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
