/** The messages for mistakes on the command line: what is wrong, the nearest valid word, and the command for help. */
import { Failure, quote } from "../../apikey/failure.ts";
import { didYouMean, nearest } from "../../apikey/nearest.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import { TOPICS } from "./topic_names.ts";
import type { UsageError } from "../program_command.ts";

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
  const help = word === "help"
    ? "See service-api help topics."
    : `See ${["service-api", command?.name, "--help"].filter((word) => word !== undefined).join(" ")}.`;
  return new Failure("USAGE", `${describe(error, args, command, commands)} ${help}`);
}

function describe(
  { kind, word }: Pick<UsageError, "kind" | "word">,
  args: readonly string[],
  command: KnownCommand | undefined,
  commands: readonly KnownCommand[],
): string {
  const [, next = "-"] = args;
  switch (kind) {
    case "unknown option":
      // The option is unknown because its subcommand is.
      if (!next.startsWith("-") && namesOfSubcommands(command?.name ?? "", commands).length > 0) {
        return describe({ kind: "unexpected argument", word: next }, args, command, commands);
      }
      return `Unknown option ${quote(word)}.${suggestFlag(word, command, commands)}`;
    case "unknown command":
      if (args[0] === "help") return `There is no help for ${quote(word)}. ${suggestHelp(word, commands)}`;
      return `Unknown command ${quote(word)}. ${suggestCommand(word, commands)}${
        /^profiles?$/i.test(word) && next !== "-" ? ` ${DEFAULT_PROFILE_REMEDY}` : ""
      }`;
    case "missing value":
      return `${word} needs a value.`;
    case "missing argument":
      return word === "document"
        ? "The argument <document> is missing. Pass a GraphQL document, @file, or - for standard input."
        : `The argument <${word}> is missing.`;
    case "unexpected argument":
      return [`Unexpected argument ${quote(word)}.`, remedyFor(word, args, command, commands)]
        .filter((sentence) => sentence !== undefined).join(" ");
  }
}

function remedyFor(
  argument: string,
  args: readonly string[],
  command: KnownCommand | undefined,
  commands: readonly KnownCommand[],
): string | undefined {
  const [, next] = args;
  const isConfigVerb = command?.name === "config" && CONFIG_VERB.test(argument);
  if (command?.flags.includes(`--${argument}`) && !isConfigVerb) return `Did you mean --${argument}?`;
  const mode = ["create", "delete"].find((mode) => args.includes(`--${mode}`));
  const isNamed = args.some((arg) => arg === "--name" || arg.startsWith("--name="));
  const subcommands = namesOfSubcommands(command?.name ?? "", commands);
  if (subcommands.includes(argument)) {
    return `Write service-api ${command?.name} ${argument}, and put all flags after it.`;
  }
  if (command?.name === "apikey" && mode !== undefined && !isNamed) {
    const name = shellWord(argument);
    return `Write --name ${name}, or use service-api apikey ${mode} ${name}.`;
  }
  if (subcommands.length > 0 && argument === next) {
    const near = nearest(argument, subcommands);
    // The words that other programs use mean commands for keys.
    const other = command?.name === "apikey" ? meantBy(argument, commands) : undefined;
    const meant = near === undefined ? other : `${command?.name} ${near}`;
    return meant === undefined
      ? `The commands of ${command?.name} are ${subcommands.join(", ")}.`
      : `Did you mean service-api ${meant}?`;
  }
  const name = command?.name ?? "";
  if (["login", "logout", "config"].includes(name)) return remedyForProfile(argument, args, command);
  return REMEDIES.get(name) ?? (argument.includes(" ") ? undefined : "Quote a value that contains spaces.");
}

/** For the commands whose arguments are probably the name of a profile, a URL, or a command of other programs. */
function remedyForProfile(argument: string, args: readonly string[], command: KnownCommand | undefined): string {
  const [, first, second = "-"] = args;
  const looksLikeUrl = /[.:/]|^localhost$/.test(argument);
  if (looksLikeUrl && command?.flags.includes("--base-url")) return `Did you mean --base-url ${shellWord(argument)}?`;
  const isAlone = first === argument && second.startsWith("-");
  if (isAlone && !looksLikeUrl && !CONFIG_VERB.test(argument)) return `Did you mean --profile ${shellWord(argument)}?`;
  return command?.name === "config"
    ? "config only prints the settings and lists the profiles. To change a profile, run service-api login --profile " +
      `NAME, or edit the config file. ${DEFAULT_PROFILE_REMEDY}`
    : "To select a profile, use --profile.";
}

/** What other programs call the commands that read and change settings. */
const CONFIG_VERB =
  /^(add|current|default|delete|edit|get|init|list|ls|path|profiles?|remove|rename|reset|set|show|switch|unset|use|view)$/i;

const DEFAULT_PROFILE_REMEDY =
  "To use another profile by default, set SERVICE_API_PROFILE, or rename the profile to default in the config file.";

/** For the commands that users expect to take an argument. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["apikey list", "To select keys by name, use --match."],
  ["store copy", "The store to copy comes from --from."],
  ["audit", "To print only the events of one key, use --key."],
  ["apikey verify", "The key to verify comes from --key-file or SERVICE_API_KEY."],
]);

/** Flags that users expect, by command, and the flags that do the same. */
const OTHER_FLAGS: ReadonlyMap<string, string> = new Map([
  ["apikey update --new-name", "--rename"],
  ["apikey rotate --grace-period", "--grace"],
  ["apikey ensure --grace-period", "--grace"],
  ["store copy --to", "--database-url or --data-dir"],
]);

/**
 * Suggests the command's flag that is nearest to the word. If the command is not known, suggests a command that has
 * exactly this flag, followed by the flag. If no command has it, suggests the nearest flag of the program.
 */
function suggestFlag(word: string, command: KnownCommand | undefined, commands: readonly KnownCommand[]): string {
  // The command request takes the same document with this flag.
  if (command?.name === "needs" && word === "--query") {
    return " Write the document without a flag: service-api needs '{ me { id } }'.";
  }
  const meant = OTHER_FLAGS.get(`${command?.name} ${word}`);
  if (meant !== undefined) return ` Did you mean ${meant}?`;
  if (command?.flags.includes("--unused") && /^--(never|not)-?used$/.test(word)) {
    return " --unused 90d includes keys that were never used and were created more than 90 days ago.";
  }
  if (command !== undefined) {
    const subcommand = namesOfSubcommands(command.name, commands).find((name) => word === `--${name}`);
    return subcommand === undefined
      ? didYouMeanFlag(word, ["--help", ...command.flags])
      : ` Did you mean service-api ${command.name} ${subcommand}?`;
  }
  const owner = commands.find(({ flags }) => flags.includes(word));
  if (owner !== undefined) return ` Did you mean service-api ${owner.name} ${word}?`;
  return /^-+v/i.test(word) ? " Did you mean --version?" : didYouMeanFlag(word, ["--help", "--version"]);
}

/** Compares flags without their hyphens, which would make long words look more alike than they are. */
function didYouMeanFlag(word: string, flags: readonly string[]): string {
  if (!word.startsWith("--")) return didYouMean(word, flags);
  return didYouMean(word.slice(2), flags.map((flag) => flag.replace(/^--/, "")), (flag) => `--${flag}`);
}

/** Suggests what a user means by an unknown command. If nothing is near, lists the commands. */
function suggestCommand(word: string, commands: readonly KnownCommand[]): string {
  const names = commands.map(({ name }) => name).filter((name) => !name.includes(" "));
  const meant = meantBy(word, commands);
  return meant === undefined ? `The commands are ${names.join(", ")}.` : `Did you mean service-api ${meant}?`;
}

/** Suggests the command or the topic that a user means by the word after `help`. */
function suggestHelp(word: string, commands: readonly KnownCommand[]): string {
  const topics = TOPICS.map(([name]) => name);
  const meant = nearest(word, ["topics", ...topics, ...commands.map(({ name }) => name)]);
  return meant === undefined ? `The topics are ${topics.join(", ")}.` : `Did you mean service-api help ${meant}?`;
}

/**
 * Returns the command line that a user means by a word: one that does the same as the word in other programs, a command,
 * a command with the word as its flag, a subcommand of `apikey`, or a topic of `help`. If there is none,
 * returns what a similar word in other programs means.
 */
function meantBy(word: string, commands: readonly KnownCommand[]): string | undefined {
  const names = commands.map(({ name }) => name);
  const owner = commands.find(({ flags }) => flags.includes(`--${word}`));
  const subcommand = nearest(word, namesOfSubcommands("apikey", commands));
  const topic = nearest(word, TOPICS.map(([name]) => name));
  return OTHER_NAMES.get(word.toLowerCase()) ??
    nearest(word, ["help", ...names.filter((name) => !name.includes(" "))]) ??
    (owner && `${owner.name} --${word}`) ??
    (subcommand && `apikey ${subcommand}`) ??
    (topic && `help ${topic}`) ??
    OTHER_NAMES.get(nearest(word, [...OTHER_NAMES.keys()]) ?? "");
}

/** Returns the subcommands of a command, without its name. */
function namesOfSubcommands(command: string, commands: readonly KnownCommand[]): readonly string[] {
  return commands.flatMap(({ name }) => name.startsWith(`${command} `) ? [name.slice(command.length + 1)] : []);
}

/** Words that other programs use, with the command line that does the same here. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["ls", "apikey list"],
  ["add", "apikey create"],
  ["new", "apikey create"],
  ["generate", "apikey create"],
  ["rm", "apikey delete"],
  ["remove", "apikey delete"],
  ["revoke", "apikey delete"],
  ["get", "apikey show"],
  ["describe", "apikey show"],
  ["view", "apikey show"],
  ["edit", "apikey update"],
  ["set", "apikey update"],
  ["rename", "apikey update <name> --rename <name>"],
  ["disable", "apikey update <name> --disable"],
  ["enable", "apikey update <name> --enable"],
  ["roll", "apikey rotate"],
  ["renew", "apikey rotate"],
  ["check", "apikey verify"],
  ["whoami", "apikey verify"],
  ["key", "apikey"],
  ["keys", "apikey"],
  ["token", "apikey"],
  ["tokens", "apikey"],
  ["permissions", "needs"],
  ["start", "serve"],
  ["migrate", "store copy"],
  ["logs", "audit"],
  ["settings", "config"],
  ["profile", "config"],
  ["profiles", "config"],
  ["version", "--version"],
]);
