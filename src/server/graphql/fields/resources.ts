/** The query and the mutations of custom resources. */
import { GraphQLBoolean, GraphQLString } from "graphql";
import { RULES } from "../../auth/authorization.ts";
import { recordRefusal } from "../../keys/refusal_audit.ts";
import {
  addition,
  addResource,
  type AddResourceInput,
  removal,
  removeResource,
} from "../../resources/change_resources.ts";
import { addResourceInput, customResource } from "../types/resource.ts";
import { listOf, required } from "../types/wrappers.ts";
import { authorized } from "./authorized.ts";

const { Query, ResourceMutations } = RULES;

export const resources = authorized(Query.resources, {
  type: listOf(customResource),
  description: "The resources that were added to this server, by name.",
  resolve: (_given, { caller }) => caller.resources.custom,
});

export const add = authorized<{ readonly input: AddResourceInput }>(ResourceMutations.add, {
  type: required(customResource),
  description: "Adds a resource. From the next request on, permissions can name it. Roles cover it too.",
  args: { input: { type: required(addResourceInput) } },
  resolve: ({ input }, context) => addResource(input, context),
  onForbidden: ({ input }, error, context) => recordRefusal("ADD_RESOURCE", addition(input.name), error, context),
});

export const remove = authorized<{ readonly name: string }>(ResourceMutations.remove, {
  type: required(GraphQLBoolean),
  description: "Removes a resource and returns true. Fails if any key has a permission on it.",
  args: { name: { type: required(GraphQLString) } },
  resolve: ({ name }, context) => removeResource(name, context).then(() => true),
  onForbidden: ({ name }, error, context) => recordRefusal("REMOVE_RESOURCE", removal(name), error, context),
});
