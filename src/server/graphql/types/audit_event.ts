/** The types of the audit trail. */
import { GraphQLInt, GraphQLObjectType, GraphQLString } from "graphql";
import type { AuditChange, AuditEvent } from "../../../store/audit_event.ts";
import type { RequestContext } from "../../keys/request_context.ts";
import { auditAction, prefixedId } from "./words.ts";
import { type Fields, listOf, required } from "./wrappers.ts";

const auditKey = new GraphQLObjectType<{ readonly id: string | null; readonly name: string | null }, RequestContext>({
  name: "AuditKey",
  description: "The id and name of a key at the time of the event. Null if unknown. The key may no longer exist.",
  fields: { id: { type: prefixedId }, name: { type: GraphQLString } },
});

const auditChange = new GraphQLObjectType<AuditChange, RequestContext>({
  name: "AuditChange",
  description:
    "A changed field of ApiKey or CustomResource. The values of lists are separated by commas. Secrets are masked.",
  fields: {
    field: { type: required(GraphQLString) },
    before: { type: GraphQLString, description: "The value before the change. Null if there was none." },
    after: { type: GraphQLString, description: "The value after the change. Null if there is none." },
  },
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
  localUser: {
    type: GraphQLString,
    description:
      "The user of the operating system who made the request without a key, according to the environment of the " +
      "command, which the user can change. Null if there is a key, or if the user is unknown.",
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
    description: "The key that the change applies to. Its id and name are null if the change applies to a resource.",
    resolve: ({ keyId, keyName }) => ({ id: keyId, name: keyName }),
  },
  outcome: {
    type: required(GraphQLString),
    description: "DONE, NOT_FOUND if the key does not exist, or the error code of a refused change.",
  },
  changes: {
    type: listOf(auditChange),
    description:
      "What changed. If the change was refused, empty or, for a resource, only its name. Also empty if an older version " +
      "recorded the event.",
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
