/** `request`: a GraphQL request with a key (spec section 4.3). */
import type { Command } from "@commander-js/extra-typings";
import { Failure, reasonOf } from "../../apikey/failure.ts";
import type { Session } from "../command.ts";
import { type WithClient, withClient } from "../connection/connection.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { reportFailure } from "../report.ts";
import { withServerFlags } from "../settings/server_flags.ts";
import { readSettingFile, readStandardInput } from "../settings/setting.ts";

/** Declares the command. */
export function registerRequest(command: Command, { host, log, setExitCode }: Session): void {
  const withOwnFlags = command
    .description("POST to {base_url}/graphql with the key as bearer credential, and print the answer.")
    .usage("(--query <text> | --body <json>) [options]")
    .optionsGroup("Request:")
    .option("--query <text>", "GraphQL document; @file; -: standard input")
    .option("--variables <json>", "JSON object; @file; -: standard input")
    .option("--body <json>", "JSON to send as it is; @file; -: standard input")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, failures too");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await request(flags, host, withClient(flags, host, log))));
}

/** The flags of the command, as they were typed. */
export interface RequestFlags {
  readonly query?: string | undefined;
  readonly variables?: string | undefined;
  readonly body?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Sends a request and prints the body of the answer: as it came, or with `--json` as one line. A failure that
 * the server reports is told besides, on standard error; with `--json` it is told instead.
 *
 * @throws {Failure} when there is no answer
 */
export async function request(flags: RequestFlags, host: Host, ask: WithClient): Promise<ExitCode> {
  const body = await decideBody(flags, host);
  return await ask(async (connect) => {
    const { body: answer, failure } = await (await connect()).send(body);
    // A JSON text has line breaks between its tokens only.
    if (!flags.json) await host.stdout.write(answer.endsWith("\n") ? answer : `${answer}\n`);
    else if (failure === undefined) await host.stdout.write(`${answer.trim().replaceAll(/\s*[\r\n]\s*/g, " ")}\n`);
    return failure === undefined ? ExitCode.OK : await reportFailure(failure, host);
  });
}

/**
 * Turns the flags into the body to post: the JSON of `--body` to the letter, or the query and its variables.
 *
 * @throws {Failure} `USAGE`
 */
async function decideBody(flags: RequestFlags, host: Host): Promise<string> {
  const { query, variables, body } = flags;
  if ((query === undefined) === (body === undefined)) {
    throw new Failure("USAGE", "A request needs either --query or --body, and not both.");
  }
  if (body !== undefined) {
    if (variables !== undefined) throw new Failure("USAGE", "--variables goes with --query, not with --body.");
    const text = await readArgument(body, "--body", host);
    parseJsonArgument(text, "--body");
    return text;
  }
  const document = await readArgument(query ?? "", "--query", host);
  if (document.trim() === "") throw new Failure("USAGE", "--query is empty.");
  if (variables === undefined) return JSON.stringify({ query: document });
  const values = parseJsonArgument(await readArgument(variables, "--variables", host), "--variables");
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new Failure("USAGE", '--variables takes a JSON object, such as {"id":"key_1"}.');
  }
  return JSON.stringify({ query: document, variables: values });
}

/** `@file` is the content of the file, `-` standard input, anything else itself. */
async function readArgument(value: string, flag: string, host: Host): Promise<string> {
  if (value.startsWith("@")) return await readSettingFile(value.slice(1), flag);
  return value === "-" ? await readStandardInput(flag, host) : value;
}

function parseJsonArgument(text: string, flag: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure("USAGE", `${flag} is not JSON: ${reasonOf(error)}.`);
  }
}

const NOTES = `
Examples:
  service-api request --query '{ apiKeys { id name } }'
  service-api request --body '{"provider":"github","clientId":"abc"}'
${EXIT_STATUS}`;
