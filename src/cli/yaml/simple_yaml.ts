/**
 * Parses the YAML that people write for lists of settings: mappings and lists in block style, and values and lists of
 * values on one line. It takes a tenth of the time of a full parser. For anything else, also for mistakes, the full parser
 * decides.
 */

interface Line {
  readonly indent: number;
  /** Without spaces at both ends. */
  readonly text: string;
}

/** Thrown if a text may be anything else than what this module parses. */
class NotSimple extends Error {}

/** Returns what the full parser would return, or `undefined` if only the full parser can tell. */
export function parseSimpleYaml(text: string): unknown {
  if (text.startsWith("{")) return parseJson(text);
  const lines: Line[] = [];
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    lines.push({ indent: line.length - line.trimStart().length, text: trimmed });
  }
  // The full parser decides on other white space: a tab cannot indent, for example.
  if (/[^\S \n]/.test(text) || lines[0]?.indent !== 0) return undefined;
  try {
    const reader = new Reader(lines);
    const value = reader.block(0);
    return reader.isAtEnd ? value : undefined;
  } catch (error) {
    if (error instanceof NotSimple || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Every JSON text is YAML, except one with a duplicate member, which `JSON.parse` would drop. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const strings = text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g);
    const written = [...strings].filter(([, colon]) => colon !== undefined).length;
    return written === countMembers(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member: unknown) => sum + countMembers(member), own);
}

const MEMBER = /^([A-Za-z]\w*):(?: +(.*))?$/;

class Reader {
  readonly #lines: Line[];
  #next = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  get isAtEnd(): boolean {
    return this.#next === this.#lines.length;
  }

  /** Reads the list or mapping whose lines have this indentation. */
  block(indent: number): unknown {
    return this.#at(indent)?.startsWith("- ") ? this.#list(indent) : this.#mapping(indent);
  }

  /** The text of the next line if it has this indentation. */
  #at(indent: number): string | undefined {
    const line = this.#lines[this.#next];
    return line?.indent === indent ? line.text : undefined;
  }

  #list(indent: number): readonly unknown[] {
    const items: unknown[] = [];
    for (let text = this.#at(indent); text?.startsWith("- "); text = this.#at(indent)) {
      const item = text.slice(2).trimStart();
      if (MEMBER.test(item)) {
        const column = indent + text.length - item.length;
        this.#lines[this.#next] = { indent: column, text: item };
        items.push(this.#mapping(column));
      } else {
        this.#next++;
        items.push(parseValue(item));
      }
    }
    return items;
  }

  #mapping(indent: number): object {
    const members = new Map<string, unknown>();
    for (let text = this.#at(indent); text !== undefined && !text.startsWith("- "); text = this.#at(indent)) {
      const [, name = "", value] = MEMBER.exec(text) ?? [];
      if (name === "" || members.has(name)) throw new NotSimple();
      this.#next++;
      members.set(name, value === undefined ? this.#child(indent) : parseValue(value));
    }
    if (members.size === 0) throw new NotSimple();
    return Object.fromEntries(members);
  }

  /** Reads the value of a member that begins on the next line. A list may have the indentation of the member. */
  #child(indent: number): unknown {
    const line = this.#lines[this.#next];
    if (line !== undefined && line.indent > indent) return this.block(line.indent);
    if (this.#at(indent)?.startsWith("- ")) return this.#list(indent);
    throw new NotSimple();
  }
}

function parseValue(text: string): unknown {
  if (text === "[]") return [];
  const [, list] = /^\[(.*)\]$/.exec(text) ?? [];
  return list === undefined ? parseScalar(text) : list.split(",").map((item) => parseScalar(item.trim()));
}

/** Text without quotes that is no number. Checking for ASCII first saves time, because it needs no Unicode tables. */
const PLAIN = /^(?:[A-Za-z/][\w ./*:-]*|\d+[smhdw])$/;
const UNICODE_PLAIN = /^[\p{L}/][\p{L}\p{Nd} _./*:-]*$/u;
const QUOTED = /^(?:"([^"\\,[\]]*)"|'([^',[\]]*)')$/;
const WORD = /^(?:null|true|false)$/i;

function parseScalar(text: string): string {
  if (isPlain(text)) return text;
  const [, double, single] = QUOTED.exec(text) ?? [];
  const quoted = double ?? single;
  if (quoted === undefined) throw new NotSimple();
  return quoted;
}

function isPlain(text: string): boolean {
  const hasPlainCharacters = PLAIN.test(text) || UNICODE_PLAIN.test(text);
  return hasPlainCharacters && !text.includes(": ") && !text.endsWith(":") && !WORD.test(text);
}
