/** A commander command that reports mistakes on the command line as typed errors instead of English text. */
import { type AddHelpTextContext, Command, type Option } from "@commander-js/extra-typings";

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

/** A request for the help page of a command. */
export class HelpRequest extends Error {
  override readonly name = "HelpRequest";

  /**
   * @param isFull whether the flag is `--help`, not `-h`
   * @param isMistake whether the command line lacks a command, and no flag asks for help
   */
  constructor(readonly command: ProgramCommand, readonly isFull: boolean, readonly isMistake: boolean) {
    super("help");
  }
}

/**
 * A command that throws {@linkcode UsageError} where commander would throw an error with English text, and
 * {@linkcode HelpRequest} where it would format a help page. It overrides
 * methods that commander's type declarations omit. If a new version renames them, the type check still passes, but the
 * tests fail.
 */
export class ProgramCommand extends Command {
  #notes: string | ((context: AddHelpTextContext) => string) = "";

  override createCommand(name?: string): Command {
    return new ProgramCommand(name);
  }

  /** Sets the part of the help page that follows the flags. */
  override addHelpText(_position: "after", notes: string | ((context: AddHelpTextContext) => string)): this {
    this.#notes = notes;
    return this;
  }

  /** The part of the help page that follows the flags. */
  notes(): string {
    return typeof this.#notes === "string" ? this.#notes : this.#notes({ error: false, command: this });
  }

  override help(): never {
    throw new HelpRequest(this, false, true);
  }

  _outputHelpIfRequested(words: readonly string[]): void {
    const flag = words.find((word) => word === "-h" || word === "--help");
    const [command = "-"] = this.args;
    // A page of help would hide that the command is mistyped.
    if (flag !== undefined && this.parent === null && !command.startsWith("-")) this.unknownCommand();
    if (flag !== undefined) throw new HelpRequest(this, flag === "--help", false);
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
