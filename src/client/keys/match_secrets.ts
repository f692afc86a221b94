/** Finds keys by name, and tells which secrets are current. The secrets are never sent. */
import * as z from "zod/mini";
import type { Failure } from "../../apikey/failure.ts";
import { hasName, type Name } from "../../apikey/name.ts";
import { hashSecret } from "../../apikey/secret.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, withFallback } from "../execute.ts";
import { type ApiKey, type KeyField, type KeyInResponse, keyInResponse, selectFields, toApiKey } from "./api_key.ts";
import { serverFields, unsupported } from "./server_fields.ts";

export interface NameAndSecret {
  readonly name: Name;
  /** The secret that the key may have; `undefined` if none is known. */
  readonly secret: string | undefined;
}

export interface SecretMatch {
  /** The key with the name; `undefined` if no key that the caller may read has it. */
  readonly key: ApiKey | undefined;
  /** Whether the secret is the current secret of the key. */
  readonly isCurrent: boolean;
}

export interface SecretMatches {
  /** In the order of the request. */
  readonly matches: readonly SecretMatch[];
  /** Whether the server is one of this program, with expiry, rotation and `managedBy`. */
  readonly isEmbedded: boolean;
  /**
   * Whether the server is known to tell which secrets are current. This is unknown if another server has no keys yet: it
   * may show only a mask of their secrets.
   */
  readonly tellsSecrets: boolean;
}

/** The number of names in a request, and the number of hashes. The limits of the embedded server are 100 and 1000. */
const MAX_NAMES = 50;
const MAX_HASHES = 1000;

/** What the callers compare. Other members of the keys are `null`, because a thousand keys with every field take longer. */
const FIELDS = [
  "id",
  "name",
  "description",
  "roles",
  "permissions",
  "enabled",
  "expiresAt",
  "managedBy",
  "revision",
] as const satisfies readonly KeyField[];

const KEY = `{ ${selectFields(FIELDS)} }`;

export const MATCH_HASHES = `query MatchSecrets($hashes: [String!]!) { apiKeysBySecretHash(hashes: $hashes) ${KEY} }`;

function namesDocument(count: number): string {
  const numbers = Array.from({ length: count }, (_, number) => number);
  return `query FindApiKeys(${numbers.map((number) => `$n${number}: String!`).join(" ")}) {
  ${numbers.map((number) => `k${number}: apiKeysByName(name: $n${number}) { ...Key }`).join("\n  ")}
}
fragment Key on ApiKey ${KEY}`;
}

export const FIND_ONE_NAME = namesDocument(1);
export const FIND_NAMES = namesDocument(MAX_NAMES);

/**
 * Finds the keys with these names, and tells whether each has the given secret. Sends SHA-256 hashes to servers of this
 * program. Other servers must show the secrets in their list of keys.
 *
 * @throws {Failure} `UNSUPPORTED` if the server can do neither; any failure of {@linkcode execute}
 */
export async function matchSecrets(endpoint: Endpoint, wanted: readonly NameAndSecret[]): Promise<SecretMatches> {
  return await withFallback<SecretMatches>(
    async () => ({ matches: await matchOnEmbedded(endpoint, wanted), isEmbedded: true, tellsSecrets: true }),
    () => matchInList(endpoint, wanted),
  );
}

async function matchOnEmbedded(
  endpoint: Endpoint,
  wanted: readonly NameAndSecret[],
): Promise<readonly SecretMatch[]> {
  const bySecret = await findBySecrets(endpoint, wanted.flatMap(({ secret }) => secret ?? []));
  const held = ({ name, secret }: NameAndSecret): ApiKey | undefined => {
    const key = secret === undefined ? undefined : bySecret.get(secret);
    return key !== undefined && hasName(key, name) ? key : undefined;
  };
  const others = wanted.filter((one) => held(one) === undefined).map(({ name }) => name);
  const byName = await findByNames(endpoint, others);
  return wanted.map((one) => {
    const key = held(one);
    return key === undefined ? { key: byName.get(one.name), isCurrent: false } : { key, isCurrent: true };
  });
}

async function findBySecrets(
  endpoint: Endpoint,
  secrets: readonly string[],
): Promise<ReadonlyMap<string, ApiKey>> {
  const found = new Map<string, ApiKey>();
  for (const some of chunks(secrets, MAX_HASHES)) {
    // deno-lint-ignore no-await-in-loop -- one request at a time
    const hashes = await Promise.all(some.map(async (secret) => (await hashSecret(secret)).toHex()));
    // deno-lint-ignore no-await-in-loop -- one request at a time
    const { apiKeysBySecretHash } = await execute(
      endpoint,
      MATCH_HASHES,
      { hashes },
      () => z.object({ apiKeysBySecretHash: z.array(z.nullable(keyInResponse())) }),
    );
    apiKeysBySecretHash.forEach((key, index) => {
      const secret = some[index];
      if (key !== null && secret !== undefined) found.set(secret, toApiKey(key));
    });
  }
  return found;
}

async function findByNames(endpoint: Endpoint, names: readonly Name[]): Promise<ReadonlyMap<Name, ApiKey>> {
  const found = new Map<Name, ApiKey>();
  for (const some of chunks(names, MAX_NAMES)) {
    const document = some.length === 1 ? FIND_ONE_NAME : FIND_NAMES;
    const [first] = some;
    const count = some.length === 1 ? 1 : MAX_NAMES;
    // The document has a fixed number of names, so that it needs no validation. Extra names repeat the first.
    const variables = Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, some[i] ?? first]));
    // deno-lint-ignore no-await-in-loop -- one request at a time
    const data = await execute(
      endpoint,
      document,
      variables,
      (): z.ZodMiniType<Record<string, readonly KeyInResponse[]>> =>
        z.object(Object.fromEntries(some.map((_name, i) => [`k${i}`, z.array(keyInResponse())]))),
    );
    some.forEach((name, index) => {
      const [key] = data[`k${index}`] ?? [];
      if (key !== undefined) found.set(name, toApiKey(key));
    });
  }
  return found;
}

function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

async function matchInList(endpoint: Endpoint, wanted: readonly NameAndSecret[]): Promise<SecretMatches> {
  const has = await serverFields(endpoint);
  if (!has.has("ApiKey.key")) throw cannotMatch(endpoint);
  const fields = FIELDS.filter((field) => has.has(`ApiKey.${field}`));
  const { apiKeys } = await execute(
    endpoint,
    `query ListApiKeys { apiKeys { key ${selectFields(fields)} } }`,
    {},
    () => z.object({ apiKeys: z.array(keyInResponse()) }),
  );
  if (apiKeys.some(({ key }) => !isWholeSecret(key))) throw cannotMatch(endpoint);
  const matches = wanted.map(({ name, secret }) => {
    const named = apiKeys.filter((key) => hasName(key, name));
    const current = secret === undefined ? undefined : named.find(({ key }) => key === secret);
    const [found] = current === undefined ? named : [current];
    return { key: found && toApiKey(found), isCurrent: current !== undefined };
  });
  return { matches, isEmbedded: false, tellsSecrets: apiKeys.length > 0 };
}

/** Returns whether `key` is a whole secret. Some servers return only a part of it, like `abcd…` or `****abcd`. */
function isWholeSecret(key: string | null | undefined): boolean {
  return typeof key === "string" && /^[\x21-\x7e]{16,}$/.test(key) && !/\*|\.{3}/.test(key);
}

function cannotMatch(endpoint: Endpoint): Failure {
  return unsupported(
    endpoint,
    "Query.apiKeysBySecretHash",
    "Its list of keys does not show their secrets either, so it cannot tell whether a secret is current. To create a key " +
      "or to replace it, use service-api apikey --create, with --overwrite and --secret-file.",
  );
}
