/**
 * The command line: which commands and flags there are, and what their help says. What a command does is in the
 * file of its name; nothing here is decided beyond which of them runs.
 */
import { Command, CommanderError } from "@commander-js/extra-typings";
import deno from "../../deno.json" with { type: "json" };
import { Failure, quote } from "../apikey/failure.ts";
import { nearest } from "../apikey/nearest.ts";
import { ACTIONS, RESOURCES } from "../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../apikey/role.ts";
import { type Ask, askServer } from "./connection.ts";
import { create, type CreateFlags } from "./create.ts";
import { remove } from "./delete.ts";
import { ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import { openLog } from "./log.ts";
import { reportFailure } from "./report.ts";
import { request } from "./request.ts";
import { serve } from "./serve.ts";
import { withServerFlags } from "./server_flags.ts";

/**
 * Runs the program.
 *
 * @returns its exit status; it never rejects and never exits
 */
export async function run(host: Host): Promise<ExitCode> {
  try {
    return await dispatch(host);
  } catch (error) {
    return await reportFailure(error, host);
  }
}

async function dispatch(host: Host): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.OK;
  let help = "";
  const log = await openLog(host);
  log.debug("service-api {version} on {platform}", { version: deno.version, platform: host.platform });
  const program = new Command("service-api")
    .description("Create and delete API keys on a server, by script or by hand.")
    .version(`service-api ${deno.version}`, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showSuggestionAfterError(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => help += text,
      writeErr: (text) => help += text,
      outputError: () => {},
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText("after", PROGRAM_NOTES);

  const apikey = program.command("apikey")
    .summary("create or delete an API key")
    .description("Create or delete an API key.")
    .usage("--create --name <name> [options]\n       service-api apikey --delete --name <name> [options]")
    .optionsGroup("Mode:")
    .option("--create", "create a key and print its secret, once")
    .option("--delete", "delete the keys of a name")
    .optionsGroup("Key:")
    .option("--name <name>", "letters, digits and spaces")
    .option("--roles <roles>", "comma-separated roles")
    .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs")
    .option("--description <desc>", "what the key is for")
    .option("--overwrite", "replace the key of that name, if there is one")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, failures too");
  withServerFlags(apikey)
    .addHelpText("after", APIKEY_NOTES)
    .action(async (flags) => {
      exitCode = await runApikey(flags, host, askServer(flags, host, log));
    });

  const requestCommand = program.command("request")
    .summary("send a GraphQL request with a key")
    .description("POST to {base_url}/graphql with the key as bearer credential, and print the answer.")
    .usage("(--query <text> [--variables <json>] | --body <json>) [options]")
    .optionsGroup("Request:")
    .option("--query <text>", "GraphQL document; @file; -: standard input")
    .option("--variables <json>", "JSON object; @file; -: standard input")
    .option("--body <json>", "JSON to send as it is; @file; -: standard input")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, failures too");
  withServerFlags(requestCommand)
    .addHelpText("after", REQUEST_NOTES)
    .action(async (flags) => {
      exitCode = await request(flags, host, askServer(flags, host, log));
    });

  program.command("serve")
    .summary("put the embedded server on HTTP")
    .description("Serve GraphQL at http://HOST:PORT/graphql until SIGINT or SIGTERM.")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0: any free one", "4000")
    .option("--allow-http", "listen beyond this machine without TLS")
    .option(
      "--data-dir <dir>",
      "where the keys are kept\n[SERVICE_API_DATA_DIR] (default: the platform's data directory)",
    )
    .action(async (flags) => {
      exitCode = await serve(flags, host, log);
    });

  try {
    await program.parseAsync(host.args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) {
      await host.stdout.write(help);
      return ExitCode.OK;
    }
    if (error.code === "commander.help") {
      await host.stderr.write(help);
      return ExitCode.USAGE;
    }
    throw usageFailure(error, program, host);
  }
}

interface ApikeyFlags extends CreateFlags {
  readonly create?: true | undefined;
  readonly delete?: true | undefined;
}

async function runApikey(flags: ApikeyFlags, host: Host, ask: Ask): Promise<ExitCode> {
  if (flags.create && flags.delete) throw new Failure("USAGE", "Give either --create or --delete, not both.");
  if (flags.create) return await create(flags, host, ask);
  if (!flags.delete) throw new Failure("USAGE", "Say what to do: give --create or --delete.");
  const [stray] = (["roles", "permissions", "description", "overwrite"] as const).filter((flag) => flag in flags);
  if (stray !== undefined) throw new Failure("USAGE", `--${stray} goes with --create, not with --delete.`);
  return await remove(flags, host, ask);
}

/** Commander's words for a bad command line, with the nearest right word and a pointer to the help. */
function usageFailure(error: CommanderError, program: Command, host: Host): Failure {
  const commands = program.commands.map((command) => command.name());
  const command = program.commands.find((candidate) => candidate.name() === host.args[0]);
  const help = `See ${["service-api", command?.name(), "--help"].filter((word) => word !== undefined).join(" ")}.`;
  // What follows "=" is left out: it may be a secret.
  const [, kind, typed] = /^error: unknown (option|command) '([^'=]*)/.exec(error.message) ?? [];
  if (kind !== undefined && typed !== undefined) {
    const flags = (command ?? program).options.flatMap(({ long }) => long ?? []);
    const words = kind === "option" ? ["--help", ...flags] as const : ["help", ...commands] as const;
    return new Failure(
      "USAGE",
      `There is no ${kind} ${quote(typed)}; did you mean ${nearest(typed, words)}? ${help}`,
    );
  }
  return new Failure("USAGE", `${error.message.replace(/^error: /, "").replace(/\.+$/, "")}. ${help}`);
}

function wrapped(words: readonly string[]): string {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length > 76) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => `  ${line}`).join("\n");
}

const EXIT_STATUS = `
Exit status: 0 done, 1 refused or failed, 2 usage, 3 not authenticated or not
permitted, 4 server unreachable or not GraphQL, 130 interrupted.`;

const PROGRAM_NOTES = `
Without --base-url the commands work on a store of this machine. LOG_LEVEL=debug
shows what happens, on standard error.
${EXIT_STATUS}`;

const APIKEY_NOTES = `
Roles:
${ROLES.map((role) => `  ${role.padEnd(9)}${ROLE_MEANINGS[role]}`).join("\n")}

Resources:
${wrapped(RESOURCES)}

Actions (_ANY contains _OWN):
${wrapped(ACTIONS)}

Examples:
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  service-api apikey --create --name "ci deploy" --overwrite --json \\
    --permissions DOCKER:READ_ANY,DOCKER:UPDATE_ANY
  service-api apikey --delete --name "ci deploy"
${EXIT_STATUS}`;

const REQUEST_NOTES = `
Examples:
  service-api request --query '{ apiKeys { id name } }'
  service-api request --body '{"provider":"github","clientId":"abc"}'
${EXIT_STATUS}`;
