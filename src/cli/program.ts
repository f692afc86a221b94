/**
 * The program: finds the requested command, runs it, and turns its result into output and an exit status. Each command
 * has its own module with its flags and behaviour, for example `commands/login.ts`.
 */
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { Failure } from "../apikey/failure.ts";
import { registerApikey, registerCreate, registerDelete } from "./commands/apikey/apikey.ts";
import { isSubcommand, type SubcommandName, SUBCOMMANDS } from "./commands/apikey/subcommands.ts";
import { type CommandContext, isRepeatable, type RegisterCommand } from "./command.ts";
import { EXIT_STATUS_WITH_CODES, ExitCode } from "./exit_code.ts";
import type { Host, Output } from "./host/host.ts";
import { flushWithTimeout, type Log, openLog, SILENT_LOG } from "./host/log.ts";
import { ProgramCommand, UsageError } from "./program_command.ts";
import { reportFailure } from "./report.ts";
import type { KnownCommand } from "./usage_failure.ts";

/** The commands and their one-line summaries. */
export const COMMANDS = [
  ["apikey", "create, list, change, rotate and delete API keys"],
  ["request", "send a GraphQL request with a key"],
  ["needs", "print the permissions that a GraphQL document needs"],
  ["resource", "add, list and remove resources for permissions"],
  ["serve", "run the embedded server on HTTP"],
  ["audit", "print the audit trail of key changes"],
  ["config", "print the settings in effect and their sources"],
  ["login", "store a server and its key as a profile"],
  ["logout", "remove the key that login stored"],
  ["completions", "print a shell's completion script"],
] as const;

type CommandName = typeof COMMANDS[number][0];

/** The hidden command that completion scripts run on each Tab, as `service-api __complete -- WORDS…`. */
const COMPLETE = "__complete";

/**
 * The help page of the program. It is a constant, because commander would need more time to format it than a whole run
 * of `--version` takes.
 */
const HELP = `Usage: service-api [options] [command]

Create, list, change, rotate and delete API keys on a server over GraphQL, from
scripts or interactively.

Options:
  --version       print the version
  -h, --help      print this help

Commands:
${COMMANDS.map(([name, summary]) => `  ${name.padEnd(14)}  ${summary}`).join("\n")}
  help [command]  print the help of a command

Examples:
  service-api apikey
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  service-api login

Unless --base-url, SERVICE_API_URL or the profile selects another server,
commands use the embedded server, which is part of this program. It keeps keys
in a file on this machine or in a PostgreSQL database.
service-api config --help describes the settings and the config file.
LOG_LEVEL=debug writes debug logs to standard error.
${EXIT_STATUS_WITH_CODES}
`;

/**
 * Runs the program. Never throws and never ends the process.
 *
 * @returns the exit status
 */
export async function run(host: Host): Promise<ExitCode> {
  if (host.args[0] === COMPLETE) return await printCompletions(host).catch(() => ExitCode.OK);
  let log = SILENT_LOG;
  let exitCode: ExitCode;
  try {
    log = openLog(host);
    exitCode = await runCommand(host, log);
  } catch (error) {
    exitCode = await reportFailure(error, host);
  }
  log.debug("Exit code {exitCode}", { exitCode });
  await flushWithTimeout(log.flush());
  return exitCode;
}

async function runCommand(host: Host, log: Log): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.OK;
  const setExitCode = (code: ExitCode): void => {
    exitCode = code;
  };
  let help = "";
  const program = createProgram((text) => help += text);
  const context: CommandContext = { host, log, setExitCode };
  if (log.isDebug) log.debug((await import("#version")).VERSION);
  await addCommands(program, host.args, context);
  program.commands.forEach(rejectRepeatedFlags);
  try {
    requireKnownCommand(host.args);
    await program.parseAsync(withoutHelpCommand(host.args), { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof UsageError) {
      const { usageFailure } = await import("#commands");
      throw usageFailure(error, host.args, await listCommands(context));
    }
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.version") {
      const { VERSION } = await import("#version");
      await host.stdout.write(`${VERSION}\n`);
      return ExitCode.OK;
    }
    const isRequested = error.exitCode === 0;
    if (!isRequested && error.code !== "commander.help") throw new Failure("USAGE", error.message);
    const output = isRequested ? host.stdout : host.stderr;
    await output.write(await withBoldTitles(help, output, host));
    return isRequested ? ExitCode.OK : ExitCode.USAGE;
  }
}

async function printCompletions(host: Host): Promise<ExitCode> {
  const { complete } = await import("#commands");
  const program = createProgram(() => {});
  const words = host.args.slice(host.args[1] === "--" ? 2 : 1);
  // The last word is not finished yet.
  await addCommands(program, words.slice(0, -1), { host, log: SILENT_LOG, setExitCode: () => {} });
  await complete(words, program, host);
  return ExitCode.OK;
}

/**
 * Adds the requested command with its flags. If the first word is not a command, also adds the others, without flags.
 *
 * @param words the words after the program's name
 */
async function addCommands(program: Command, words: readonly string[], context: CommandContext): Promise<void> {
  const requested = words.find(isCommandName);
  const register = requested && await loadCommand(requested, words[words.indexOf(requested) + 1]);
  const isFirst = requested !== undefined && requested === words[0];
  for (const [name, summary] of COMMANDS.filter(([name]) => !isFirst || name === requested)) {
    const command = new ProgramCommand(name).copyInheritedSettings(program).summary(summary);
    if (name === requested) register?.(command, context);
    program.addCommand(command);
  }
  if (!isFirst) program.helpCommand("help [command]", "print the help of a command");
  // Set last, because otherwise the commands would inherit it.
  program.configureHelp({ formatHelp: () => HELP });
}

function isCommandName(word: string): word is CommandName {
  return COMMANDS.some(([name]) => name === word);
}

/** @param next the word after the name; if it is a subcommand, only the subcommand gets flags */
async function loadCommand(name: CommandName, next?: string): Promise<RegisterCommand> {
  if (name !== "apikey") return (await import("#commands")).COMMANDS[name];
  if (!isSubcommand(next)) return registerApikey;
  const register = await loadSubcommand(next);
  return (command, context) => {
    const subcommand = new ProgramCommand(next).copyInheritedSettings(command);
    register(subcommand, context);
    command.addCommand(subcommand);
  };
}

async function loadSubcommand(name: SubcommandName): Promise<RegisterCommand> {
  if (name === "create") return registerCreate;
  if (name === "delete") return registerDelete;
  return (await import("#lifecycle")).LIFECYCLE_COMMANDS[name];
}

function createProgram(write: (text: string) => void): Command {
  return new ProgramCommand("service-api")
    .version("", "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .exitOverride()
    .configureOutput({
      writeOut: write,
      writeErr: write,
      outputError: () => {},
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
}

/** Rejects `help` with an unknown command. Commander would print the help page of the program instead. */
function requireKnownCommand([word, name]: readonly string[]): void {
  if (word !== "help" || name === undefined || name.startsWith("-") || name === "help" || isCommandName(name)) return;
  throw new UsageError("unknown command", name);
}

/** Replaces `help apikey list` by `apikey list --help`, because commander's `help` knows no subcommands. */
function withoutHelpCommand(args: readonly string[]): readonly string[] {
  const [help, command, subcommand] = args;
  if (help !== "help" || command === undefined || subcommand === undefined) return args;
  return [command, subcommand, "--help"];
}

/**
 * Makes the titles of a help page bold if the output supports it. Titles are `Usage`, `Exit status`, and unindented
 * lines that end with a colon.
 */
async function withBoldTitles(help: string, output: Output, host: Host): Promise<string> {
  if (!output.isTerminal() && host.env("FORCE_COLOR") === undefined) return help;
  const { styleFor } = await import("#terminal");
  const { bold } = styleFor(output, host);
  return help.replaceAll(/^(?:Usage|\S.*(?=:$)|Exit status):/gm, bold);
}

/** Rejects the second use of a flag that takes one value. Commander would silently use the last value. */
function rejectRepeatedFlags(command: CommandUnknownOpts): void {
  command.commands.forEach(rejectRepeatedFlags);
  for (const option of command.options.filter((option) => option.required && !isRepeatable(option))) {
    let isGiven = false;
    option.argParser((value) => {
      if (isGiven) {
        throw new Failure("USAGE", `${option.long} was given twice. Use it only once.`);
      }
      isGiven = true;
      return value;
    });
  }
}

/**
 * Lists every command and subcommand with its flags. Call it only for error messages, because adding all flags takes
 * time.
 */
async function listCommands(context: CommandContext): Promise<readonly KnownCommand[]> {
  const commands = COMMANDS.map(([name]) => ({ name, registering: loadCommand(name) }));
  const subcommands = SUBCOMMANDS.map(([name]) => ({ name: `apikey ${name}`, registering: loadSubcommand(name) }));
  const registered = await Promise.all([...commands, ...subcommands].map(async ({ name, registering }) => {
    const command = new Command(name);
    (await registering)(command, context);
    return [
      { name, command },
      ...command.commands.map((subcommand) => ({ name: `${name} ${subcommand.name()}`, command: subcommand })),
    ];
  }));
  return registered.flat().map(({ name, command }) => ({
    name,
    flags: command.options.flatMap(({ long }) => long ?? []),
  }));
}
