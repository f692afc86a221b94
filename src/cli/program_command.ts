/** A commander command that reports mistakes on the command line as typed errors instead of English text. */
import { Command, type Option } from "@commander-js/extra-typings";

/** A mistake on the command line that commander found. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /**
   * @param word the unknown or unexpected word; for `missing value`, the flag with its placeholder; for `missing
   * argument`, the name of the argument
   */
  constructor(
    readonly kind: "unknown option" | "unknown command" | "missing value" | "missing argument" | "unexpected argument",
    readonly word: string,
  ) {
    super(kind);
  }
}

/**
 * A command that throws {@linkcode UsageError} where commander would throw an error with English text. It overrides
 * methods that commander's type declarations omit. If a new version renames them, the type check still passes, but the
 * tests fail.
 */
export class ProgramCommand extends Command {
  override createCommand(name?: string): Command {
    return new ProgramCommand(name);
  }

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

  missingArgument(name: string): never {
    throw new UsageError("missing argument", name);
  }

  _excessArguments(words: readonly string[]): never {
    throw new UsageError("unexpected argument", words[this.registeredArguments.length] ?? "");
  }
}
