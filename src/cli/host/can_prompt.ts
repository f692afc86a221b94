/** Decides whether a command can prompt. */
import type { Host } from "./host.ts";

/** The flags about prompts. `apikey` has both, `login` has only `--no-input`. */
export interface PromptFlags {
  /** `false` with `--no-input`. */
  readonly input?: boolean | undefined;
  /** `true` with `--yes`: skip the final confirmation. */
  readonly yes?: boolean | undefined;
}

/** Whether standard input and standard error are terminals and `--no-input` is not given. */
export function canPrompt({ input }: Pick<PromptFlags, "input">, host: Host): boolean {
  return input !== false && host.stdin.isTerminal() && host.stderr.isTerminal();
}
