/**
 * The operations of the GraphQL schema. Other servers offer part of this schema too. `tests/contract.ts` is the part that
 * the commands rely on. `auth/authorization.ts` defines which permission each operation needs.
 */
import { GraphQLObjectType, GraphQLSchema, specifiedDirectives } from "graphql";
import { RULES } from "../auth/authorization.ts";
import type { RequestContext } from "../keys/request_context.ts";
import { auditEvents } from "./fields/audit_queries.ts";
import { authorized, usePermissions } from "./fields/authorized.ts";
import { apiKeyConnection } from "./fields/key_connection.ts";
import { addRole, create, refusesTakenNames, remove, removeRole, rotate, update } from "./fields/key_mutations.ts";
import {
  apiKeyById,
  apiKeys,
  apiKeysByName,
  apiKeysBySecretHash,
  apiKeysExist,
  meQuery,
} from "./fields/key_queries.ts";
import {
  apiKeyPossiblePermissions,
  apiKeyPossibleRoles,
  getAvailableAuthActions,
  getPermissionsForRoles,
  previewEffectivePermissions,
} from "./fields/rights_queries.ts";
import { add, remove as removeResource, resources } from "./fields/resources.ts";
import { measureFields } from "./measure_fields.ts";
import { required } from "./types/wrappers.ts";

const apiKeyMutations = new GraphQLObjectType<unknown, RequestContext>({
  name: "ApiKeyMutations",
  fields: { create, update, delete: remove, addRole, removeRole, rotate, refusesTakenNames },
});

const apiKeyOperations = authorized(RULES.Mutation.apiKey, {
  type: required(apiKeyMutations),
  description: "The operations that change keys.",
  resolve: () => ({}),
});

const resourceMutations = new GraphQLObjectType<unknown, RequestContext>({
  name: "ResourceMutations",
  fields: { add, remove: removeResource },
});

const resourceOperations = authorized(RULES.Mutation.resource, {
  type: required(resourceMutations),
  description: "The operations that change custom resources.",
  resolve: () => ({}),
});

/** The schema of this server. */
export const schema = new GraphQLSchema({
  // A test validates the schema. Without this option, graphql-js would validate it again at every start.
  assumeValid: true,
  directives: [...specifiedDirectives, usePermissions],
  query: new GraphQLObjectType<unknown, RequestContext>({
    name: "Query",
    fields: {
      me: meQuery,
      apiKeys,
      apiKey: apiKeyById,
      apiKeyConnection,
      apiKeysByName,
      apiKeysBySecretHash,
      apiKeysExist,
      auditEvents,
      apiKeyPossibleRoles,
      apiKeyPossiblePermissions,
      getPermissionsForRoles,
      previewEffectivePermissions,
      getAvailableAuthActions,
      resources,
    },
  }),
  mutation: new GraphQLObjectType<unknown, RequestContext>({
    name: "Mutation",
    fields: { apiKey: apiKeyOperations, resource: resourceOperations },
  }),
});
measureFields(schema);
