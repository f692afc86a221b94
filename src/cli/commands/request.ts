/** `request`: sends a GraphQL request with a key (spec section 4.3). */
import type { Command } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import type { UseClient } from "../connection/connection.ts";
import { withClient } from "../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { reportFailure } from "../report.ts";
import { parseSetting } from "../settings/schema.ts";
import { withServerFlags } from "../settings/server_flags.ts";
import { readSettingFile, readStandardInput } from "../settings/setting.ts";

/** Declares the command. */
export function registerRequest(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "POST a GraphQL request, or any JSON body, to {base_url}/graphql with the key as\n" +
        "bearer credential, and print the body of the response.",
    )
    .usage("(--query <text> | --body <json>) [options]")
    .optionsGroup("Request:")
    .option("--query <text>", "GraphQL document; @file reads a file, - standard\ninput")
    .option("--variables <json>", "variables of the query, a JSON object; @file; -")
    .option("--body <json>", "JSON to send unchanged instead of a query; @file; -")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, also for failures");
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
 * Sends a request and prints the body of the response, with `--json` on one line. If the response is a failure, also
 * reports the failure on standard error; with `--json` prints the failure instead of the body.
 *
 * @throws {Failure} if there is no response
 */
export async function request(flags: RequestFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const body = await readBody(flags, host);
  return await useClient(async (connect) => {
    const { body: answer, failure } = await (await connect()).sendBody(body);
    // JSON has line breaks only between tokens.
    if (!flags.json) await host.stdout.write(answer.endsWith("\n") ? answer : `${answer}\n`);
    else if (failure === undefined) await host.stdout.write(`${answer.trim().replaceAll(/\s*[\r\n]\s*/g, " ")}\n`);
    return failure === undefined ? ExitCode.OK : await reportFailure(failure, host);
  });
}

const JSON_TEXT = z.pipe(
  z.string(),
  z.transform((text: string, { issues }): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      // The rest of the error repeats the text, which may be a secret.
      const [place = ""] = / at position .*$/s.exec(String(error)) ?? [];
      issues.push({ code: "custom", message: `is not valid JSON${place}.`, input: text });
      return z.NEVER;
    }
  }),
);

const JSON_OBJECT = z.pipe(
  JSON_TEXT,
  z.record(z.string(), z.unknown(), 'must be a JSON object, for example {"id":"key_1"}.'),
);

const NOT_BLANK = z.string().check(z.regex(/\S/, "is empty."));

/**
 * Builds the body to post: the text of `--body` unchanged, or the query with its variables.
 *
 * @throws {Failure} `USAGE`
 */
async function readBody(flags: RequestFlags, host: Host): Promise<string> {
  const { query, variables, body } = flags;
  if (body !== undefined) {
    if (query !== undefined) throw new Failure("USAGE", "Use either --query or --body, not both.");
    if (variables !== undefined) throw new Failure("USAGE", "Use --variables with --query, not with --body.");
    const value = await readArgument(body, "--body", host);
    parseSetting({ name: "--body", value }, JSON_TEXT);
    return value;
  }
  if (query === undefined) throw new Failure("USAGE", "Use either --query or --body.");
  const document = parseSetting({ name: "--query", value: await readArgument(query, "--query", host) }, NOT_BLANK);
  if (variables === undefined) return JSON.stringify({ query: document });
  const value = await readArgument(variables, "--variables", host);
  return JSON.stringify({ query: document, variables: parseSetting({ name: "--variables", value }, JSON_OBJECT) });
}

/** `@file` is the content of the file, `-` is standard input, anything else is the value itself. */
async function readArgument(value: string, flag: string, host: Host): Promise<string> {
  if (value.startsWith("@")) return await readSettingFile(value.slice(1), flag);
  return value === "-" ? await readStandardInput(flag, host) : value;
}

const NOTES = `
Results:
  The body of the response is printed as it is; with --json on one line. GraphQL
  errors and HTTP errors are failures: the message is on standard error, or with
  --json {"error","code"} replaces the body.

Examples:
  service-api request --query '{ apiKeys { id name roles createdAt } }'
  service-api request --query '{ me { id name rights { resource actions } } }'
  service-api request --variables '{"id":"key_1"}' \\
    --query 'query($id: PrefixedID!) { apiKey(id: $id) { name } }'
  service-api request --body '{"provider":"github","clientId":"abc"}'
  service-api request --key-header X-API-Key --header 'X-Team: ops' \\
    --body @body.json
${EXIT_STATUS}`;
