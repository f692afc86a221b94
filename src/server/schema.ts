/**
 * The GraphQL schema: the public contract that servers with these keys share, and three fields that only this
 * server has: `Query.apiKeysByName`, `Query.apiKeysExist`, `ApiKeyMutations.refusesTakenNames`.
 */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  type GraphQLType,
} from "graphql";
import { Failure } from "../apikey/failure.ts";
import { parseName } from "../apikey/name.ts";
import { ACTIONS, groupByResource, RESOURCES } from "../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../apikey/role.ts";
import { maskSecret } from "../apikey/secret.ts";
import type { KeyStore, StoredKey } from "../store/key_store.ts";
import { type Caller, requireRight } from "./caller.ts";
import { type CreatedKey, createKey, type CreateKeyInput } from "./create_key.ts";

/** What every resolver is given. */
export type RequestContext = {
  readonly store: KeyStore;
  readonly caller: Caller;
  readonly now: () => Date;
};

/** A key on its way out; the secret is there only in the answer to `create`. */
type VisibleKey = CreatedKey | { readonly key: StoredKey; readonly secret?: undefined };

type Field<Source, Arguments = Record<string, never>> = GraphQLFieldConfig<Source, RequestContext, Arguments>;

function required<Type extends GraphQLType>(type: Type): GraphQLNonNull<Type> {
  return new GraphQLNonNull(type);
}

function listOf<Type extends GraphQLType>(type: Type): GraphQLNonNull<GraphQLList<GraphQLNonNull<Type>>> {
  return required(new GraphQLList(required(type)));
}

function optionalListOf<Type extends GraphQLType>(type: Type): GraphQLList<GraphQLNonNull<Type>> {
  return new GraphQLList(required(type));
}

function enumOf(name: string, values: readonly string[], meanings: Readonly<Record<string, string>>): GraphQLEnumType {
  return new GraphQLEnumType({
    name,
    values: Object.fromEntries(values.map((value) => [value, { description: meanings[value] }])),
  });
}

const prefixedId = new GraphQLScalarType<string, string>({
  name: "PrefixedID",
  description: "The id of a key: key_ and 22 letters and digits.",
  parseValue: toId,
  serialize: toId,
});

function toId(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Failure("USAGE", "A PrefixedID is a string.");
}

const role = enumOf("Role", ROLES, ROLE_MEANINGS);
const resource = enumOf("Resource", RESOURCES, {});
const authAction = enumOf("AuthAction", ACTIONS, {});

const permission = new GraphQLObjectType({
  name: "Permission",
  fields: {
    resource: { type: required(resource) },
    actions: { type: listOf(authAction) },
  },
});

const apiKeyFields = {
  id: { type: required(prefixedId), resolve: ({ key }) => key.id },
  key: {
    type: required(GraphQLString),
    description: "The secret, in the answer to create; a mask ever after.",
    resolve: ({ key, secret }) => secret ?? maskSecret(key.secretTail),
  },
  name: { type: required(GraphQLString), resolve: ({ key }) => key.name },
  description: { type: GraphQLString, resolve: ({ key }) => key.description },
  roles: { type: listOf(role), resolve: ({ key }) => key.roles },
  permissions: { type: listOf(permission), resolve: ({ key }) => groupByResource(key.permissions) },
  createdAt: {
    type: required(GraphQLString),
    description: "When the key was created, in UTC, as in RFC 3339.",
    resolve: ({ key }) => key.createdAt.toISOString(),
  },
} satisfies Record<string, Field<VisibleKey>>;

const apiKey = new GraphQLObjectType<VisibleKey, RequestContext>({ name: "ApiKey", fields: apiKeyFields });

const addPermissionInput = new GraphQLInputObjectType({
  name: "AddPermissionInput",
  fields: {
    resource: { type: required(resource) },
    actions: { type: listOf(authAction) },
  },
});

const createApiKeyInput = new GraphQLInputObjectType({
  name: "CreateApiKeyInput",
  fields: {
    name: { type: required(GraphQLString) },
    description: { type: GraphQLString },
    roles: { type: optionalListOf(role) },
    permissions: { type: optionalListOf(addPermissionInput) },
    overwrite: { type: GraphQLBoolean },
  },
});

const deleteApiKeyInput = new GraphQLInputObjectType({
  name: "DeleteApiKeyInput",
  fields: { ids: { type: listOf(prefixedId) } },
});

const create: Field<unknown, { readonly input: CreateKeyInput }> = {
  type: required(apiKey),
  description:
    "Needs API_KEY:CREATE_ANY, every right that the new key is to have, and, to replace a key, API_KEY:DELETE_ANY.",
  args: { input: { type: required(createApiKeyInput) } },
  resolve: (_source, { input }, { caller, store, now }) => createKey(input, caller, store, now()),
};

const remove: Field<unknown, { readonly input: { readonly ids: readonly string[] } }> = {
  type: required(GraphQLBoolean),
  description: "Removes all of the keys and answers true, or, when one is not there, none and answers false. " +
    "Needs API_KEY:DELETE_ANY.",
  args: { input: { type: required(deleteApiKeyInput) } },
  resolve: (_source, { input }, { caller, store }) => {
    requireRight(caller, "API_KEY:DELETE_ANY");
    return store.remove(input.ids);
  },
};

const refusesTakenNames: Field<unknown> = {
  type: required(GraphQLBoolean),
  description: "Always true: create refuses a name in use unless told to overwrite. A server that lacks this field " +
    "may answer with the key that exists.",
  resolve: () => true,
};

const apiKeyMutations = new GraphQLObjectType<unknown, RequestContext>({
  name: "ApiKeyMutations",
  fields: { create, delete: remove, refusesTakenNames },
});

const apiKeys: Field<unknown> = {
  type: listOf(apiKey),
  description: "Every key, in the order of creation. Needs API_KEY:READ_ANY.",
  resolve: async (_source, _arguments, { caller, store }) => {
    requireRight(caller, "API_KEY:READ_ANY");
    return (await store.list()).map((key) => ({ key }));
  },
};

const apiKeyById: Field<unknown, { readonly id: string }> = {
  type: apiKey,
  description: "Needs API_KEY:READ_ANY, or, to read the key that asks, API_KEY:READ_OWN.",
  args: { id: { type: required(prefixedId) } },
  resolve: async (_source, { id }, { caller, store }) => {
    requireRight(caller, id === caller.keyId ? "API_KEY:READ_OWN" : "API_KEY:READ_ANY");
    const key = await store.findById(id);
    return key && { key };
  },
};

const apiKeysByName: Field<unknown, { readonly name: string }> = {
  type: listOf(apiKey),
  description: "The key of that name, if there is one, without a look at the others. Needs API_KEY:READ_ANY.",
  args: { name: { type: required(GraphQLString) } },
  resolve: async (_source, { name }, { caller, store }) => {
    requireRight(caller, "API_KEY:READ_ANY");
    const key = await store.findByName(parseName(name));
    return key === undefined ? [] : [{ key }];
  },
};

const apiKeysExist: Field<unknown> = {
  type: required(GraphQLBoolean),
  description: "Whether there is any key. Needs API_KEY:READ_ANY.",
  resolve: async (_source, _arguments, { caller, store }) => {
    requireRight(caller, "API_KEY:READ_ANY");
    return !await store.isEmpty();
  },
};

/** The schema that the embedded server executes. */
export const schema = new GraphQLSchema({
  // A test sees to that: graphql-js would look at the whole of it before the first request of every invocation.
  assumeValid: true,
  query: new GraphQLObjectType<unknown, RequestContext>({
    name: "Query",
    fields: { apiKeys, apiKey: apiKeyById, apiKeysByName, apiKeysExist },
  }),
  mutation: new GraphQLObjectType<unknown, RequestContext>({
    name: "Mutation",
    fields: { apiKey: { type: required(apiKeyMutations), resolve: () => ({}) } },
  }),
});
