/** Indents JSON for people. Changes only the white space, so every number keeps its digits and every key its place. */

/** A string, followed by a colon if it is the name of a member; a punctuation mark; or a number or a word. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(?=\s*(:)?)|[[\]{},:]|[^\s"[\]{},:]+/g;

/** The deepest level that is indented further. Without this limit, the result could be far larger than the JSON. */
const DEEPEST = 40;

/** A piece of indented JSON: a token, or white space between tokens. */
export interface JsonPiece {
  /** `name` is the name of a member, `literal` a number, `true`, `false` or `null`. */
  readonly kind: "name" | "string" | "literal" | "other";
  readonly text: string;
}

/** Indents valid JSON by 2 spaces per level. Yields it in pieces, because all of it can be too large for the memory. */
export function* indentJson(json: string): Generator<JsonPiece> {
  let depth = 0;
  let previous = "";
  for (const [token, colon] of json.matchAll(TOKEN)) {
    const isFirst = previous === "{" || previous === "[";
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth--;
    const space = previous === ":" ? " " : `\n${"  ".repeat(Math.min(depth, DEEPEST))}`;
    if (isFirst ? !isEnd : isEnd || /^[,:]$/.test(previous)) yield { kind: "other", text: space };
    if (token === "{" || token === "[") depth++;
    yield { kind: kindOf(token, colon !== undefined), text: token };
    previous = token;
  }
}

function kindOf(token: string, isName: boolean): JsonPiece["kind"] {
  if (token.startsWith('"')) return isName ? "name" : "string";
  return /^[[\]{},:]/.test(token) ? "other" : "literal";
}
