/** The types of the GraphQL schema: the data that operations return, and their inputs. */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLString,
  type GraphQLType,
} from "graphql";
import { Failure } from "../../apikey/failure.ts";
import { ACTIONS, groupByResource, RESOURCES } from "../../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../../apikey/role.ts";
import { maskSecret } from "../../apikey/secret.ts";
import { AUDIT_ACTIONS, type AuditEvent } from "../../store/audit_event.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import type { KeyCaller } from "../auth/caller.ts";
import type { CreatedKey } from "../keys/create_key.ts";
import type { RequestContext } from "../keys/request_context.ts";

/** A key in a response. Only the response to `create` contains the secret. */
export type VisibleKey = CreatedKey | { readonly key: StoredKey; readonly secret?: undefined };

type Fields<Source> = Record<string, GraphQLFieldConfig<Source, RequestContext>>;

export function required<Type extends GraphQLType>(type: Type): GraphQLNonNull<Type> {
  return new GraphQLNonNull(type);
}

export function listOf<Type extends GraphQLType>(type: Type): GraphQLNonNull<GraphQLList<GraphQLNonNull<Type>>> {
  return required(new GraphQLList(required(type)));
}

export function optionalListOf<Type extends GraphQLType>(type: Type): GraphQLList<GraphQLNonNull<Type>> {
  return new GraphQLList(required(type));
}

function enumOf(
  name: string,
  values: readonly string[],
  meanings: Readonly<Record<string, string>> = {},
): GraphQLEnumType {
  return new GraphQLEnumType({
    name,
    values: Object.fromEntries(values.map((value) => [value, { description: meanings[value] }])),
  });
}

export const prefixedId = new GraphQLScalarType<string, string>({
  name: "PrefixedID",
  description: "The id of a key: key_ followed by 22 letters and digits.",
  parseValue: toId,
  serialize: toId,
});

function toId(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Failure("USAGE", "A PrefixedID must be a string.");
}

export const role = enumOf("Role", ROLES, ROLE_MEANINGS);
const resource = enumOf("Resource", RESOURCES);
const authAction = enumOf("AuthAction", ACTIONS);
const auditAction = enumOf("AuditAction", AUDIT_ACTIONS, {
  CREATE: "The creation of a key.",
  UPDATE: "A change to a key other than a new secret.",
  ROTATE: "A new secret for a key.",
  REPLACE: "The replacement of a key by a new key with the same name.",
  DELETE: "The deletion of a key.",
});

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

const apiKeyFields: Fields<VisibleKey> = {
  ...keyFields,
  key: {
    type: required(GraphQLString),
    description: "In the response to create, the secret. In all other responses, a mask of the secret.",
    resolve: ({ key, secret }) => secret ?? maskSecret(key.secretTail),
  },
  createdAt: {
    type: required(GraphQLString),
    description: "When the key was created (RFC 3339, UTC).",
    resolve: ({ key }) => key.createdAt.toISOString(),
  },
  createdBy: {
    type: prefixedId,
    description:
      "The id of the key that created this key. If that key replaced itself, the id of its successor. Null if a local " +
      "user created this key without a key.",
    resolve: ({ key }) => key.createdBy,
  },
  lastUsedAt: {
    type: GraphQLString,
    description:
      "When the key last authenticated a request (RFC 3339, UTC). Up to a minute out of date. Null if the key was never used.",
    resolve: ({ key }, _arguments, { lastUse }) => lastUse.of(key)?.toISOString() ?? null,
  },
};

export const apiKey = new GraphQLObjectType<VisibleKey, RequestContext>({ name: "ApiKey", fields: apiKeyFields });

const meFields: Fields<KeyCaller> = {
  ...keyFields,
  rights: {
    type: listOf(permission),
    description: "The rights that roles and permissions grant together.",
    resolve: ({ rights }) => groupByResource(rights),
  },
};

export const me = new GraphQLObjectType<KeyCaller, RequestContext>({ name: "Me", fields: meFields });

const auditKey = new GraphQLObjectType<{ readonly id: string | null; readonly name: string | null }, RequestContext>({
  name: "AuditKey",
  description: "The id and name of a key at the time of the event. Null if unknown. The key may no longer exist.",
  fields: { id: { type: prefixedId }, name: { type: GraphQLString } },
});

const auditEventFields: Fields<AuditEvent> = {
  id: {
    type: required(GraphQLString),
    description: "Increases with each event. Pass it as `after` to read later events.",
  },
  at: {
    type: required(GraphQLString),
    description: "When the change was made or refused (RFC 3339, UTC).",
    resolve: ({ at }) => at.toISOString(),
  },
  actor: {
    type: auditKey,
    description: "The key of the request. Null if a local user made the request without a key.",
  },
  address: {
    type: GraphQLString,
    description: "The IP address of the client. Null if the client did not use the network.",
  },
  requestId: {
    type: GraphQLString,
    description:
      "The same id as in the access log and the X-Request-Id header. Null if the client did not use the network.",
  },
  action: { type: required(auditAction) },
  key: {
    type: required(auditKey),
    description: "The key that the change applies to.",
    resolve: ({ keyId, keyName }) => ({ id: keyId, name: keyName }),
  },
  outcome: {
    type: required(GraphQLString),
    description: "DONE, NOT_FOUND if the key to delete does not exist, or the error code of a refused change.",
  },
  occurrences: {
    type: required(GraphQLInt),
    description:
      "How many refused changes this event stands for: changes by the same actor with the same action and outcome. The " +
      "other fields describe the last one.",
  },
};

export const auditEvent = new GraphQLObjectType<AuditEvent, RequestContext>({
  name: "AuditEvent",
  fields: auditEventFields,
});

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
  },
});

export const deleteApiKeyInput = new GraphQLInputObjectType({
  name: "DeleteApiKeyInput",
  fields: { ids: { type: listOf(prefixedId) } },
});
