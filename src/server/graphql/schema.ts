/**
 * The operations of the GraphQL schema. Other servers offer part of this schema too. Only this server has the fields
 * `me`, `auditEvents`, `apiKeysByName` and `apiKeysExist` of `Query`, `refusesTakenNames` of `ApiKeyMutations`, and
 * `createdBy` and `lastUsedAt` of `ApiKey`. `auth/authorization.ts` defines which permission each operation needs.
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
import { groupByResource, type ResourceActions, ungroup } from "../../apikey/permission.ts";
import { rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import { authorize, describeRule, requirePermission, type Rule, RULES, type Scope } from "../auth/authorization.ts";
import { isOwn, type KeyCaller } from "../auth/caller.ts";
import { createKey, type CreateKeyInput } from "../keys/create_key.ts";
import { deleteKeys } from "../keys/delete_keys.ts";
import { recordRefusal } from "../keys/refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "../keys/request_context.ts";
import { sanitizeText } from "../keys/sanitize_text.ts";
import { measureFields } from "./measure_fields.ts";
import {
  addPermissionInput,
  apiKey,
  auditEvent,
  createApiKeyInput,
  deleteApiKeyInput,
  listOf,
  me,
  optionalListOf,
  permission,
  prefixedId,
  required,
  role,
  type VisibleKey,
} from "./schema_types.ts";

type Field<Arguments> = GraphQLFieldConfig<unknown, RequestContext, Arguments>;

interface AuthorizedField<Arguments> extends Omit<Field<Arguments>, "resolve"> {
  /** Called if the caller has the permission that the rule requires. */
  readonly resolve: (given: Arguments, context: RequestContext, scope: Scope) => unknown;
  /** Called if the caller lacks the permission, before the caller gets the error. */
  readonly onForbidden?: (given: Arguments, error: unknown, context: RequestContext) => Promise<void>;
}

/** Creates a field that enforces a rule. The description of the field states the rule. */
function authorized<Arguments = Record<string, never>>(
  rule: Rule,
  field: AuthorizedField<Arguments>,
): Field<Arguments> {
  const { resolve, onForbidden, description = "", ...config } = field;
  return {
    ...config,
    description: `${description} Needs ${describeRule(rule)}.`.trim(),
    extensions: { rule },
    resolve: (_source, given, context) => {
      let scope: Scope;
      try {
        scope = authorize(rule, context.caller);
      } catch (error) {
        if (onForbidden === undefined) throw error;
        return onForbidden(given, error, context).then(() => Promise.reject(error));
      }
      return resolve(given, context, scope);
    },
  };
}

const { Query, Mutation, ApiKeyMutations } = RULES;

interface CreateArguments {
  readonly input: CreateKeyInput;
}

const create = authorized<CreateArguments>(ApiKeyMutations.create, {
  type: required(apiKey),
  description:
    "Creates a key. With overwrite, the new key replaces the key with the same name. The caller can grant only " +
    "rights that it has. To replace a key, the caller needs the permission to delete it.",
  args: { input: { type: required(createApiKeyInput) } },
  resolve: ({ input }, context) => createKey(input, context),
  onForbidden: ({ input }, error, context) => recordRefusal("CREATE", input, error, context),
});

interface DeleteArguments {
  readonly input: { readonly ids: readonly string[] };
}

const remove = authorized<DeleteArguments>(ApiKeyMutations.delete, {
  type: required(GraphQLBoolean),
  description:
    "Deletes all of the keys and returns true. If one of them does not exist, deletes none and returns false.",
  args: { input: { type: required(deleteApiKeyInput) } },
  resolve: ({ input }, context) => deleteKeys(input.ids, context),
  onForbidden: ({ input }, error, context) => recordRefusal("DELETE", { id: input.ids[0] }, error, context),
});

const refusesTakenNames = authorized(ApiKeyMutations.refusesTakenNames, {
  type: required(GraphQLBoolean),
  description: "Always true: create rejects a name that is in use, unless overwrite is set. A server without this " +
    "field may return the existing key instead.",
  resolve: () => true,
});

const apiKeyMutations = new GraphQLObjectType<unknown, RequestContext>({
  name: "ApiKeyMutations",
  fields: { create, delete: remove, refusesTakenNames },
});

const apiKeyOperations = authorized(Mutation.apiKey, { type: required(apiKeyMutations), resolve: () => ({}) });

const meQuery = authorized(Query.me, {
  type: required(me),
  description: "The caller's own key.",
  resolve: (_given, { caller: { key, rights } }): KeyCaller => {
    if (key === null) {
      throw new Failure("UNAUTHENTICATED", "The request carries no key. `me` describes the key of the request.");
    }
    return { key, rights };
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

const apiKeys = authorized(Query.apiKeys, {
  type: listOf(apiKey),
  description: "All keys that the caller may read, in order of creation.",
  resolve: (_given, context, scope) => context.size.readInTurn(() => readKeys(context, scope)),
});

const apiKeyById = authorized<{ readonly id: string }>(Query.apiKey, {
  type: apiKey,
  description: "The key with this id, or null.",
  args: { id: { type: required(prefixedId) } },
  resolve: async ({ id }, { caller, store }): Promise<VisibleKey | undefined> => {
    const key = await store.findById(sanitizeText(id));
    requirePermission(Query.apiKey, caller, key !== undefined && isOwn(caller, key));
    return key && { key };
  },
});

const apiKeysByName = authorized<{ readonly name: string }>(Query.apiKeysByName, {
  type: listOf(apiKey),
  description: "The key with this name. The list is empty if the key does not exist or the caller may not read it.",
  args: { name: { type: required(GraphQLString) } },
  resolve: async ({ name }, { caller, store }, scope): Promise<readonly VisibleKey[]> => {
    const key = await store.findByName(parseName(name));
    return key === undefined || (scope === "own" && !isOwn(caller, key)) ? [] : [{ key }];
  },
});

const apiKeysExist = authorized(Query.apiKeysExist, {
  type: required(GraphQLBoolean),
  description: "Whether any key exists that the caller may read.",
  // The scope `own` implies that the caller has a key, so at least one key exists.
  resolve: async (_given, { store }, scope) => scope === "own" || !await store.isEmpty(),
});

/** The maximum number of events in a response. */
const MAX_PAGE_SIZE = 1000;

interface PageArguments {
  readonly after?: string | null;
  readonly first: number;
}

const auditEvents = authorized<PageArguments>(Query.auditEvents, {
  type: listOf(auditEvent),
  description:
    "Changes to keys and refused changes, oldest first. `after` is the id of the last event of the previous page. " +
    `Without \`after\`, the page starts with the oldest event. A page has at most ${MAX_PAGE_SIZE} events.`,
  args: { after: { type: GraphQLString }, first: { type: required(GraphQLInt), defaultValue: 100 } },
  resolve: ({ after, first }, { store, size }) => {
    if (first < 1 || first > MAX_PAGE_SIZE) {
      throw new Failure("USAGE", `first must be a number from 1 to ${MAX_PAGE_SIZE}.`);
    }
    if (after !== undefined && after !== null && !/^\d{1,18}$/.test(after)) {
      throw new Failure("USAGE", "after must be the id of an event.");
    }
    return size.readInTurn(() => store.listEvents(after ?? undefined, first));
  },
});

interface PreviewArguments {
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
}

const previewEffectivePermissions = authorized<PreviewArguments>(Query.previewEffectivePermissions, {
  type: listOf(permission),
  description: "Every permission that a key with these roles and permissions has.",
  args: { roles: { type: optionalListOf(role) }, permissions: { type: optionalListOf(addPermissionInput) } },
  resolve: ({ roles, permissions }) => groupByResource(rightsOf(roles ?? [], ungroup(permissions ?? []))),
});

const getPermissionsForRoles = authorized<{ readonly roles: readonly Role[] }>(Query.getPermissionsForRoles, {
  type: listOf(permission),
  description: "Every permission that a key with these roles has.",
  args: { roles: { type: listOf(role) } },
  resolve: ({ roles }) => groupByResource(rightsOf(roles, [])),
});

/** The schema of this server. */
export const schema = new GraphQLSchema({
  // A test validates the schema. Without this option, graphql-js would validate it again at every start.
  assumeValid: true,
  query: new GraphQLObjectType<unknown, RequestContext>({
    name: "Query",
    fields: {
      me: meQuery,
      apiKeys,
      apiKey: apiKeyById,
      apiKeysByName,
      apiKeysExist,
      auditEvents,
      previewEffectivePermissions,
      getPermissionsForRoles,
    },
  }),
  mutation: new GraphQLObjectType<unknown, RequestContext>({
    name: "Mutation",
    fields: { apiKey: apiKeyOperations },
  }),
});
measureFields(schema);
