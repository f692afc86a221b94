/** Short forms for the types of fields and inputs. */
import { type GraphQLFieldConfig, GraphQLList, GraphQLNonNull, type GraphQLType } from "graphql";
import type { RequestContext } from "../../keys/request_context.ts";

/** The fields of a type whose resolvers get a `Source`. */
export type Fields<Source> = Record<string, GraphQLFieldConfig<Source, RequestContext>>;

export function required<Type extends GraphQLType>(type: Type): GraphQLNonNull<Type> {
  return new GraphQLNonNull(type);
}

export function listOf<Type extends GraphQLType>(type: Type): GraphQLNonNull<GraphQLList<GraphQLNonNull<Type>>> {
  return required(new GraphQLList(required(type)));
}

export function optionalListOf<Type extends GraphQLType>(type: Type): GraphQLList<GraphQLNonNull<Type>> {
  return new GraphQLList(required(type));
}
