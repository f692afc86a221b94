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
  for (const { 0: token, 1: colon } of json.matchAll(TOKEN)) {
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth--;
    if (previous === ":") yield SPACE;
    else if (previous === "{" || previous === "[" ? !isEnd : isEnd || previous === ",") {
      yield LINE_BREAKS[Math.min(depth, DEEPEST)] ?? SPACE;
    }
    if (token === "{" || token === "[") depth++;
    yield PUNCTUATION.get(token) ?? { kind: kindOf(token, colon !== undefined), text: token };
    previous = token;
  }
}

// A large response has millions of these pieces.
const SPACE: JsonPiece = { kind: "other", text: " " };
const LINE_BREAKS = Array.from({ length: DEEPEST + 1 }, (_, depth): JsonPiece => ({
  kind: "other",
  text: `\n${"  ".repeat(depth)}`,
}));
const PUNCTUATION: ReadonlyMap<string, JsonPiece> = new Map(
  [..."{}[],:"].map((text) => [text, { kind: "other", text }]),
);

function kindOf(token: string, isName: boolean): JsonPiece["kind"] {
  if (isName) return "name";
  return token.startsWith('"') ? "string" : "literal";
}
