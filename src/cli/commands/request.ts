/** `request`: sends a GraphQL request with a key (spec section 4.3). */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import type { UseClient } from "../connection/connection.ts";
import { withClient } from "../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { unlessInterrupted } from "../host/interrupt.ts";
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
 * Sends a request and prints the response body, at a terminal indented and coloured. If the response is a failure, also
 * prints a message on standard error.
 * With `--json`, prints one line on standard output: the response body, or `{"error","code"}` if it is a failure.
 *
 * @throws {Failure} `USAGE` if a flag is missing or invalid; other codes if there is no response; `FAILED` or
 * `INTERRUPTED` if the response was not printed completely
 */
export async function request(flags: RequestFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const body = await readBody(flags, host);
  return await useClient(async (connect, interrupted) => {
    const { body: answer, isJson, failure } = await (await connect()).sendBody(body);
    if (!flags.json) await print(await formatBody(answer, isJson, host), interrupted, host);
    else if (failure === undefined) await print(inOneLine(answer, host), interrupted, host);
    return failure === undefined ? ExitCode.OK : await reportFailure(failure, host);
  });
}

/** The body in pieces. At a terminal, JSON is indented and coloured. */
async function formatBody(body: string, isJson: boolean, host: Host): Promise<Iterable<string>> {
  if (!isJson || !host.stdout.isTerminal()) return inPieces(body, host);
  const { indentJson, styleFor } = await import("#terminal");
  const { cyan, dim, green, yellow } = styleFor(host.stdout, host);
  const paints = {
    name: cyan,
    string: green,
    literal: (text: string) => text === "null" ? dim(text) : yellow(text),
  };
  return function* (): Generator<string> {
    for (const { kind, text } of indentJson(body)) {
      if (kind === "other") yield text;
      else if (text.length <= PIECE) yield paints[kind](escapeInJson(text));
      else for (const piece of inPieces(text, host)) yield paints[kind](piece);
    }
  }();
}

/** The pieces of JSON on one line. JSON has line breaks only between tokens, so joining the lines changes no string. */
function* inOneLine(json: string, host: Host): Generator<string> {
  const text = json.trim();
  let start = 0;
  for (const { 0: lineBreak, index } of text.matchAll(/\s*[\r\n]\s*/g)) {
    yield* inPieces(text.slice(start, index), host);
    yield " ";
    start = index + lineBreak.length;
  }
  yield* inPieces(text.slice(start), host);
}

/**
 * Text from the server in pieces. A terminal would obey control characters and reorder the line, so they are escaped
 * there. Any other reader receives the text unchanged.
 */
function* inPieces(text: string, host: Host): Generator<string> {
  for (let start = 0; start < text.length;) {
    const end = start + PIECE;
    // A piece must not end within a character or a line break.
    const piece = text.slice(start, /[\r\ud800-\udbff]/.test(text[end - 1] ?? "") ? end + 1 : end);
    start += piece.length;
    yield host.stdout.isTerminal() ? escapeInJson(piece.replaceAll("\r\n", "\n")) : piece;
  }
}

/** The length of a piece, in UTF-16 code units. A response can be too large to have a second copy of it in memory. */
const PIECE = 65_536;

/** Writes a text that is in pieces, and a line feed if the text does not end with one. */
async function print(pieces: Iterable<string>, interrupted: AbortSignal, host: Host): Promise<void> {
  let waiting = "";
  const write = async (text: string): Promise<void> => {
    // The reader of a pipe can stop reading without closing it.
    await unlessInterrupted(host.stdout.write(text), PARTLY_PRINTED, host);
    if (interrupted.aborted) throw new Failure("INTERRUPTED", PARTLY_PRINTED);
  };
  for (const piece of pieces) {
    if (waiting.length + piece.length > PIECE) {
      // deno-lint-ignore no-await-in-loop -- one piece after the other
      await write(waiting);
      waiting = "";
    }
    waiting += piece;
  }
  await write(waiting.endsWith("\n") ? waiting : `${waiting}\n`);
}

const PARTLY_PRINTED = "Interrupted while printing the response. The server has already answered the request.";

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
  indents and colours JSON, and writes control characters and other invisible
  characters as \\uXXXX. GraphQL errors and HTTP errors are failures: for these,
  it also prints a message on standard error.
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
