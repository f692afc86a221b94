/** Decides whether a command may prompt. */
import type { Host } from "./host.ts";

/** The flags of every command that prompts, as typed. */
export interface PromptFlags {
  /** `false` with `--no-input`. */
  readonly input?: boolean | undefined;
  /** Skip the final confirmation. */
  readonly yes?: boolean | undefined;
}

/** Whether standard input and standard error are terminals and `--no-input` is not given. */
export function canPrompt({ input }: Pick<PromptFlags, "input">, host: Host): boolean {
  return input !== false && host.stdin.isTerminal() && host.stderr.isTerminal();
}
