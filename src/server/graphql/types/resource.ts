/** The types of custom resources. */
import { GraphQLInputObjectType, GraphQLObjectType, GraphQLString } from "graphql";
import type { CustomResource } from "../../../apikey/permission.ts";
import type { RequestContext } from "../../keys/request_context.ts";
import { type Fields, required } from "./wrappers.ts";

const customResourceFields: Fields<CustomResource> = {
  name: { type: required(GraphQLString) },
  description: { type: GraphQLString },
};

export const customResource = new GraphQLObjectType<CustomResource, RequestContext>({
  name: "CustomResource",
  description: "A resource that was added to this server. Its name is a value of the enum Resource.",
  fields: customResourceFields,
});

export const addResourceInput = new GraphQLInputObjectType({
  name: "AddResourceInput",
  fields: {
    name: {
      type: required(GraphQLString),
      description: "Capital letters, digits and single underscores between them, for example ORDER_ITEMS.",
    },
    description: { type: GraphQLString },
  },
});
