/**
 * Draws each frame of a prompt in place of the one before. Between frames, the cursor is visible on the line below, so that
 * the shell can continue there if the user suspends the program.
 */
import { wrapTextWithPrefix } from "@clack/core";
import type { Terminal } from "../host/host.ts";

export interface Canvas {
  /** Draws a frame. Leaves out the lines at its end that do not fit the window. */
  draw(frame: string): void;
  /** Draws the frame that stays on the screen. The cursor stays at its end. */
  finish(frame: string): void;
  /** Scrolls off what is on the screen. Draws the last of the lines that stay on the screen, and a frame below them. */
  drawAgain(linesAbove: readonly string[], frame: string): void;
}

/** A space at the start of a line, after the escape sequences that colour the line. */
// deno-lint-ignore no-control-regex -- the escape character starts these sequences
const LEADING_SPACE = /^((?:\x1b\[[\d;]*m)*) /;

export function openCanvas(terminal: Terminal): Canvas {
  const { output } = terminal;
  /** The lines on the screen, as wide as the window was when they were drawn. */
  let shown: readonly string[] = [];
  const linesOf = (frame: string): readonly string[] => wrapTextWithPrefix(output, frame, "").split("\n");
  const erase = (): string => {
    // A window that has become narrower has wrapped the lines.
    const height = shown.flatMap(linesOf).length;
    return height === 0 ? "" : `\r\x1b[${height}A\x1b[J`;
  };
  const fitting = (frame: string): readonly string[] => linesOf(frame).slice(0, Math.max(1, terminal.size().rows - 1));
  const write = (start: string, lines: readonly string[]): void => {
    output.write(`${start}${lines.map((line) => `${line}\n`).join("")}`);
  };
  return {
    draw: (frame) => {
      const lines = fitting(frame);
      write(erase(), lines);
      shown = lines;
    },
    drawAgain: (linesAbove, frame) => {
      const { rows } = terminal.size();
      const lines = fitting(frame);
      const room = Math.max(0, rows - 1 - lines.length);
      write(`\x1b[${rows}H${"\n".repeat(rows)}\x1b[H`, [...linesAbove.slice(linesAbove.length - room), ...lines]);
      shown = lines;
    },
    finish: (frame) => {
      // The space between two words can begin a line.
      const lines = linesOf(frame).map((line) => line.replace(LEADING_SPACE, "$1"));
      output.write(`${erase()}${lines.join("\n")}`);
      shown = [];
    },
  };
}
