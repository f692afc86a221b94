/** Indents JSON for people. Changes only the white space, so every number keeps its digits and every key its place. */

/** A string, a punctuation mark, or any other token, for example a number. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s"[\]{},:]+/g;

/** The deepest level that is indented further. Without this limit, the result could be far larger than the JSON. */
const DEEPEST = 40;

/** Indents valid JSON by 2 spaces per level. */
export function indentJson(json: string): string {
  let result = "";
  let depth = 0;
  let previous = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const isFirst = previous === "{" || previous === "[";
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth--;
    if (isFirst ? !isEnd : isEnd || previous === ",") result += `\n${"  ".repeat(Math.min(depth, DEEPEST))}`;
    else if (previous === ":") result += " ";
    if (token === "{" || token === "[") depth++;
    result += token;
    previous = token;
  }
  return result;
}
