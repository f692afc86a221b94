/** The query that reads the audit trail. */
import { GraphQLInt, GraphQLString } from "graphql";
import { Failure } from "../../../apikey/failure.ts";
import { parseTime } from "../../../apikey/lifetime.ts";
import { RULES } from "../../auth/authorization.ts";
import { sanitizeText } from "../../keys/sanitize_text.ts";
import { auditEvent } from "../types/audit_event.ts";
import { listOf, required } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

const { Query } = RULES;

/** The maximum number of events in a response. */
const MAX_PAGE_SIZE = 1000;

interface PageArguments {
  readonly after?: string | null;
  readonly first: number;
  readonly since?: string | null;
  readonly key?: string | null;
}

export const auditEvents = authorized<PageArguments>(Query.auditEvents, {
  type: listOf(auditEvent),
  description:
    "Changes to keys and refused changes, oldest first. `after` is the id of the last event of the previous page. " +
    "Without `after`, the page starts with the oldest event. With `since` (RFC 3339), it has only events since that " +
    "time. With `key`, it has only events of the key with this id, or of each key that has or had this name. " +
    `A page has at most ${MAX_PAGE_SIZE} events.`,
  args: {
    after: { type: GraphQLString },
    first: { type: required(GraphQLInt), defaultValue: 100 },
    since: { type: GraphQLString },
    key: { type: GraphQLString },
  },
  resolve: ({ after, first, since, key }, { store, size }) => {
    if (first < 1 || first > MAX_PAGE_SIZE) {
      throw new Failure("USAGE", `first must be a number from 1 to ${MAX_PAGE_SIZE}.`);
    }
    if (after !== undefined && after !== null && !/^\d{1,18}$/.test(after)) {
      throw new Failure("USAGE", "after must be the id of an event.");
    }
    const selection = {
      since: typeof since === "string" ? parseTime(since) : undefined,
      key: typeof key === "string" ? sanitizeText(key.normalize("NFC")) : undefined,
    };
    return size.readInTurn(() => store.listEvents(after ?? undefined, first, selection));
  },
});
