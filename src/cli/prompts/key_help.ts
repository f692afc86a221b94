/** The lines at the bottom of a prompt that say what the keys do. */
import { wrapWords } from "../terminal/wrap.ts";
import type { Screen } from "./run_prompt.ts";

/** Columns that the lines cannot use: two before the text and one after it. */
const MARGIN = 3;

/** The number of keys that a short hint names. */
const SHORT = 2;

/**
 * One line with as many keys as fit, or all keys after the user has pressed `?`. A narrow window gets shorter words.
 *
 * @param keys for example `space to select`, the most important first
 */
export function keyHelpLines(
  keys: readonly string[],
  showsAll: boolean,
  { style: { dim, symbols }, terminal }: Screen,
): readonly string[] {
  const columns = terminal.size().columns - MARGIN;
  if (showsAll) {
    return wrapWords([...keys, "ctrl-c to cancel", "? to hide"], columns, symbols.separator)
      .map((line) => dim(`  ${line}`));
  }
  const hint = (shown: readonly string[]): string => [...shown, "? help"].join(symbols.separator);
  const short = keys.slice(0, SHORT).map((key) => key.replace(/ (?:to|for) /, " "));
  const hints = [
    ...keys.map((_key, index) => hint(keys.slice(0, keys.length - index))).slice(0, Math.max(1, keys.length - 1)),
    hint(short),
    hint(short.slice(0, 1)),
  ];
  return [dim(`  ${hints.find((text) => text.length <= columns) ?? "? help"}`)];
}
