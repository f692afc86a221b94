/** The interface between the program and its commands: how a command is registered, and what it receives. */
import type { Command, Option } from "@commander-js/extra-typings";
import type { ExitCode } from "./exit_code.ts";
import type { Host } from "./host/host.ts";
import type { Log } from "./host/log.ts";

/**
 * Adds the flags, the help and the action to a command. Each command has such a function. Because adding flags takes
 * time, the program calls only the function of the requested command. To report an unknown command or option, a missing
 * value or an unexpected argument, the program calls the functions of all commands.
 */
export type RegisterCommand = (command: Command, context: CommandContext) => void;

/** What a command receives from the program. */
export interface CommandContext {
  readonly host: Host;
  readonly log: Log;
  /** Sets the exit status of the program. */
  readonly setExitCode: (exitCode: ExitCode) => void;
}

/**
 * Whether a flag can be given more than once. Commands set `parseArg` only on repeatable flags, to collect the values.
 */
export function isRepeatable({ required, parseArg }: Option): boolean {
  return required && parseArg !== undefined;
}
