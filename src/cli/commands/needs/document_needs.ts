/**
 * Runs `needs` and `apikey --create --permissions-for`. The program loads this module on demand, because it contains the
 * parser and the validation of graphql.
 */
import {
  type DocumentNode,
  FieldsOnCorrectTypeRule,
  GraphQLError,
  type GraphQLSchema,
  isUnionType,
  parse,
  specifiedRules,
  validate,
  type ValidationRule,
} from "graphql";
import { Failure, quote, toSentence } from "../../../apikey/failure.ts";
import { didYouMean } from "../../../apikey/nearest.ts";
import { shellWord } from "../../../apikey/shell_word.ts";
import type { NamedPermission } from "../../../apikey/permission.ts";
import type { Client } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { writeNotes } from "../../host/notes.ts";
import { writeJson } from "../../report.ts";
import { GRAPHQL_TEXT, JSON_OBJECT, readArgument } from "../../settings/argument.ts";
import { parseSetting } from "../../settings/schema.ts";
import { findNeeds, type Needs } from "./find_needs.ts";
import type { Variables } from "./key_input.ts";
import { fetchSchema, positionOf, readSchema } from "./schema.ts";

/** The flags of `needs`, as typed. */
export interface NeedsFlags {
  readonly schema?: string | undefined;
  readonly variables?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Prints the permissions that a document needs, one per line, or as JSON. Writes notes to standard error.
 *
 * @param typed the document, `@file`, or `-`
 * @throws {Failure} `USAGE` if the document is not valid for the schema; `UNSUPPORTED` if the schema states no permissions
 */
export async function printNeeds(
  typed: string,
  flags: NeedsFlags,
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const document = await readDocument(typed, "DOCUMENT", host);
  const variables = flags.variables === undefined ? {} : parseSetting(
    { name: "--variables", value: await readArgument(flags.variables, "--variables", host) },
    JSON_OBJECT,
  );
  const needs = flags.schema === undefined
    ? await useClient(async (connect, _interrupted, { describeServer }) => {
      const hint = ` This is the schema of ${describeServer()}. To use another schema, add --schema FILE.`;
      return needsOf(document, "DOCUMENT", await fetchSchema(await connect()), variables, hint);
    })
    : needsOf(document, "DOCUMENT", await readSchema(flags.schema), variables);
  await writeNotes(notesOn(needs), host);
  const { permissions, unstated } = needs;
  if (flags.json) await writeJson(host.stdout, { permissions, unstated });
  else await host.stdout.write(permissions.map((permission) => `${permission}\n`).join(""));
  return ExitCode.OK;
}

/**
 * Finds the permissions that a document needs on a server, and writes notes to standard error.
 *
 * @param typed the value of `--permissions-for`
 * @throws {Failure} as `printNeeds` does
 */
export async function permissionsFor(
  typed: string,
  host: Host,
  connect: () => Promise<Client>,
): Promise<readonly NamedPermission[]> {
  const document = await readDocument(typed, "--permissions-for", host);
  const schema = await fetchSchema(await connect());
  const needs = needsOf(document, "--permissions-for", schema, {});
  await writeNotes(notesOn(needs), host);
  return needs.permissions;
}

async function readDocument(typed: string, name: string, host: Host): Promise<DocumentNode> {
  const text = parseSetting({ name, value: await readArgument(typed, name, host) }, GRAPHQL_TEXT);
  try {
    return refusingDeepDocuments(name, () => parse(text));
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    throw invalidDocument(error, name, await isFile(typed) ? ` Did you mean @${shellWord(typed)}?` : "");
  }
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then(({ isFile }) => isFile, () => false);
}

/** @param hint a sentence after a space, for the message if the document is not valid for the schema */
function needsOf(
  document: DocumentNode,
  name: string,
  schema: GraphQLSchema,
  variables: Variables,
  hint = "",
): Needs {
  return refusingDeepDocuments(name, () => {
    const [error] = validate(schema, document, VALIDATION_RULES);
    if (error !== undefined) throw invalidDocument(error, name, hint);
    return findNeeds(document, schema, variables);
  });
}

function invalidDocument(error: GraphQLError, name: string, hint: string): Failure {
  return new Failure("USAGE", `${name}${positionOf(error)} is not valid: ${toSentence(error.message)}${hint}`);
}

/** graphql-js runs out of stack if the brackets of a document are nested too deeply. */
function refusingDeepDocuments<Result>(name: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Failure("USAGE", `${name} has too many levels of brackets.`, { cause: error });
  }
}

/**
 * Requires the types of operations, which graphql-js does not, and fields. Names the nearest field, or if none is near,
 * the first fields.
 */
const selectionsExist: ValidationRule = (context) => ({
  OperationDefinition: (node) => {
    if (context.getSchema().getRootType(node.operation)) return;
    context.reportError(new GraphQLError(`The schema has no ${node.operation} type.`, { nodes: node }));
  },
  Field: (node) => {
    const type = context.getParentType();
    if (!type || context.getFieldDef()) return;
    const fields = isUnionType(type) ? [] : Object.keys(type.getFields());
    const advice = fields.length === 0
      ? ` Select the fields of one of its types, with ... on TYPE { ${node.name.value} }.`
      : didYouMean(node.name.value, fields) || ` Some of its fields: ${fields.slice(0, SHOWN_FIELDS).join(", ")}.`;
    const problem = `The type ${type.name} has no field ${quote(node.name.value)}.`;
    context.reportError(new GraphQLError(`${problem}${advice}`, { nodes: node }));
  },
});

/** How many fields a message lists if none is near. */
const SHOWN_FIELDS = 10;

const VALIDATION_RULES = [selectionsExist, ...specifiedRules.filter((rule) => rule !== FieldsOnCorrectTypeRule)];

function notesOn({ unstated, grants, unknownVariables }: Needs): readonly string[] {
  const variables = unknownVariables.map((name) => `$${name}`).join(", ");
  return [
    unstated === 0
      ? ""
      : unstated === 1
      ? "For 1 field, the schema states no permission. It may need one, or only a valid key."
      : `For ${unstated} fields, the schema states no permission. They may need one, or only a valid key.`,
    grants.length === 0
      ? ""
      : `The document grants rights to keys: ${grants.join(", ")}. The key that sends it may need these rights too.`,
    variables === ""
      ? ""
      : `No value is known for ${variables}. Depending on the value, the document may also need API_KEY:DELETE_ANY, or ` +
        "grant rights to keys. To pass values, run service-api needs with --variables.",
  ].filter((note) => note !== "");
}
