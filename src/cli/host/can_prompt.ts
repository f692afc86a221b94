/** Whether there is a person to ask. */
import type { Host } from "./host.ts";

/** The flags of every command that may ask, as they were typed. */
export interface PromptFlags {
  /** `false` with `--no-input`. */
  readonly input?: boolean | undefined;
  /** Answer the confirmation at the end with yes. */
  readonly yes?: boolean | undefined;
}

/** Whether questions may be asked: standard input and standard error are terminals, and `--no-input` is not given. */
export function canPrompt({ input }: Pick<PromptFlags, "input">, host: Host): boolean {
  return input !== false && host.stdin.isTerminal() && host.stderr.isTerminal();
}
