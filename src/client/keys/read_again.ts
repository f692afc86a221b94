/** Reads keys again, to see whether they have changed. */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { type ApiKey, type KeyField, type KeyInResponse, keyInResponse, selectFields, toApiKey } from "./api_key.ts";
import { readKeys } from "./read_keys.ts";

/**
 * Reads keys by their ids, in one request if the server can. Otherwise, lists all keys.
 *
 * @param ids at most 100, because the embedded server limits the number of aliases
 * @param fields fields that the server has
 * @returns the keys that still exist, in no particular order
 */
export async function readAgain(
  endpoint: Endpoint,
  ids: readonly string[],
  fields: readonly KeyField[],
): Promise<readonly ApiKey[]> {
  const names = ids.map((_id, index) => `key${index}`);
  const selections = names.map((name) => `${name}: apiKey(id: $${name}) { ${selectFields(fields)} }`);
  const document = `query ReadApiKeys(${names.map((name) => `$${name}: PrefixedID!`).join(" ")}) {
  ${selections.join("\n  ")}
}`;
  const variables = Object.fromEntries(ids.map((id, index) => [`key${index}`, id]));
  const schema = (): z.ZodMiniType<Readonly<Record<string, KeyInResponse | null>>> =>
    z.object(Object.fromEntries(names.map((name) => [name, z.nullable(keyInResponse())])));
  try {
    const keys = await execute(endpoint, document, variables, schema);
    return Object.values(keys).flatMap((key) => key === null ? [] : [toApiKey(key)]);
  } catch (error) {
    // Some servers report an error for a key that does not exist, or accept fewer aliases.
    if (!(error instanceof Failure && ["FAILED", "NOT_FOUND"].includes(error.code))) throw error;
    const wanted = new Set(ids);
    const pages = await Array.fromAsync(readKeys(endpoint, { needs: fields }));
    return pages.flat().filter(({ id }) => wanted.has(id));
  }
}
