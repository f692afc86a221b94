/** The query that reads all keys page by page (Relay cursor specification). */
import { GraphQLInt, GraphQLString } from "graphql";
import { Failure } from "../../../apikey/failure.ts";
import type { KeySort } from "../../../store/key_order.ts";
import { RULES } from "../../auth/authorization.ts";
import { parseCursor } from "../../keys/pages/cursor.ts";
import { type FilterInput, parseFilter } from "../../keys/pages/key_filter.ts";
import { readPage } from "../../keys/pages/list_page.ts";
import { apiKeyConnection as connection } from "../types/connection.ts";
import { apiKeyFilter } from "../types/inputs.ts";
import { apiKeySort } from "../types/words.ts";
import { required } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

/** The maximum number of keys on a page. */
const MAX_PAGE_SIZE = 1000;

/** The arguments of `apiKeyConnection`. */
interface ConnectionArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly filter?: FilterInput | null;
  readonly sort?: KeySort | null;
}

export const apiKeyConnection = authorized<ConnectionArguments>(RULES.Query.apiKeyConnection, {
  type: required(connection),
  description:
    `One page of the keys that the caller may read. A page has at most \`first\` keys (1 to ${MAX_PAGE_SIZE}), and fewer if ` +
    "the filter matches few keys. Pass `endCursor` of `pageInfo` as `after` until `hasNextPage` is false.",
  args: {
    first: { type: GraphQLInt, defaultValue: 100 },
    after: { type: GraphQLString },
    filter: { type: apiKeyFilter },
    sort: { type: apiKeySort, defaultValue: "CREATED" },
  },
  resolve: ({ first, after, filter, sort }, context, scope) => {
    const size = first ?? 100;
    if (size < 1 || size > MAX_PAGE_SIZE) {
      throw new Failure("USAGE", `first must be a number from 1 to ${MAX_PAGE_SIZE}.`);
    }
    const order = sort ?? "CREATED";
    const request = {
      sort: order,
      first: size,
      after: typeof after === "string" ? parseCursor(after, order) : undefined,
      filter: filter ? parseFilter(filter, context.caller.resources.names) : undefined,
    };
    return context.size.readInTurn(() => readPage(request, context, scope));
  },
});
