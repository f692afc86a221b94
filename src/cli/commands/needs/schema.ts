/** Reads the schema of a server: from its introspection, or from a file with SDL or introspection JSON. */
import {
  buildASTSchema,
  buildClientSchema,
  getIntrospectionQuery,
  GraphQLError,
  type GraphQLSchema,
  type IntrospectionQuery,
  parse,
} from "graphql";
import * as z from "zod/mini";
import { Failure, quote, toSentence } from "../../../apikey/failure.ts";
import type { Client } from "../../../client/client.ts";
import { PARSED_JSON } from "../../settings/argument.ts";
import { parseSetting } from "../../settings/schema.ts";
import { readSettingFile } from "../../settings/setting.ts";
import { statesPermissions } from "./stated_permission.ts";

/**
 * Reads a schema from a file.
 *
 * @throws {Failure} `USAGE` if the file is not a schema; `UNSUPPORTED` if the schema states no permissions
 */
export async function readSchema(path: string): Promise<GraphQLSchema> {
  const text = await readSettingFile(path, "--schema");
  const schema = /^\s*\{/.test(text)
    ? fromIntrospection(
      parseSetting({ name: "--schema", value: text }, z.pipe(PARSED_JSON, INTROSPECTION)),
      (reason) => new Failure("USAGE", `--schema is not a valid result of introspection: ${reason}`),
    )
    : fromSdl(text);
  return requireStated(schema, "The schema");
}

/**
 * Asks a server for its schema.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not describe its schema, or states no permissions in it;
 * `BAD_RESPONSE` if the schema is not valid or too large; any failure of the request
 */
export async function fetchSchema(client: Client): Promise<GraphQLSchema> {
  const { body, failure } = await introspect(client);
  if (failure?.code === "FAILED") {
    throw new Failure(
      "UNSUPPORTED",
      `The server does not describe its schema: ${toSentence(failure.message)} ${SCHEMA_REMEDY}`,
      { cause: failure },
    );
  }
  if (failure !== undefined) throw failure;
  if (body.length > MAX_LENGTH) {
    throw new Failure(
      "BAD_RESPONSE",
      `The server's description of its schema has more than ${
        MAX_LENGTH / 1_000_000
      } million characters. If you trust ` +
        "it, save it to a file and run service-api needs with --schema FILE.",
    );
  }
  const invalid = (reason: string): Failure =>
    client.badResponse(`its description of its schema is not valid: ${reason}`);
  const result = z.safeParse(z.pipe(PARSED_JSON, INTROSPECTION), body);
  if (!result.success) throw invalid("it has no member __schema");
  return requireStated(fromIntrospection(result.data, invalid), "The server's schema");
}

/** The schemas of the largest public APIs have less than 10 MB. A longer one could use more memory than the machine has. */
const MAX_LENGTH = 16_000_000;

const SCHEMA_REMEDY =
  "If you have its schema as a file with @usePermissions, run service-api needs with --schema FILE.";

/** Older servers do not know the argument that lists deprecated arguments and input fields. */
async function introspect(client: Client): ReturnType<Client["sendBody"]> {
  const bodies = [{ inputValueDeprecation: true }, {}].map((options) =>
    JSON.stringify({ query: getIntrospectionQuery(options) })
  );
  const [body = "", olderBody = ""] = bodies;
  const response = await client.sendBody(body);
  return response.failure?.code === "FAILED" ? await client.sendBody(olderBody) : response;
}

type IntrospectionSchema = IntrospectionQuery["__schema"];

const DESCRIBED_SCHEMA = z.object({
  /** `buildClientSchema` checks the members. */
  __schema: z.custom<IntrospectionSchema>((value) => typeof value === "object" && value !== null),
});

const INTROSPECTION = z.union([
  DESCRIBED_SCHEMA,
  z.pipe(z.object({ data: DESCRIBED_SCHEMA }), z.transform(({ data }) => data)),
], "has no member __schema. Pass SDL, or the JSON result of an introspection query.");

function fromIntrospection(introspection: IntrospectionQuery, failure: (reason: string) => Failure): GraphQLSchema {
  try {
    return buildClientSchema(introspection, { assumeValid: true });
  } catch (error) {
    throw failure(quote(error instanceof Error ? error.message : String(error)));
  }
}

function fromSdl(text: string): GraphQLSchema {
  try {
    return buildASTSchema(parse(text), { assumeValid: true, assumeValidSDL: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new Failure("USAGE", `--schema${positionOf(error)} is not valid SDL: ${toSentence(error.message)}`);
  }
}

/** The position of an error in a document, in parentheses. Empty if it is not known. */
export function positionOf(error: Error): string {
  const [position] = error instanceof GraphQLError ? error.locations ?? [] : [];
  return position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
}

function requireStated(schema: GraphQLSchema, name: string): GraphQLSchema {
  if (statesPermissions(schema)) return schema;
  throw new Failure(
    "UNSUPPORTED",
    `${name} states no permissions: no field has @usePermissions or a description with "Required Permissions". ` +
      "Choose the permissions yourself: service-api apikey --create --permissions works with every server.",
  );
}
