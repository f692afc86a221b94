/**
 * The operations of the GraphQL schema: the public contract that servers with these keys share, and what only this
 * server has: `Query.me`, `.auditEvents`, `.apiKeysByName`, `.apiKeysExist`, `ApiKeyMutations.refusesTakenNames`,
 * `ApiKey.createdBy`, `.lastUsedAt`. What each of them needs is in `rules.ts`.
 */
import {
  GraphQLBoolean,
  type GraphQLFieldConfig,
  GraphQLInt,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
} from "graphql";
import { Failure } from "../../apikey/failure.ts";
import { parseName } from "../../apikey/name.ts";
import { isOwn } from "../auth/caller.ts";
import { createKey, type CreateKeyInput } from "../keys/create_key.ts";
import { deleteKeys } from "../keys/delete_keys.ts";
import { recordRefusal } from "../keys/refusal_audit.ts";
import type { RequestContext } from "../keys/request_context.ts";
import { type Reach, reachOf, requireRight, type Rule, RULES, wordsOf } from "../auth/authorization.ts";
import {
  apiKey,
  auditEvent,
  createApiKeyInput,
  deleteApiKeyInput,
  type KeyHolder,
  listOf,
  me,
  prefixedId,
  required,
  type VisibleKey,
} from "./schema_types.ts";
import { sanitizeText } from "../keys/sanitize_text.ts";

type Field<Arguments> = GraphQLFieldConfig<unknown, RequestContext, Arguments>;

interface Operation<Arguments> extends Omit<Field<Arguments>, "resolve"> {
  /** Called for callers whom the rule lets in. */
  readonly resolve: (given: Arguments, context: RequestContext, reach: Reach) => unknown;
  /** Called for the others, before they hear of it. */
  readonly refused?: (given: Arguments, refusal: unknown, context: RequestContext) => Promise<void>;
}

/** A field that keeps to its rule, and says so in its description. */
function ruled<Arguments = Record<string, never>>(rule: Rule, operation: Operation<Arguments>): Field<Arguments> {
  const { resolve, refused, description = "", ...rest } = operation;
  return {
    ...rest,
    description: `${description} Needs ${wordsOf(rule)}.`.trim(),
    extensions: { rule },
    resolve: (_source, given, context) => {
      let reach: Reach;
      try {
        reach = reachOf(rule, context.caller);
      } catch (refusal) {
        if (refused === undefined) throw refusal;
        return refused(given, refusal, context).then(() => Promise.reject(refusal));
      }
      return resolve(given, context, reach);
    },
  };
}

const { Query, Mutation, ApiKeyMutations } = RULES;

interface CreateArguments {
  readonly input: CreateKeyInput;
}

const create = ruled<CreateArguments>(ApiKeyMutations.create, {
  type: required(apiKey),
  description: "Makes a key. With overwrite it takes the place of the key that has the name. The new key can have no " +
    "right that the key that asks has not; to replace a key takes the right to delete it.",
  args: { input: { type: required(createApiKeyInput) } },
  resolve: ({ input }, context) => createKey(input, context),
  refused: ({ input }, refusal, context) => recordRefusal("CREATE", input, refusal, context),
});

interface DeleteArguments {
  readonly input: { readonly ids: readonly string[] };
}

const remove = ruled<DeleteArguments>(ApiKeyMutations.delete, {
  type: required(GraphQLBoolean),
  description: "Deletes all of the keys and answers true, or, when one is not there, none and answers false.",
  args: { input: { type: required(deleteApiKeyInput) } },
  resolve: ({ input }, context) => deleteKeys(input.ids, context),
  refused: ({ input }, refusal, context) => recordRefusal("DELETE", { id: input.ids[0] }, refusal, context),
});

const refusesTakenNames = ruled(ApiKeyMutations.refusesTakenNames, {
  type: required(GraphQLBoolean),
  description: "Always true: create refuses a name in use unless told to overwrite. A server that lacks this field " +
    "may answer with the key that exists.",
  resolve: () => true,
});

const apiKeyMutations = new GraphQLObjectType<unknown, RequestContext>({
  name: "ApiKeyMutations",
  fields: { create, delete: remove, refusesTakenNames },
});

const apiKeyOperations = ruled(Mutation.apiKey, { type: required(apiKeyMutations), resolve: () => ({}) });

const meQuery = ruled(Query.me, {
  type: required(me),
  description: "The key that asks.",
  resolve: (_given, { caller: { key, rights } }): KeyHolder => {
    if (key === null) throw new Failure("UNAUTHENTICATED", "No key was shown, so that there is none to tell about.");
    return { key, rights };
  },
});

const apiKeys = ruled(Query.apiKeys, {
  type: listOf(apiKey),
  description: "Every key that the caller may read, in the order of creation.",
  resolve: async (_given, { store, caller, requireInterest, countKey }, reach): Promise<readonly VisibleKey[]> => {
    const keys: VisibleKey[] = [];
    for await (const key of store.list(reach === "any" ? undefined : caller.key?.id ?? "")) {
      requireInterest();
      countKey();
      keys.push({ key });
    }
    return keys;
  },
});

const apiKeyById = ruled<{ readonly id: string }>(Query.apiKey, {
  type: apiKey,
  description: "The key of that id, if there is one.",
  args: { id: { type: required(prefixedId) } },
  resolve: async ({ id }, { caller, store }): Promise<VisibleKey | undefined> => {
    const key = await store.findById(sanitizeText(id));
    requireRight(Query.apiKey, caller, key !== undefined && isOwn(caller, key));
    return key && { key };
  },
});

const apiKeysByName = ruled<{ readonly name: string }>(Query.apiKeysByName, {
  type: listOf(apiKey),
  description: "The key of that name, if there is one that the caller may read, without a look at the others.",
  args: { name: { type: required(GraphQLString) } },
  resolve: async ({ name }, { caller, store }, reach): Promise<readonly VisibleKey[]> => {
    const key = await store.findByName(parseName(name));
    return key === undefined || (reach === "own" && !isOwn(caller, key)) ? [] : [{ key }];
  },
});

const apiKeysExist = ruled(Query.apiKeysExist, {
  type: required(GraphQLBoolean),
  description: "Whether there is any key that the caller may read.",
  // Whoever reaches no more than its own key has a key.
  resolve: async (_given, { store }, reach) => reach === "own" || !await store.isEmpty(),
});

/** The most events in one answer. */
const LARGEST_PAGE = 1000;

interface PageArguments {
  readonly after?: string | null;
  readonly first: number;
}

const auditEvents = ruled<PageArguments>(Query.auditEvents, {
  type: listOf(auditEvent),
  description: "Changes of keys, and changes that were refused, oldest first: those after the event of that id, or " +
    `from the first one there is. At most ${LARGEST_PAGE} at once.`,
  args: { after: { type: GraphQLString }, first: { type: required(GraphQLInt), defaultValue: 100 } },
  resolve: ({ after, first }, { store }) => {
    if (first < 1 || first > LARGEST_PAGE) {
      throw new Failure("USAGE", `first takes a number from 1 to ${LARGEST_PAGE}.`);
    }
    if (after !== undefined && after !== null && !/^\d{1,18}$/.test(after)) {
      throw new Failure("USAGE", "after takes the id of an event.");
    }
    return store.listEvents(after ?? undefined, first);
  },
});

/** The schema that the embedded server executes. */
export const schema = new GraphQLSchema({
  // A test sees to that: graphql-js would look at the whole of it before the first request of every invocation.
  assumeValid: true,
  query: new GraphQLObjectType<unknown, RequestContext>({
    name: "Query",
    fields: { me: meQuery, apiKeys, apiKey: apiKeyById, apiKeysByName, apiKeysExist, auditEvents },
  }),
  mutation: new GraphQLObjectType<unknown, RequestContext>({
    name: "Mutation",
    fields: { apiKey: apiKeyOperations },
  }),
});
