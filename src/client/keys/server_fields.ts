/** Finds out which fields the schema of a server has. */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, ifAnswered } from "../execute.ts";

const OBJECT_TYPES = ["Query", "Mutation", "ApiKey", "ApiKeyMutations"] as const;
const INPUT_TYPES = ["CreateApiKeyInput", "UpdateApiKeyInput"] as const;

/** A field of one of these types, for example `ApiKey.expiresAt`. */
export type SchemaField = `${typeof OBJECT_TYPES[number] | typeof INPUT_TYPES[number]}.${string}`;

/** The fields that a server has. */
export type ServerFields = ReadonlySet<SchemaField>;

export const SERVER_FIELDS = `query ListServerFields {
  ${
  OBJECT_TYPES.map((type) => `${type}: __type(name: "${type}") { fields(includeDeprecated: true) { name } }`).join(" ")
}
  ${INPUT_TYPES.map((type) => `${type}: __type(name: "${type}") { inputFields { name } }`).join(" ")}
}`;

/** The fields that every server with these keys has. Some servers do not answer introspection. */
const PUBLISHED: ServerFields = new Set<SchemaField>([
  ...["id", "key", "name", "description", "roles", "permissions", "createdAt"].map(
    (name): SchemaField => `ApiKey.${name}`,
  ),
  ...["name", "description", "roles", "permissions", "overwrite"].map(
    (name): SchemaField => `CreateApiKeyInput.${name}`,
  ),
  ...["id", "name", "description", "roles", "permissions"].map((name): SchemaField => `UpdateApiKeyInput.${name}`),
  ...["create", "update", "delete", "addRole", "removeRole"].map((name): SchemaField => `ApiKeyMutations.${name}`),
  ...["apiKeys", "apiKey"].map((name): SchemaField => `Query.${name}`),
]);

/**
 * Asks the server for its fields. If it does not answer introspection, returns the fields of the published schema.
 *
 * Servers of this version of the program have all fields. To save a request, first send a document with all fields, and
 * call this function if the server rejects it.
 */
export async function serverFields(endpoint: Endpoint): Promise<ServerFields> {
  const types = await ifAnswered(() =>
    execute(endpoint, SERVER_FIELDS, {}, () => {
      const names = z.array(z.object({ name: z.string() }));
      const type = z.nullable(z.object({ fields: z.nullish(names), inputFields: z.nullish(names) }));
      return z.object({
        Query: type,
        Mutation: type,
        ApiKey: type,
        ApiKeyMutations: type,
        CreateApiKeyInput: type,
        UpdateApiKeyInput: type,
      });
    })
  );
  if (!types?.Query || !types.ApiKey) return PUBLISHED;
  const fieldsOf = (type: typeof OBJECT_TYPES[number] | typeof INPUT_TYPES[number]): readonly SchemaField[] =>
    (types[type]?.fields ?? types[type]?.inputFields ?? []).map(({ name }): SchemaField => `${type}.${name}`);
  return new Set([...OBJECT_TYPES, ...INPUT_TYPES].flatMap(fieldsOf));
}

/**
 * The failure if a server lacks a field that a command needs.
 *
 * @param alternative what works on that server, in complete sentences
 */
export function unsupported({ label }: Endpoint, field: SchemaField, alternative: string): Failure {
  return new Failure("UNSUPPORTED", `${label} cannot do this: its schema lacks ${field}. ${alternative}`);
}
