/** The types of a page of keys, as in the Relay cursor specification. */
import { GraphQLBoolean, GraphQLObjectType, GraphQLString } from "graphql";
import type { KeySort, OrderedKey, Position } from "../../../store/key_order.ts";
import { toCursor } from "../../keys/pages/cursor.ts";
import type { KeyPage } from "../../keys/pages/list_page.ts";
import type { RequestContext } from "../../keys/request_context.ts";
import { apiKey } from "./api_key.ts";
import { type Fields, listOf, required } from "./wrappers.ts";

/** An item of a page. The key of the item has the same source. */
type Edge = OrderedKey & { readonly sort: KeySort };

const edgeFields: Fields<Edge> = {
  cursor: {
    type: required(GraphQLString),
    description: "The place of the key in the order. Pass it as `after` to continue behind the key.",
    resolve: ({ position, sort }) => toCursor(position, sort),
  },
  node: { type: required(apiKey), resolve: (edge) => edge },
};

const apiKeyEdge = new GraphQLObjectType<Edge, RequestContext>({ name: "ApiKeyEdge", fields: edgeFields });

function cursorOf(position: Position | undefined, sort: KeySort): string | null {
  return position === undefined ? null : toCursor(position, sort);
}

const pageInfoFields: Fields<KeyPage> = {
  hasNextPage: {
    type: required(GraphQLBoolean),
    description: "Whether more keys may follow. With a filter, the next page can be empty and still have a next page.",
  },
  hasPreviousPage: { type: required(GraphQLBoolean), description: "Whether the page has an `after`." },
  startCursor: {
    type: GraphQLString,
    description: "The cursor of the first key of the page. Null if the page is empty.",
    resolve: ({ keys, sort }) => cursorOf(keys[0]?.position, sort),
  },
  endCursor: {
    type: GraphQLString,
    description: "Pass it as `after` to get the next page. With a filter, it can be behind the last key of the page.",
    resolve: ({ end, sort }) => cursorOf(end, sort),
  },
};

const pageInfo = new GraphQLObjectType<KeyPage, RequestContext>({ name: "PageInfo", fields: pageInfoFields });

const connectionFields: Fields<KeyPage> = {
  edges: { type: listOf(apiKeyEdge), resolve: ({ keys }) => keys },
  pageInfo: { type: required(pageInfo), resolve: (page) => page },
};

export const apiKeyConnection = new GraphQLObjectType<KeyPage, RequestContext>({
  name: "ApiKeyConnection",
  fields: connectionFields,
});
