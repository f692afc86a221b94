/** What a command needs from the program. */
import type { Command, Option } from "@commander-js/extra-typings";
import type { ExitCode } from "./exit_code.ts";
import type { Host } from "./host/host.ts";
import type { Log } from "./host/log.ts";

/** Declares flags, help and action. Called only for the requested command, because declaring flags takes time. */
export type RegisterCommand = (command: Command, context: CommandContext) => void;

/** One run of the program. */
export interface CommandContext {
  readonly host: Host;
  readonly log: Log;
  /** Sets the exit status of the program. */
  readonly setExitCode: (exitCode: ExitCode) => void;
}

/** Whether a flag may be repeated: it then has a function that collects its values. */
export function isRepeatable({ required, parseArg }: Option): boolean {
  return required && parseArg !== undefined;
}
