/**
 * Remembers what is on the screen, so that a part of it can be erased when the user goes back, and all of it can be drawn
 * again when the user continues the suspended program.
 */
import { wrapTextWithPrefix } from "@clack/core";
import type { Terminal } from "../host/host.ts";
import { ERASE_LINE } from "../terminal/text_width.ts";

export interface Transcript {
  /** Adds text that stays on the screen. The cursor is behind it. */
  add(text: string): void;
  /** The lines on the screen, as wide as the window is now. */
  lines(): readonly string[];
  /**
   * Remembers a place on the screen.
   *
   * @returns a function that erases everything below this place. Lines that have scrolled off the screen remain.
   */
  mark(): () => void;
}

/** All prompts at a terminal share its transcript. */
const transcripts = new WeakMap<Terminal, Transcript>();

export function transcriptOf(terminal: Terminal): Transcript {
  const existing = transcripts.get(terminal);
  if (existing !== undefined) return existing;
  const { output } = terminal;
  let shown = "";
  const wrap = (text: string): readonly string[] => wrapTextWithPrefix(output, text, "").split("\n");
  const transcript: Transcript = {
    add: (text) => {
      // Notices about a wait erase themselves.
      shown = (shown + text).split("\n").map((line) => line.split(ERASE_LINE).at(-1) ?? "").join("\n");
    },
    lines: () => wrap(shown).slice(0, -1),
    mark: () => {
      const { length } = shown;
      return () => {
        const height = wrap(shown.slice(length)).length - 1;
        if (height > 0) output.write(`\r\x1b[${height}A\x1b[J`);
        shown = shown.slice(0, length);
      };
    },
  };
  terminal.observe(transcript.add);
  transcripts.set(terminal, transcript);
  return transcript;
}
