/** What a command is to the program. */
import type { Command, Option } from "@commander-js/extra-typings";
import type { ExitCode } from "./exit_code.ts";
import type { Host } from "./host/host.ts";
import type { Log } from "./host/log.ts";

/** Declares flags, help and action. Called only for the command that is asked for: flags cost time. */
export type RegisterCommand = (command: Command, session: Session) => void;

/** One run of the program. */
export interface Session {
  readonly host: Host;
  readonly log: Log;
  /** Takes the exit status of the command. */
  readonly setExitCode: (exitCode: ExitCode) => void;
}

/** Whether a flag with a value may be given again and again: it then has a function that gathers its values. */
export function isRepeatable({ required, parseArg }: Option): boolean {
  return required && parseArg !== undefined;
}
