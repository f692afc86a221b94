/** The input types. */
import { GraphQLBoolean, GraphQLInputObjectType, GraphQLInt, GraphQLString } from "graphql";
import { authAction, prefixedId, resource, role } from "./words.ts";
import { listOf, optionalListOf, required } from "./wrappers.ts";

export const addPermissionInput = new GraphQLInputObjectType({
  name: "AddPermissionInput",
  fields: {
    resource: { type: required(resource) },
    actions: { type: listOf(authAction) },
  },
});

export const createApiKeyInput = new GraphQLInputObjectType({
  name: "CreateApiKeyInput",
  fields: {
    name: { type: required(GraphQLString) },
    description: { type: GraphQLString },
    roles: { type: optionalListOf(role) },
    permissions: { type: optionalListOf(addPermissionInput) },
    overwrite: { type: GraphQLBoolean },
    expiresAt: {
      type: GraphQLString,
      description:
        "From this time on, the server rejects the key (RFC 3339). Null: the key does not expire. If it is not given, " +
        "the default of the server applies.",
    },
    managedBy: { type: GraphQLString, description: "The manifest that the key belongs to." },
  },
});

export const updateApiKeyInput = new GraphQLInputObjectType({
  name: "UpdateApiKeyInput",
  description: "What is not given stays unchanged.",
  fields: {
    id: { type: required(prefixedId) },
    name: { type: GraphQLString },
    description: { type: GraphQLString, description: "Null removes the description." },
    roles: { type: optionalListOf(role), description: "Replaces all roles." },
    permissions: { type: optionalListOf(addPermissionInput), description: "Replaces all permissions." },
    expiresAt: { type: GraphQLString, description: "The new expiry (RFC 3339). Null removes it." },
    enabled: { type: GraphQLBoolean },
    managedBy: { type: GraphQLString, description: "Needs the permission to delete the key. Null removes it." },
    ifRevision: {
      type: GraphQLInt,
      description: "If the key has another revision, the update fails and changes nothing.",
    },
  },
});

export const rotateApiKeyInput = new GraphQLInputObjectType({
  name: "RotateApiKeyInput",
  description: "Exactly one of id and name.",
  fields: {
    id: { type: prefixedId },
    name: { type: GraphQLString },
    graceSeconds: {
      type: GraphQLInt,
      description:
        "How many seconds the old secret stays valid, at most until its own expiry. If it is not given, the old secret " +
        "becomes invalid at once.",
    },
    expiresAt: {
      type: GraphQLString,
      description: "The new expiry of the key (RFC 3339). If it is not given or null, the expiry stays unchanged.",
    },
  },
});

export const deleteApiKeyInput = new GraphQLInputObjectType({
  name: "DeleteApiKeyInput",
  fields: { ids: { type: listOf(prefixedId) } },
});

export const addRoleForApiKeyInput = new GraphQLInputObjectType({
  name: "AddRoleForApiKeyInput",
  fields: { apiKeyId: { type: required(prefixedId) }, role: { type: required(role) } },
});

export const removeRoleFromApiKeyInput = new GraphQLInputObjectType({
  name: "RemoveRoleFromApiKeyInput",
  fields: { apiKeyId: { type: required(prefixedId) }, role: { type: required(role) } },
});

export const apiKeyFilter = new GraphQLInputObjectType({
  name: "ApiKeyFilter",
  description: "Selects the keys that match every given condition. A time or manifest that is null never matches.",
  fields: {
    match: { type: GraphQLString, description: "A pattern for the name. * matches any text, ? any one character." },
    role: { type: role, description: "Keys with this role." },
    can: {
      type: GraphQLString,
      description: "Keys with this right, for example DOCKER:READ_ANY, from a role or a permission.",
    },
    expired: { type: GraphQLBoolean, description: "Whether the key has expired." },
    expiresBefore: { type: GraphQLString, description: "Keys that expire before this time (RFC 3339)." },
    unusedSince: {
      type: GraphQLString,
      description:
        "Keys that were not used since this time (RFC 3339). If a key was never used, its creation counts as a use.",
    },
    disabled: { type: GraphQLBoolean, description: "Whether the key is disabled." },
    managedBy: { type: GraphQLString, description: "Keys that belong to this manifest." },
  },
});
