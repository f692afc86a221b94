/** What a command needs from the program, and how mistakes on its command line are reported. */
import { Command, type Option } from "@commander-js/extra-typings";
import type { ExitCode } from "./exit_code.ts";
import type { Host } from "./host/host.ts";
import type { Log } from "./host/log.ts";

/** Declares flags, help and action. Called only for the requested command, because declaring flags takes time. */
export type RegisterCommand = (command: Command, session: Session) => void;

/** One run of the program. */
export interface Session {
  readonly host: Host;
  readonly log: Log;
  /** Sets the exit status of the program. */
  readonly setExitCode: (exitCode: ExitCode) => void;
}

/** A mistake on the command line that commander found. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /** @param word the mistyped word; for `missing value` the flag with its placeholder */
  constructor(
    readonly kind: "unknown option" | "unknown command" | "missing value" | "unexpected argument",
    readonly word: string,
  ) {
    super(kind);
  }
}

/**
 * A command that throws {@linkcode UsageError} where commander would throw an error with English text. Commander's type
 * declarations omit the methods that do this, so only tests notice if a new version renames them.
 */
export class ProgramCommand extends Command {
  unknownOption(flag: string): never {
    // The value after "=" may be a secret.
    throw new UsageError("unknown option", flag.replace(/=.*/s, ""));
  }

  unknownCommand(): never {
    throw new UsageError("unknown command", this.args[0] ?? "");
  }

  optionMissingArgument({ flags }: Option): never {
    throw new UsageError("missing value", flags);
  }

  _excessArguments(words: readonly string[]): never {
    throw new UsageError("unexpected argument", words[this.registeredArguments.length] ?? "");
  }
}

/** Whether a flag may be repeated: it then has a function that collects its values. */
export function isRepeatable({ required, parseArg }: Option): boolean {
  return required && parseArg !== undefined;
}
