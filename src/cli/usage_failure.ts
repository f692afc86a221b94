/** The messages for mistakes on the command line: what is wrong, the nearest valid word, and the command for help. */
import { Failure, quote } from "../apikey/failure.ts";
import { nearest } from "../apikey/nearest.ts";
import type { UsageError } from "./program_command.ts";

/** A command or a subcommand, for example `apikey list`, with its long flags. */
export interface KnownCommand {
  readonly name: string;
  readonly flags: readonly string[];
}

/**
 * Turns a mistake on the command line into a failure.
 *
 * @param args the words after the program's name
 */
export function usageFailure(
  error: UsageError,
  args: readonly string[],
  commands: readonly KnownCommand[],
): Failure {
  const [word, next] = args;
  const command = commands.find(({ name }) => name === `${word} ${next}`) ?? commands.find(({ name }) => name === word);
  const help = `See ${["service-api", command?.name, "--help"].filter((word) => word !== undefined).join(" ")}.`;
  return new Failure("USAGE", `${describe(error, args, command, commands)} ${help}`);
}

function describe(
  { kind, word }: UsageError,
  args: readonly string[],
  command: KnownCommand | undefined,
  commands: readonly KnownCommand[],
): string {
  switch (kind) {
    case "unknown option":
      return `Unknown option ${quote(word)}. Did you mean ${nearestFlag(word, command, commands)}?`;
    case "unknown command":
      return `Unknown command ${quote(word)}. Did you mean ${nearestCommand(word, commands)}?`;
    case "missing value":
      return `${word} needs a value.`;
    case "missing argument":
      return `The argument <${word}> is missing.`;
    case "unexpected argument":
      return `Unexpected argument ${quote(word)}. ${remedyFor(word, args, command, commands)}`;
  }
}

function remedyFor(
  argument: string,
  [, next]: readonly string[],
  command: KnownCommand | undefined,
  commands: readonly KnownCommand[],
): string {
  if (command?.flags.includes(`--${argument}`)) return `Did you mean --${argument}?`;
  const subcommands = commands.map(({ name }) => name).filter((name) => name.startsWith(`${command?.name} `));
  const named = subcommands.find((name) => name === `${command?.name} ${argument}`);
  if (named !== undefined) return `Write service-api ${named}, and put all flags after it.`;
  const [first, ...others] = subcommands;
  if (first !== undefined && argument === next) {
    return `Did you mean ${nearest(`${command?.name} ${argument}`, [first, ...others])}?`;
  }
  const name = command?.name ?? "";
  if (["login", "logout", "config"].includes(name)) return `Did you mean --profile ${argument}?`;
  return REMEDIES.get(name) ?? "Quote a value that contains spaces.";
}

/** For the commands that users expect to take the name of a key. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["apikey list", "To select keys by name, use --match."],
  ["apikey verify", "The key to verify comes from --key-file or SERVICE_API_KEY."],
]);

/**
 * Returns the command's flag that is nearest to the word. If the command is not known, returns a command that has
 * exactly this flag, followed by the flag. If no command has it, returns the nearest flag of the program.
 */
function nearestFlag(word: string, command: KnownCommand | undefined, commands: readonly KnownCommand[]): string {
  if (command !== undefined) return nearest(word, ["--help", ...command.flags]);
  const owner = commands.find(({ flags }) => flags.includes(word));
  if (owner !== undefined) return `service-api ${owner.name} ${word}`;
  return /^-+v/i.test(word) ? "--version" : nearest(word, ["--help", "--version"]);
}

/**
 * Returns a command that has the word as a flag, followed by the flag. If no command has it, returns the nearest
 * command.
 */
function nearestCommand(word: string, commands: readonly KnownCommand[]): string {
  const owner = commands.find(({ flags }) => flags.includes(`--${word}`));
  return owner === undefined
    ? nearest(word, ["help", ...commands.map(({ name }) => name)])
    : `service-api ${owner.name} --${word}`;
}
