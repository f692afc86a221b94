/** Makes a paste fast: `node:readline` needs seconds to insert thousands of characters one at a time. */
import type { Key } from "node:readline";
import type { Readable } from "node:stream";

/** One letter, digit or symbol. `?` is a key of its own, because lists explain their keys on `?`. */
const CHARACTER = /^[^\p{C}\p{Z}?]$/u;

/**
 * Passes characters that arrive together to the current listeners of `keypress` as one key, and all other keys one at a
 * time. A space joins characters before it.
 *
 * @param isClosed whether to discard all further keys
 * @returns a function that stops this
 */
export function joinCharacters(input: Readable, isClosed: () => boolean): () => void {
  const listeners = input.listeners("keypress");
  input.removeAllListeners("keypress");
  let joined = "";
  const pass = (typed: string | undefined, key: Key): void => {
    for (const listener of listeners) {
      if (!isClosed()) listener(typed, key);
    }
  };
  const flush = (): void => {
    const typed = joined;
    joined = "";
    if (typed !== "") pass(typed, { sequence: typed });
  };
  const handleKey = (typed: string | undefined, key: Key): void => {
    const isCharacter = typed !== undefined && !key.ctrl && !key.meta;
    if (isCharacter && (CHARACTER.test(typed) || (typed === " " && joined !== ""))) {
      if (joined === "") queueMicrotask(flush);
      joined += typed;
      return;
    }
    flush();
    pass(typed, key);
  };
  input.on("keypress", handleKey);
  return () => input.off("keypress", handleKey);
}
