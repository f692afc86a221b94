/** Messages to the user on standard error. At a terminal, lines break only where that does no harm. */
import { escapeInvisible } from "../../apikey/failure.ts";
import type { Host, Output } from "./host.ts";

/**
 * Writes each note as `service-api: NOTE` to standard error.
 *
 * @throws {Failure} `FAILED` if standard error cannot be written
 */
export async function writeNotes(notes: readonly string[], host: Pick<Host, "stderr">): Promise<void> {
  const lines = await Promise.all(
    notes.map((note) => wrapFor(host.stderr, `service-api: ${escapeInvisible(note)}`)),
  );
  await host.stderr.write(lines.map((line) => `${line}\n`).join(""));
}

/**
 * Wraps a line for an output that is a terminal. Does not change it for a pipe or a file. Never breaks a word, a quoted
 * text or a command, so that users can copy paths, URLs and commands.
 *
 * @param text visible characters and spaces
 */
export async function wrapFor(output: Output, text: string): Promise<string> {
  if (!output.isTerminal()) return text;
  const { wrapMessage } = await import("#terminal");
  return wrapMessage(text, output.columns() - 1).join("\n");
}
