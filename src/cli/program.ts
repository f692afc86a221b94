/**
 * The program: finds the requested command, runs it, and turns its result into output and an exit status. Each command
 * has its own module with its flags and behaviour, for example `commands/config.ts`.
 */
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { Failure } from "../apikey/failure.ts";
import { registerApikey, registerCreate, registerDelete } from "./commands/apikey/apikey.ts";
import { isSubcommand, type SubcommandName, SUBCOMMANDS } from "./commands/apikey/subcommands.ts";
import { type CommandContext, isRepeatable, type RegisterCommand } from "./command.ts";
import { ExitCode } from "./exit_code.ts";
import { COMMANDS, FULL_HELP, SHORT_HELP } from "./help/program_help.ts";
import { isTopic } from "./help/topic_names.ts";
import type { Host, Output } from "./host/host.ts";
import { flushWithTimeout, type Log, openLog, SILENT_LOG } from "./host/log.ts";
import { HelpRequest, ProgramCommand, UsageError } from "./program_command.ts";
import { reportFailure } from "./report.ts";
import type { KnownCommand } from "./help/usage_failure.ts";

type CommandName = typeof COMMANDS[number][0];

/** The hidden command that completion scripts run on each Tab, as `service-api __complete -- WORDS…`. */
const COMPLETE = "__complete";

/**
 * Runs the program. Never throws and never ends the process.
 *
 * @returns the exit status
 */
export async function run(host: Host): Promise<ExitCode> {
  if (host.args[0] === COMPLETE) return await printCompletions(host).catch(() => ExitCode.OK);
  let log = SILENT_LOG;
  let logProblem: unknown;
  let exitCode: ExitCode;
  try {
    log = openLog(host);
  } catch (error) {
    logProblem = error;
  }
  try {
    exitCode = await runCommand(host, log, logProblem);
  } catch (error) {
    exitCode = await reportFailure(error, host);
  }
  log.debug("Exit code {exitCode}", { exitCode });
  await flushWithTimeout(log.flush());
  return exitCode;
}

/**
 * @param logProblem why there is no log; prevents the command from running, but neither `--help` nor `--version`
 */
async function runCommand(host: Host, log: Log, logProblem: unknown): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.OK;
  const setExitCode = (code: ExitCode): void => {
    exitCode = code;
  };
  const program = createProgram();
  if (logProblem !== undefined) {
    program.hook("preAction", () => {
      throw logProblem;
    });
  }
  const context: CommandContext = { host, log, setExitCode };
  if (log.isDebug) log.debug((await import("#version")).VERSION);
  const words = withoutHelpCommand(host.args);
  await addCommands(program, words, context);
  program.commands.forEach(rejectRepeatedFlags);
  try {
    if (words[0] === "help") return await printTopic(words[1] ?? "", context);
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof HelpRequest) return await printHelp(error, host);
    if (error instanceof UsageError) {
      const { usageFailure } = await import("#commands");
      throw usageFailure(error, host.args, await listCommands(context));
    }
    if (!(error instanceof CommanderError)) throw error;
    if (error.code !== "commander.version") throw new Failure("USAGE", error.message);
    const { VERSION } = await import("#version");
    await host.stdout.write(`${VERSION}\n`);
    return ExitCode.OK;
  }
}

async function printCompletions(host: Host): Promise<ExitCode> {
  const { complete } = await import("#commands");
  const program = createProgram();
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
  if (!isFirst) program.helpCommand("help [command]", "describe a command or a topic");
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

function createProgram(): Command {
  return new ProgramCommand("service-api")
    .version("", "--version", "print the version")
    .helpOption("-h, --help", "print the help")
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
}

/** Replaces `help` by `--help`, and `help apikey list` by `apikey list --help`. Does not change `help` with a topic. */
function withoutHelpCommand(words: readonly string[]): readonly string[] {
  const [help, name, ...others] = words;
  if (help !== "help") return words;
  if (name === undefined || name === "help" || name.startsWith("-")) return ["--help"];
  return isCommandName(name) ? [name, ...others, "--help"] : words;
}

async function printHelp({ command, isFull, isMistake }: HelpRequest, host: Host): Promise<ExitCode> {
  const output = isMistake ? host.stderr : host.stdout;
  await writeHelp(await formatHelp(command, isFull), output, host);
  return isMistake ? ExitCode.USAGE : ExitCode.OK;
}

async function formatHelp(command: ProgramCommand, isFull: boolean): Promise<string> {
  const path: string[] = [];
  for (let one: CommandUnknownOpts = command; one.parent !== null; one = one.parent) path.unshift(one.name());
  if (path.length === 0) return isFull ? FULL_HELP : SHORT_HELP;
  const { formatFullPage, formatShortPage, readPage } = await import("#help");
  return (isFull ? formatFullPage : formatShortPage)(readPage(command, path.join(" ")));
}

/** @throws {UsageError} if there is no such topic */
async function printTopic(name: string, context: CommandContext): Promise<ExitCode> {
  const { host } = context;
  if (name !== "topics" && !isTopic(name)) throw new UsageError("unknown command", name);
  const { formatTopic, formatTopics, readPage, readTopic } = await import("#help");
  const text = name === "topics" ? formatTopics() : formatTopic(
    await readTopic(name, async (command) => readPage(await describeCommand(command, context), command)),
  );
  await writeHelp(text, host.stdout, host);
  return ExitCode.OK;
}

async function describeCommand(name: CommandName, context: CommandContext): Promise<ProgramCommand> {
  const command = new ProgramCommand(name);
  (await loadCommand(name))(command, context);
  return command;
}

/**
 * Writes a help page, with bold titles if the output supports it. Titles are some words before a colon, and unindented
 * lines that end with a colon.
 */
async function writeHelp(help: string, output: Output, host: Host): Promise<void> {
  if (!output.isTerminal() && host.env("FORCE_COLOR") === undefined) return await output.write(help);
  const { styleFor } = await import("#terminal");
  const { bold } = styleFor(output, host);
  await output.write(help.replaceAll(/^(?:Usage|Commands|Everything else|\S.*(?=:$)|Exit status):/gm, bold));
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

/** A command or a subcommand, for example `apikey list`. */
interface DescribedCommand {
  readonly name: string;
  readonly command: ProgramCommand;
}

/** Returns every command and subcommand with its flags and its help. Adding all flags takes time. */
export async function describeCommands(context: CommandContext): Promise<readonly DescribedCommand[]> {
  const commands = COMMANDS.map(([name]) => ({ name, registering: loadCommand(name) }));
  const subcommands = SUBCOMMANDS.map(([name]) => ({ name: `apikey ${name}`, registering: loadSubcommand(name) }));
  const described = await Promise.all([...commands, ...subcommands].map(async ({ name, registering }) => {
    const command = new ProgramCommand(name);
    (await registering)(command, context);
    const others = command.commands.filter((subcommand) => subcommand instanceof ProgramCommand);
    return [
      { name, command },
      ...others.map((subcommand) => ({ name: `${name} ${subcommand.name()}`, command: subcommand })),
    ];
  }));
  return described.flat();
}

/** Lists the flags of every command, for error messages. */
async function listCommands(context: CommandContext): Promise<readonly KnownCommand[]> {
  const commands = await describeCommands(context);
  return commands.map(({ name, command }) => ({ name, flags: command.options.flatMap(({ long }) => long ?? []) }));
}
