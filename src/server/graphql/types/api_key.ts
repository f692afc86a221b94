/** The types `ApiKey`, `Permission` and `Me`. */
import { GraphQLBoolean, GraphQLInt, GraphQLObjectType, GraphQLString } from "graphql";
import { groupByResource } from "../../../apikey/permission.ts";
import { maskSecret } from "../../../apikey/secret.ts";
import type { StoredKey } from "../../../store/stored_key.ts";
import { type KeyCaller, validUntil } from "../../auth/caller.ts";
import type { NewKey } from "../../keys/new_secret.ts";
import type { RequestContext } from "../../keys/request_context.ts";
import { authAction, prefixedId, resource, role } from "./words.ts";
import { type Fields, listOf, required } from "./wrappers.ts";

/** A key in a response. Only the responses to `create` and `rotate` contain the secret. */
export type VisibleKey = NewKey | { readonly key: StoredKey; readonly secret?: undefined };

export const permission = new GraphQLObjectType({
  name: "Permission",
  fields: {
    resource: { type: required(resource) },
    actions: { type: listOf(authAction) },
  },
});

const keyFields: Fields<{ readonly key: StoredKey }> = {
  id: { type: required(prefixedId), resolve: ({ key }) => key.id },
  name: { type: required(GraphQLString), resolve: ({ key }) => key.name },
  description: { type: GraphQLString, resolve: ({ key }) => key.description },
  roles: { type: listOf(role), resolve: ({ key }) => key.roles },
  permissions: { type: listOf(permission), resolve: ({ key }) => groupByResource(key.permissions) },
};

function toText(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

const apiKeyFields: Fields<VisibleKey> = {
  ...keyFields,
  key: {
    type: required(GraphQLString),
    description: "In the responses to create and rotate, the secret. In all other responses, a mask of the secret.",
    resolve: ({ key, secret }) => secret ?? maskSecret(key.secretTail),
  },
  enabled: {
    type: required(GraphQLBoolean),
    description: "Whether the server accepts the key. A disabled key keeps its name and can be enabled again.",
    resolve: ({ key }) => key.enabled,
  },
  createdAt: {
    type: required(GraphQLString),
    description: "When the key was created (RFC 3339, UTC).",
    resolve: ({ key }) => toText(key.createdAt),
  },
  createdBy: {
    type: prefixedId,
    description:
      "The id of the key that created this key. If that key replaced itself, the id of its successor. Null if a local " +
      "user created this key without a key.",
    resolve: ({ key }) => key.createdBy,
  },
  managedBy: {
    type: GraphQLString,
    description: "The manifest that the key belongs to. Null if the key belongs to none.",
    resolve: ({ key }) => key.managedBy,
  },
  updatedAt: {
    type: GraphQLString,
    description: "When the key was last updated or rotated (RFC 3339, UTC). Null if it never was.",
    resolve: ({ key }) => toText(key.updatedAt),
  },
  lastUsedAt: {
    type: GraphQLString,
    description:
      "When the key last authenticated a request (RFC 3339, UTC). Up to a minute out of date. Null if the key was never used.",
    resolve: ({ key }, _arguments, { lastUse }) => toText(lastUse.of(key)),
  },
  expiresAt: {
    type: GraphQLString,
    description: "From this time on, the server rejects the key (RFC 3339, UTC). Null if the key does not expire.",
    resolve: ({ key }) => toText(key.expiresAt),
  },
  graceUntil: {
    type: GraphQLString,
    description:
      "The secret from before the last rotation is valid until this time (RFC 3339, UTC). Null if it became invalid at " +
      "once, or if the key was never rotated.",
    resolve: ({ key }) => toText(key.graceUntil),
  },
  revision: {
    type: required(GraphQLInt),
    description: "A number that increases with each change to the key. Pass it to update as `ifRevision`.",
    resolve: ({ key }) => key.revision,
  },
};

export const apiKey = new GraphQLObjectType<VisibleKey, RequestContext>({ name: "ApiKey", fields: apiKeyFields });

const meFields: Fields<KeyCaller> = {
  ...keyFields,
  expiresAt: {
    type: GraphQLString,
    description:
      "From this time on, the server rejects the secret of this request (RFC 3339, UTC): the expiry of the key, or the " +
      "end of the grace period if the key was rotated. Null if the secret does not expire.",
    resolve: (caller) => toText(validUntil(caller)),
  },
  rights: {
    type: listOf(permission),
    description: "The rights that roles and permissions grant together.",
    resolve: ({ rights }) => groupByResource(rights),
  },
};

export const me = new GraphQLObjectType<KeyCaller, RequestContext>({ name: "Me", fields: meFields });
