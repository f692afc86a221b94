/** The enums and the id of a key. */
import { GraphQLEnumType, GraphQLScalarType } from "graphql";
import { Failure } from "../../../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../../../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../../../apikey/role.ts";
import { AUDIT_ACTIONS } from "../../../store/audit_event.ts";
import type { KeySort } from "../../../store/key_order.ts";

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

/** Makes a type print every stored value, because a key can have a permission on a resource that is unknown. */
export function printUnknownValues(type: GraphQLEnumType): GraphQLEnumType {
  type.serialize = (value) => String(value);
  return type;
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
export const resource = printUnknownValues(enumOf("Resource", RESOURCES));
export const authAction = enumOf("AuthAction", ACTIONS);

export const auditAction = enumOf("AuditAction", AUDIT_ACTIONS, {
  CREATE: "The creation of a key.",
  UPDATE: "A change to a key.",
  ROTATE: "The replacement of the secret of a key.",
  REPLACE: "The replacement of a key by a new key with the same name.",
  DELETE: "The deletion of a key.",
  ADD_RESOURCE: "The addition of a resource.",
  REMOVE_RESOURCE: "The removal of a resource.",
  VERIFY: "Requests to /verify whose key was refused.",
  INTROSPECT: "Requests to /introspect whose key was refused.",
});

const KEY_SORTS = ["CREATED", "NAME", "USED", "EXPIRES"] as const satisfies readonly KeySort[];

export const apiKeySort = enumOf("ApiKeySort", KEY_SORTS, {
  CREATED: "In the order of creation. Each key that exists throughout is on exactly one page.",
  NAME: "By name, in the order of code points.",
  USED: "By the last use. Keys that were never used are first.",
  EXPIRES: "By expiry. Keys that do not expire are last.",
});
