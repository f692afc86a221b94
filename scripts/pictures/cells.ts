/** Writes text with escape sequences to an emulated terminal and reads the screen as runs of characters in one style. */
import xterm from "@xterm/headless";

/** The colours that the program uses, by ANSI colour number. */
const COLOURS: ReadonlyMap<number, Colour> = new Map([[1, "red"], [2, "green"], [3, "yellow"], [6, "cyan"]]);

export type Colour = "cyan" | "green" | "red" | "yellow";

/** Neighbouring characters of a line in the same style, without spaces at the start and the end. */
export interface Run {
  /** The column of the first character, from 0. */
  readonly column: number;
  readonly text: string;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly colour: Colour | undefined;
}

/** The height of the terminal, in lines. It is larger than any picture, so that nothing scrolls away. */
const ROWS = 200;

/**
 * Writes text to an empty terminal.
 *
 * @returns the runs of each line, without the empty lines at the end
 */
export async function readCells(written: string, columns: number): Promise<readonly (readonly Run[])[]> {
  const emulator = new xterm.Terminal({ cols: columns, rows: ROWS, allowProposedApi: true, convertEol: true });
  await new Promise<void>((resolve) => emulator.write(written, resolve));
  const lines = Array.from({ length: ROWS }, (_, row) => runsOf(emulator.buffer.active.getLine(row)));
  return lines.slice(0, lines.findLastIndex((runs) => runs.length > 0) + 1);
}

type Line = ReturnType<xterm.Terminal["buffer"]["active"]["getLine"]>;

function runsOf(line: Line): readonly Run[] {
  const runs: Run[] = [];
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const cell = line?.getCell(column);
    const text = cell?.getChars() ?? "";
    if (cell === undefined || text === "") continue;
    const style = { bold: cell.isBold() !== 0, dim: cell.isDim() !== 0, colour: COLOURS.get(cell.getFgColor()) };
    const last = runs.at(-1);
    if (last !== undefined && continues(last, column, text, style)) {
      runs.splice(-1, 1, { ...last, text: last.text + text });
    } else if (text !== " ") runs.push({ column, text, ...style });
  }
  return runs.map((run) => ({ ...run, text: run.text.trimEnd() }));
}

/**
 * Whether a character continues the run before it. A symbol is always a separate run: if the reader's font lacks the
 * symbol, the browser uses another font, whose characters may have a different width.
 */
function continues(run: Run, column: number, text: string, style: Omit<Run, "column" | "text">): boolean {
  const isPlain = /^[\x20-\x7e]*$/.test(run.text + text);
  return isPlain && run.column + run.text.length === column && !run.text.endsWith("  ") &&
    (text === " " || (run.bold === style.bold && run.dim === style.dim && run.colour === style.colour));
}
