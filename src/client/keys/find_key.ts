/** Finds one key by its name or id, with everything that the server reports about it. */
import * as z from "zod/mini";
import { Failure, quote } from "../../apikey/failure.ts";
import { hasName, type Name } from "../../apikey/name.ts";
import { didYouMeanName } from "../../apikey/nearest.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, withFallback } from "../execute.ts";
import {
  type ApiKey,
  KEY_FIELDS,
  type KeyField,
  type KeyInResponse,
  keyInResponse,
  selectFields,
  toApiKey,
} from "./api_key.ts";
import { readKeys } from "./read_keys.ts";
import { serverFields } from "./server_fields.ts";

export type KeySelector = { readonly name: Name } | { readonly id: string };

export const FIND_BY_NAME = byNameDocument(KEY_FIELDS);
export const FIND_BY_ID = byIdDocument(KEY_FIELDS);

function byNameDocument(fields: readonly KeyField[]): string {
  return `query FindApiKey($name: String!) { apiKeysByName(name: $name) { ${selectFields(fields)} } }`;
}

function byIdDocument(fields: readonly KeyField[]): string {
  return `query FindApiKey($id: PrefixedID!) { apiKey(id: $id) { ${selectFields(fields)} } }`;
}

/**
 * Finds a key. Sends one request to a server of this version of the program. On other servers, first asks which fields
 * the server has, and lists all keys if the server cannot look up a key.
 *
 * @throws {Failure} `NOT_FOUND` with the nearest name; `FAILED` if several keys have the name; any failure of
 * {@linkcode execute}
 */
export async function findKey(endpoint: Endpoint, selector: KeySelector): Promise<ApiKey> {
  const [key, other] = "name" in selector
    ? await findByName(endpoint, selector.name)
    : await findById(endpoint, selector.id);
  if (key === undefined) throw await notFound(endpoint, selector);
  if (other === undefined) return key;
  throw new Failure(
    "FAILED",
    `Several keys are named ${quote(key.name)}. Pass the id of one of them with --id, for example ` +
      `${quote(key.id)} or ${quote(other.id)}.`,
  );
}

async function findByName(endpoint: Endpoint, name: Name): Promise<readonly ApiKey[]> {
  const request = async (document: string): Promise<readonly ApiKey[]> => {
    const schema = (): z.ZodMiniType<{ readonly apiKeysByName: readonly KeyInResponse[] }> =>
      z.object({ apiKeysByName: z.array(keyInResponse()) });
    return (await execute(endpoint, document, { name }, schema)).apiKeysByName.map(toApiKey);
  };
  return await withFallback(() => request(FIND_BY_NAME), async () => {
    const has = await serverFields(endpoint);
    if (has.has("Query.apiKeysByName")) {
      return await request(byNameDocument(KEY_FIELDS.filter((field) => has.has(`ApiKey.${field}`))));
    }
    return await filterKeys(endpoint, (key) => hasName(key, name));
  });
}

async function findById(endpoint: Endpoint, id: string): Promise<readonly ApiKey[]> {
  const request = async (document: string): Promise<readonly ApiKey[]> => {
    const { apiKey } = await execute(
      endpoint,
      document,
      { id },
      () => z.object({ apiKey: z.nullish(keyInResponse()) }),
    );
    return apiKey ? [toApiKey(apiKey)] : [];
  };
  return await withFallback(() => request(FIND_BY_ID), async () => {
    const has = await serverFields(endpoint);
    if (has.has("Query.apiKey")) {
      return await request(byIdDocument(KEY_FIELDS.filter((field) => has.has(`ApiKey.${field}`))));
    }
    return await filterKeys(endpoint, (key) => key.id === id);
  });
}

async function filterKeys(endpoint: Endpoint, isWanted: (key: ApiKey) => boolean): Promise<readonly ApiKey[]> {
  const found: ApiKey[] = [];
  for await (const page of readKeys(endpoint)) found.push(...page.filter(isWanted));
  return found;
}

/** The maximum number of names that are compared for a suggestion. */
const MAX_NAMES = 10_000;

/** Returns the failure for a key that does not exist. Asks the server for names, to suggest the nearest one. */
export async function notFound(endpoint: Endpoint, selector: KeySelector): Promise<Failure> {
  if ("id" in selector) {
    return new Failure(
      "NOT_FOUND",
      `No API key found with id: ${selector.id}. To see the ids, run service-api apikey list --json.`,
    );
  }
  return new Failure(
    "NOT_FOUND",
    `No API key found with name: ${selector.name}.${await adviceOnName(endpoint, selector.name)}`,
  );
}

/**
 * Returns a sentence, after a space, with the name of a key that is nearest to a name that no key has. If no name is near,
 * says how to see the names. Returns an empty text if there are no keys, or if the caller is not allowed to list them.
 */
export async function adviceOnName(endpoint: Endpoint, name: Name): Promise<string> {
  const names = await listNames(endpoint);
  return didYouMeanName(name, names) ||
    (names.length === 0 ? "" : " To see the names, run service-api apikey list.");
}

/** Returns some names, or none if the caller is not allowed to list keys. The message of the failure is useful without them. */
async function listNames(endpoint: Endpoint): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const page of readKeys(endpoint)) {
      names.push(...page.map(({ name }) => name));
      if (names.length >= MAX_NAMES) break;
    }
  } catch (error) {
    if (error instanceof Failure && error.code !== "INTERRUPTED") return names;
    throw error;
  }
  return names;
}
