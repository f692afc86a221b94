/** Fields that enforce a rule of `auth/authorization.ts`. The schema states the permission that the rule needs. */
import { DirectiveLocation, GraphQLDirective, type GraphQLFieldConfig, GraphQLString } from "graphql";
import { authorize, describeRule, type Rule, type Scope, statedPermission } from "../../auth/authorization.ts";
import type { RequestContext } from "../../keys/request_context.ts";

type Field<Arguments> = GraphQLFieldConfig<unknown, RequestContext, Arguments>;

interface AuthorizedField<Arguments> extends Omit<Field<Arguments>, "resolve"> {
  readonly description: string;
  /** Called if the caller has the permission that the rule requires. */
  readonly resolve: (given: Arguments, context: RequestContext, scope: Scope) => unknown;
  /** Called if the caller lacks the permission, before the caller gets the error. */
  readonly onForbidden?: (given: Arguments, error: unknown, context: RequestContext) => Promise<void>;
}

/** Creates a field that enforces a rule. */
export function authorized<Arguments = Record<string, never>>(
  rule: Rule,
  field: AuthorizedField<Arguments>,
): Field<Arguments> {
  const { resolve, onForbidden, description, ...config } = field;
  const usePermissions = statedPermission(rule);
  return {
    ...config,
    description: describe(rule, description),
    extensions: { rule, ...usePermissions && { directives: { usePermissions } } },
    resolve: (_source, given, context) => {
      let scope: Scope;
      try {
        scope = authorize(rule, context.caller);
      } catch (error) {
        if (onForbidden === undefined) throw error;
        return onForbidden(given, error, context).then(() => Promise.reject(error));
      }
      return resolve(given, context, scope);
    },
  };
}

/** States the rule in the form in which servers with these keys publish it. Introspection has no directives of fields. */
function describe(rule: Rule, description: string): string {
  const text = `${description} Needs ${describeRule(rule)}.`;
  const stated = statedPermission(rule);
  if (stated === undefined) return text;
  return `#### Required Permissions:

- Action: **${stated.action}**
- Resource: **${stated.resource}**

#### Description:

${text}`;
}

/** The directive in `extensions.directives` of fields that need a permission. */
export const usePermissions = new GraphQLDirective({
  name: "usePermissions",
  description: "The permission that the caller needs to use the field for every key.",
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: { action: { type: GraphQLString }, resource: { type: GraphQLString } },
});
