/** Prompts the user to find one item in a list of any length. */
import { editFilter, moveFocus, pageSize, visibleRange } from "./list_navigation.ts";
import { itemLine, labelColumnWidth, toSearchText } from "./list.ts";
import type { ListOptions } from "./options.ts";
import { errorLines, keyHelpLine, promptLine, runView, type Screen } from "./run_prompt.ts";

/**
 * Prompts the user to select one item. Typed characters filter the items by label and hint. Enter selects the focused
 * item.
 *
 * @param options at least one item
 * @throws {Failure} `INTERRUPTED` if the user cancels the prompt
 */
export async function searchOne<Value>({ label, items }: ListOptions<Value>, screen: Screen): Promise<Value> {
  const { style } = screen;
  const labelWidth = labelColumnWidth(items);
  const searchTexts = items.map(({ label, hint = "" }) => toSearchText(`${label} ${hint}`));
  let filter = "";
  let matches = items;
  let focus = 0;
  /** How many items are on the screen. */
  let page = 0;
  await runView({
    label,
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
      const text = target === undefined ? editFilter(filter, typed, key) : filter;
      if (target !== undefined) focus = target;
      if (text === filter) return false;
      filter = text;
      matches = items.filter((_item, index) => searchTexts[index]?.includes(toSearchText(text)));
      focus = 0;
      return false;
    },
  }, screen);
  const selected = matches[focus];
  if (selected === undefined) throw new TypeError("searchOne needs at least one item");
  return selected.value;
}
