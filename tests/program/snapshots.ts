/**
 * Compares what the user sees with pictures in a file: in three sizes of window, with colours, without, in ASCII, and as
 * plain lines.
 */
import { expect } from "expect";
import type { AtTerminal } from "./terminal_host.ts";

const SIZES = [[40, 15], [80, 24], [160, 50]] as const;

const STYLES = {
  colour: { NO_COLOR: "" },
  "no colour": {},
  ASCII: { LANG: "C" },
  plain: { TERM: "dumb" },
} as const;

/** The terminal of a picture. */
export interface Window extends Required<Pick<AtTerminal, "columns" | "rows" | "env">> {
  /** Whether the terminal shows plain lines, which scroll. */
  readonly isPlain: boolean;
}

/** Shows something at a terminal. Calls `see` with the screen or, if there are several, with each screen and its title. */
export type Show = (window: Window, see: (screen: string, title?: string) => void) => Promise<void>;

/**
 * Adds a test for each subject in each window. The test compares the screens with the pictures in the file. With
 * `UPDATE_SNAPSHOTS=1`, the tests write the file.
 *
 * @param subject what the names of the tests start with
 * @param shows by name
 */
export function testPictures(file: URL, subject: string, shows: Readonly<Record<string, Show>>): void {
  const expected = Deno.env.get("UPDATE_SNAPSHOTS") === "1" ? undefined : readPictures(file);
  const written: string[] = [];
  for (const [name, show] of Object.entries(shows)) {
    for (const [columns, rows] of SIZES) {
      for (const [style, env] of Object.entries(STYLES)) {
        const terminal = `${columns} x ${rows}, ${style}`;
        Deno.test(`${subject} ${name} at ${terminal}`, async () => {
          const isPlain = style === "plain";
          await show({ columns, rows, env, isPlain }, (screen, title) => {
            const heading = `=== ${title === undefined ? name : `${name}: ${title}`}, ${terminal} ===`;
            const picture = `${screen.replaceAll("\x1b", "␛").trimEnd()}\n`;
            if (!isPlain) expect(picture.split("\n").length - 1).toBeLessThanOrEqual(rows);
            if (expected === undefined) written.push(`${heading}\n${picture}`);
            else expect(`${heading}\n${picture}`).toBe(`${heading}\n${expected.get(heading)}`);
          });
        });
      }
    }
  }
  if (expected === undefined) {
    Deno.test("the pictures are written", async () => await Deno.writeTextFile(file, written.join("")));
  }
}

/** The pictures by the lines above them. */
function readPictures(file: URL): ReadonlyMap<string, string> {
  return new Map(
    Deno.readTextFileSync(file).split(/^(?==== )/m).map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1)];
    }),
  );
}
