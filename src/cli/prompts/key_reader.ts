/** From the bytes that a terminal sends to the keys that questions understand. */

/** The line editor would stop this process for it, which takes a permission that the program does not have. */
const CTRL_Z = "\x1a";

const ESCAPE = "\x1b";

/** What terminals put around text that is pasted, once they are asked to. */
const PASTE_START = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;
const PASTE_MARK = new RegExp(`(${ESCAPE}\\[20[01]~)`);
const MARK_BEGINNING = new RegExp(`${ESCAPE}\\[(?:2(?:0[01]?)?)?$`);

/** Asks a terminal to mark what is pasted, or no more. */
export function markPastes(isWanted: boolean): string {
  return `${ESCAPE}[?2004${isWanted ? "h" : "l"}`;
}

/**
 * Makes a function that takes what comes from a terminal, piece by piece, and returns it as questions can read it:
 *
 * - Line breaks in what is pasted are spaces: a paste answers no question.
 * - A line feed is what Enter sends while the terminal is not in raw mode: it counts as Enter.
 * - Each piece ends with an Enter, so that what comes after it is left for the next question.
 */
export function createKeyReader(): (bytes: Uint8Array) => readonly Uint8Array[] {
  let isPasted = false;
  let rest = "";
  return (bytes) => {
    let text = rest + toBinary(bytes);
    // The beginning of a mark, unless it is the Escape key alone.
    rest = MARK_BEGINNING.exec(text)?.[0] ?? "";
    text = text.slice(0, text.length - rest.length);
    const keys = text.split(PASTE_MARK).map((part) => {
      if (part === PASTE_START || part === PASTE_END) {
        isPasted = part === PASTE_START;
        return "";
      }
      const typed = part.replaceAll(CTRL_Z, "");
      return isPasted ? typed.replaceAll(/\r\n|\r|\n/g, " ") : typed.replaceAll("\n", "\r");
    }).join("");
    return keys.split(/(?<=\r)/).filter((piece) => piece !== "").map(fromBinary);
  };
}

/** A character for each byte. */
function toBinary(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function fromBinary(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
