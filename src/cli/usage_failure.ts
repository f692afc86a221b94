/** A bad command line in words: what is wrong with it, what was probably meant, and where the help is. */
import type { CommanderError } from "@commander-js/extra-typings";
import { Failure, quote } from "../apikey/failure.ts";
import { nearest } from "../apikey/nearest.ts";

/** A command and its long flags. */
export interface KnownCommand {
  readonly name: string;
  readonly flags: readonly string[];
}

/**
 * Says in our words what commander found.
 *
 * @param args what was typed after the program's name
 */
export function usageFailure(
  error: CommanderError,
  args: readonly string[],
  commands: readonly KnownCommand[],
): Failure {
  const command = commands.find(({ name }) => name === args[0]);
  const help = `See ${["service-api", command?.name, "--help"].filter((word) => word !== undefined).join(" ")}.`;
  const said = error.message.replace(/^error: /, "").replace(/\.+$/, "");
  return new Failure("USAGE", `${complaint(said, command, commands)} ${help}`);
}

function complaint(said: string, command: KnownCommand | undefined, commands: readonly KnownCommand[]): string {
  // What follows "=" is left out: it may be a secret.
  const [, option] = /^unknown option '([^'=]*)/.exec(said) ?? [];
  if (option !== undefined) {
    return `There is no option ${quote(option)}; did you mean ${meantFlag(option, command, commands)}?`;
  }
  const [, name] = /^unknown command '([^']*)/.exec(said) ?? [];
  if (name !== undefined) return `There is no command ${quote(name)}; did you mean ${meantCommand(name, commands)}?`;
  const [, excess] = /^too many arguments .* but got \d+: ([^,]*)/.exec(said) ?? [];
  if (excess === undefined) return `${said}.`;
  const remedy = command?.flags.includes(`--${excess}`)
    ? `did you mean --${excess}?`
    : command?.flags.includes("--name") || !command?.flags.includes("--profile")
    ? "a value with spaces has to be in quotes."
    : `did you mean --profile ${excess}?`;
  return `${quote(excess)} is one word too many; ${remedy}`;
}

/** A flag of the command, or without one the command whose flag it is. */
function meantFlag(typed: string, command: KnownCommand | undefined, commands: readonly KnownCommand[]): string {
  if (command !== undefined) return nearest(typed, ["--help", ...command.flags]);
  const owner = commands.find(({ flags }) => flags.includes(typed));
  if (owner !== undefined) return `service-api ${owner.name} ${typed}`;
  return /^-+v/i.test(typed) ? "--version" : nearest(typed, ["--help", "--version"]);
}

/** A command, or the one that has it as a flag. */
function meantCommand(typed: string, commands: readonly KnownCommand[]): string {
  const owner = commands.find(({ flags }) => flags.includes(`--${typed}`));
  return owner === undefined
    ? nearest(typed, ["help", ...commands.map(({ name }) => name)])
    : `service-api ${owner.name} --${typed}`;
}
