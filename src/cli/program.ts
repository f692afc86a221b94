/**
 * The program: finds the command that is asked for, lets it run, and turns whatever comes of it into output and
 * an exit status. What the commands are called with and what they do is in the files of their names.
 */
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { Failure } from "../apikey/failure.ts";
import { registerApikey } from "./commands/apikey/apikey.ts";
import { isRepeatable, type RegisterCommand, type Session } from "./command.ts";
import { EXIT_STATUS, ExitCode } from "./exit_code.ts";
import type { Host, Output } from "./host/host.ts";
import { flushWithTimeout, type Log, openLog, SILENT_LOG } from "./host/log.ts";
import { reportFailure } from "./report.ts";
import type { KnownCommand } from "./usage_failure.ts";

/** The commands, and what the list of them says of each. */
const COMMANDS = [
  ["apikey", "create or delete API keys"],
  ["request", "send a GraphQL request with a key"],
  ["serve", "run the embedded server on HTTP"],
  ["audit", "print who created and deleted which key"],
  ["config", "print the settings in force and where they come from"],
  ["login", "store the key for a server"],
  ["logout", "remove the key that login stored"],
  ["completions", "print the script with which a shell completes"],
] as const;

type CommandName = typeof COMMANDS[number][0];

/** What the scripts of `completions` call at each Tab, as `service-api __complete -- WORDS…`; no help shows it. */
const COMPLETE = "__complete";

/** The help of the program: commander would take longer to put it together than the whole of `--version` takes. */
const HELP = `Usage: service-api [options] [command]

Create and delete API keys on a server, by script or by hand.

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

Without --base-url or a profile the commands work on a store of this machine.
LOG_LEVEL=debug shows what happens, on standard error.
${EXIT_STATUS}
`;

/**
 * Runs the program.
 *
 * @returns its exit status; it never rejects and never exits
 */
export async function run(host: Host): Promise<ExitCode> {
  if (host.args[0] === COMPLETE) return await answerTab(host).catch(() => ExitCode.OK);
  const log = await openLog(host);
  try {
    return await dispatch(host, log);
  } catch (error) {
    return await reportFailure(error, host);
  } finally {
    await flushWithTimeout(log.flush());
  }
}

async function dispatch(host: Host, log: Log): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.OK;
  const setExitCode = (code: ExitCode): void => {
    exitCode = code;
  };
  let help = "";
  const program = createProgram((text) => help += text);
  const session: Session = { host, log, setExitCode };
  await addCommands(program, session);
  program.commands.forEach(refuseRepetition);
  try {
    requireCommand(host.args);
    await program.parseAsync(host.args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.version") {
      const { VERSION } = await import("#version");
      await host.stdout.write(`${VERSION}\n`);
      return ExitCode.OK;
    }
    const isHelp = error.exitCode === 0;
    if (!isHelp && error.code !== "commander.help") {
      const { usageFailure } = await import("#commands");
      throw usageFailure(error, host.args, await knownCommands(session));
    }
    const output = isHelp ? host.stdout : host.stderr;
    await output.write(await withBoldTitles(help, output, host));
    return isHelp ? ExitCode.OK : ExitCode.USAGE;
  }
}

async function answerTab(host: Host): Promise<ExitCode> {
  const { complete } = await import("#commands");
  const program = createProgram(() => {});
  await addCommands(program, { host, log: SILENT_LOG, setExitCode: () => {} });
  await complete(host.args.slice(host.args[1] === "--" ? 2 : 1), program, host);
  return ExitCode.OK;
}

/** Adds the command that is asked for with its flags, and, unless that comes first, every other by its name. */
async function addCommands(program: Command, session: Session): Promise<void> {
  const { args } = session.host;
  const asked = args.find(isCommandName);
  const define = asked && await loadDefinition(asked);
  const isFirst = asked !== undefined && asked === args[0];
  for (const [name, summary] of COMMANDS.filter(([name]) => !isFirst || name === asked)) {
    const command = new Command(name).copyInheritedSettings(program).summary(summary);
    if (name === asked) define?.(command, session);
    program.addCommand(command);
  }
  if (!isFirst) program.helpCommand("help [command]", "print the help of a command");
  // Last, since commands inherit what is configured before.
  program.configureHelp({ formatHelp: () => HELP });
}

function isCommandName(word: string): word is CommandName {
  return COMMANDS.some(([name]) => name === word);
}

async function loadDefinition(name: CommandName): Promise<RegisterCommand> {
  return name === "apikey" ? registerApikey : (await import("#commands")).DEFINITIONS[name];
}

function createProgram(write: (text: string) => void): Command {
  return new Command("service-api")
    .version("", "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .showSuggestionAfterError(false)
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

/** Commander answers `help` of what is no command with the help of the program. */
function requireCommand([word, name]: readonly string[]): void {
  if (word !== "help" || name === undefined || name.startsWith("-") || name === "help" || isCommandName(name)) return;
  throw new CommanderError(1, "commander.unknownCommand", `error: unknown command '${name}'`);
}

/** A help as it is drawn at a terminal: its titles are the lines that end with a colon and are not indented. */
async function withBoldTitles(help: string, output: Output, host: Host): Promise<string> {
  if (!output.isTerminal() && host.env("FORCE_COLOR") === undefined) return help;
  const { styleFor } = await import("#terminal");
  const { bold } = styleFor(output, host);
  return help.replaceAll(/^(?:Usage|\S.*(?=:$)|Exit status):/gm, bold);
}

/** Of two values for one flag nobody can know which is meant, so none is dropped in silence. */
function refuseRepetition(command: CommandUnknownOpts): void {
  for (const option of command.options.filter((option) => option.required && !isRepeatable(option))) {
    let isGiven = false;
    option.argParser((value) => {
      if (isGiven) throw new Failure("USAGE", `${option.long} is given twice. Give it once; lists take commas.`);
      isGiven = true;
      return value;
    });
  }
}

/** Every command with its flags: declaring them takes time, which only a mistake is worth. */
async function knownCommands(session: Session): Promise<readonly KnownCommand[]> {
  return await Promise.all(COMMANDS.map(async ([name]) => {
    const command = new Command(name);
    (await loadDefinition(name))(command, session);
    return { name, flags: command.options.flatMap(({ long }) => long ?? []) };
  }));
}
