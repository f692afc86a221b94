/** The queries that find keys. */
import { GraphQLBoolean, GraphQLList, GraphQLString } from "graphql";
import { Failure } from "../../../apikey/failure.ts";
import { parseName } from "../../../apikey/name.ts";
import { requirePermission, RULES, type Scope } from "../../auth/authorization.ts";
import { isOwn, type KeyCaller } from "../../auth/caller.ts";
import { findBySecretHashes, MAX_HASHES } from "../../keys/find_by_hash.ts";
import { type RequestContext, throwIfAborted } from "../../keys/request_context.ts";
import { sanitizeText } from "../../keys/sanitize_text.ts";
import { apiKey, me, type VisibleKey } from "../types/api_key.ts";
import { prefixedId } from "../types/words.ts";
import { listOf, required } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

const { Query } = RULES;

export const meQuery = authorized(Query.me, {
  type: required(me),
  description: "The caller's own key.",
  resolve: (_given, { caller }): KeyCaller => {
    if (caller.key === null) {
      throw new Failure("UNAUTHENTICATED", "The request carries no key. `me` describes the key of the request.");
    }
    return caller;
  },
});

async function readKeys(context: RequestContext, scope: Scope): Promise<readonly VisibleKey[]> {
  const { store, caller } = context;
  const keys: VisibleKey[] = [];
  for await (const key of store.list(scope === "any" ? undefined : caller.key?.id ?? "")) {
    throwIfAborted(context);
    context.countKey(key);
    keys.push({ key });
  }
  return keys;
}

export const apiKeys = authorized(Query.apiKeys, {
  type: listOf(apiKey),
  description: "All keys that the caller may read, in order of creation.",
  resolve: (_given, context, scope) => context.size.readInTurn(() => readKeys(context, scope)),
});

export const apiKeyById = authorized<{ readonly id: string }>(Query.apiKey, {
  type: apiKey,
  description: "The key with this id, or null.",
  args: { id: { type: required(prefixedId) } },
  resolve: async ({ id }, { caller, store }): Promise<VisibleKey | undefined> => {
    const key = await store.findById(sanitizeText(id));
    requirePermission(Query.apiKey, caller, key !== undefined && isOwn(caller, key));
    return key && { key };
  },
});

export const apiKeysByName = authorized<{ readonly name: string }>(Query.apiKeysByName, {
  type: listOf(apiKey),
  description: "The key with this name. The list is empty if the key does not exist or the caller may not read it.",
  args: { name: { type: required(GraphQLString) } },
  resolve: async ({ name }, { caller, store }, scope): Promise<readonly VisibleKey[]> => {
    const key = await store.findByName(parseName(name));
    return key === undefined || (scope === "own" && !isOwn(caller, key)) ? [] : [{ key }];
  },
});

export const apiKeysBySecretHash = authorized<{ readonly hashes: readonly string[] }>(Query.apiKeysBySecretHash, {
  type: required(new GraphQLList(apiKey)),
  description:
    "For each hash, the key whose current secret has this SHA-256 hash (hexadecimal), even if the key is disabled or has " +
    "expired. Null if the secret is unknown or was replaced by rotation, or if the caller may not read the key. At most " +
    `${MAX_HASHES} hashes.`,
  args: { hashes: { type: listOf(GraphQLString) } },
  resolve: ({ hashes }, context, scope) => findBySecretHashes(hashes, scope, context),
});

export const apiKeysExist = authorized(Query.apiKeysExist, {
  type: required(GraphQLBoolean),
  description: "Whether any key exists that the caller may read.",
  // The scope `own` implies that the caller has a key, so at least one key exists.
  resolve: async (_given, { store }, scope) => scope === "own" || !await store.isEmpty(),
});
