/** `request`: sends a GraphQL request with a key (spec section 4.3). */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import type { UseClient } from "../connection/connection.ts";
import { withClient } from "../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { escapeInJson, reportFailure } from "../report.ts";
import { GRAPHQL_TEXT, JSON_OBJECT, PARSED_JSON, readArgument } from "../settings/argument.ts";
import { parseSetting } from "../settings/schema.ts";
import { withServerFlags } from "../settings/server_flags.ts";

/** Registers the command. */
export function registerRequest(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "Send a GraphQL request, or any JSON body, to {base_url}/graphql and print the\nresponse body.",
    )
    .usage("(--query <text> | --body <json>) [options]")
    .optionsGroup("Request:")
    .option("--query <text>", "GraphQL document, @file, or - for standard input")
    .option("--variables <json>", "JSON object with the variables of the query, @file, or - for standard input")
    .option("--body <json>", "JSON body to send unchanged, @file, or - for standard input")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await request(flags, host, withClient(flags, host, log))));
}

/** The flags of the command, as typed. */
export interface RequestFlags {
  readonly query?: string | undefined;
  readonly variables?: string | undefined;
  readonly body?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Sends a request and prints the response body, at a terminal indented. If the response is a failure, also prints a
 * message on standard error.
 * With `--json`, prints one line on standard output: the response body, or `{"error","code"}` if it is a failure.
 *
 * @throws {Failure} `USAGE` if a flag is missing or invalid; other codes if there is no response
 */
export async function request(flags: RequestFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const body = await readBody(flags, host);
  return await useClient(async (connect) => {
    const { body: answer, isJson, failure } = await (await connect()).sendBody(body);
    if (!flags.json) await printBody(answer, isJson, host);
    // JSON has line breaks only between tokens, so joining the lines changes no string.
    else if (failure === undefined) await printText(answer.trim().replaceAll(/\s*[\r\n]\s*/g, " "), host);
    return failure === undefined ? ExitCode.OK : await reportFailure(failure, host);
  });
}

async function printBody(body: string, isJson: boolean, host: Host): Promise<void> {
  if (!host.stdout.isTerminal() || !isJson) return await printText(body, host);
  const { indentJson } = await import("#terminal");
  await printText(indentJson(body), host);
}

/**
 * Prints text from the server. A terminal would obey control characters and reorder the line, so they are escaped
 * there. Any other reader receives the text unchanged.
 */
async function printText(text: string, host: Host): Promise<void> {
  const shown = host.stdout.isTerminal() ? escapeInJson(text.replaceAll("\r\n", "\n")) : text;
  await host.stdout.write(shown.endsWith("\n") ? shown : `${shown}\n`);
}

/**
 * Builds the request body: the value of `--body` unchanged, or the query and its variables as JSON.
 *
 * @throws {Failure} `USAGE`; `INTERRUPTED` while reading standard input
 */
async function readBody(flags: RequestFlags, host: Host): Promise<string> {
  const { query, variables, body } = flags;
  if (body !== undefined) {
    if (query !== undefined) throw new Failure("USAGE", "--query and --body cannot be combined. Use one of them.");
    if (variables !== undefined) throw new Failure("USAGE", "--variables works only with --query, not with --body.");
    const value = await readArgument(body, "--body", host);
    parseSetting({ name: "--body", value }, PARSED_JSON);
    return value;
  }
  if (query === undefined) throw new Failure("USAGE", "Missing request. Use --query or --body.");
  const document = parseSetting({ name: "--query", value: await readArgument(query, "--query", host) }, GRAPHQL_TEXT);
  if (variables === undefined) return JSON.stringify({ query: document });
  const value = await readArgument(variables, "--variables", host);
  return JSON.stringify({ query: document, variables: parseSetting({ name: "--variables", value }, JSON_OBJECT) });
}

const NOTES = `
Results:
  Without --json, request prints the response body unchanged. At a terminal, it
  indents JSON, and writes control characters and other invisible characters as
  \\uXXXX. GraphQL errors and HTTP errors are failures: for these, it also prints
  a message on standard error.
  With --json, request prints one line on standard output: the response body, or
  {"error","code"} on failure.

Examples:
  service-api request --query '{ apiKeys { id name roles createdAt } }'
  service-api request --query '{ me { id name rights { resource actions } } }'
  service-api request --variables '{"id":"key_1"}' \\
    --query 'query($id: PrefixedID!) { apiKey(id: $id) { name } }'
  service-api request --body '{"provider":"github","clientId":"abc"}'
  service-api request --key-header X-API-Key --header 'X-Team: ops' \\
    --body @body.json
${EXIT_STATUS}`;
