/** Writes warnings to standard error about what no longer works after a command. */
import type { Host } from "../../../host/host.ts";
import { styleFor } from "../../../terminal/style.ts";
import { wrapMessage } from "../../../terminal/text_width.ts";

export interface Warning {
  /** Complete sentences. If there is a command, the last one introduces it. */
  readonly text: string;
  /** What to run. */
  readonly command?: string | undefined;
}

/**
 * Writes a warning: in a pipe as one line, at a terminal with the command on a line of its own, so that it can be copied.
 * The command has succeeded, so a failure to write the warning is ignored.
 */
export async function writeWarning({ text, command }: Warning, host: Host): Promise<void> {
  const { stderr } = host;
  const { yellow } = styleFor(stderr, host);
  const lines = stderr.isTerminal()
    ? [
      ...wrapMessage(`Warning: ${text}`, stderr.columns() - 1).map(yellow),
      ...command === undefined ? [] : [`  ${command}`],
    ]
    : [`Warning: ${text}${command === undefined ? "" : ` ${command}`}`];
  await stderr.write([...lines, ""].join("\n")).catch(() => {});
}
