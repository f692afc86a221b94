/** Turns the bytes that a terminal sends into the keys that prompts handle. */

/**
 * Ctrl-Z. `node:readline` would try to suspend the process, which Deno does not permit. So this key is ignored where the
 * terminal does not suspend the program: on Windows, and in pasted text.
 */
const CTRL_Z = "\x1a";

const ESCAPE = "\x1b";

/** Terminals send these markers around pasted text in bracketed paste mode. */
const PASTE_START = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;
const PASTE_MARKER = new RegExp(`(${ESCAPE}\\[20[01]~)`);
const PARTIAL_MARKER = new RegExp(`${ESCAPE}\\[(?:2(?:0[01]?)?)?$`);

/** The escape sequence that turns bracketed paste mode on or off. */
export function bracketedPaste(isOn: boolean): string {
  return `${ESCAPE}[?2004${isOn ? "h" : "l"}`;
}

/**
 * Creates a function that takes each chunk from a terminal and returns the keys in it:
 *
 * - In bracketed paste mode, line breaks and tabs in pasted text become spaces, so that they do not count as keys that
 *   answer or select. White space at the start of pasted text is removed, because Space selects too.
 * - A line feed becomes Enter, because terminals send a line feed for Enter while they are not in raw mode. On Windows,
 *   they send a carriage return and a line feed.
 * - The keys after an Enter are a separate piece, so that the next prompt receives them.
 */
export function createKeyReader(): (chunk: Uint8Array) => readonly Uint8Array[] {
  let isPasting = false;
  let isPasteStart = false;
  let rest = "";
  return (chunk) => {
    let text = rest + toBinaryString(chunk);
    rest = PARTIAL_MARKER.exec(text)?.[0] ?? "";
    text = text.slice(0, text.length - rest.length);
    const keys = text.split(PASTE_MARKER).map((part) => {
      if (part === PASTE_START || part === PASTE_END) {
        isPasting = isPasteStart = part === PASTE_START;
        return "";
      }
      const typed = part.replaceAll(CTRL_Z, "");
      if (!isPasting) return typed.replaceAll(/\r?\n/g, "\r");
      const pasted = isPasteStart ? typed.replace(/^[ \t\r\n]+/, "") : typed;
      isPasteStart &&= pasted === "";
      return pasted.replaceAll(/\r\n|[\r\n\t]/g, " ");
    }).join("");
    return keys.split(/(?<=\r)/).filter((piece) => piece !== "").map(fromBinaryString);
  };
}

/** One character per byte. */
function toBinaryString(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function fromBinaryString(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
