/**
 * The permission that a schema states for a field. SDL states it with the directive `@usePermissions`. Introspection does
 * not show directives, so servers also state it in the description of the field.
 */
import { type GraphQLField, type GraphQLSchema, isInterfaceType, isObjectType, Kind } from "graphql";
import { ACTIONS, type NamedPermission } from "../../../apikey/permission.ts";
import { canBeEnumName } from "../../../apikey/unknown_name.ts";

type Field = GraphQLField<unknown, unknown>;

/** @returns `undefined` if the schema states no permission, or not the name of a resource and a known action */
export function statedPermission(field: Field): NamedPermission | undefined {
  const [resource, action] = inDirective(field) ?? inDescription(field) ?? [];
  const known = ACTIONS.find((candidate) => candidate === action);
  return known !== undefined && resource !== undefined && canBeEnumName(resource) ? `${resource}:${known}` : undefined;
}

/** Whether a schema states a permission for any field. */
export function statesPermissions(schema: GraphQLSchema): boolean {
  return Object.values(schema.getTypeMap()).some((type) =>
    (isObjectType(type) || isInterfaceType(type)) &&
    Object.values(type.getFields()).some((field) => statedPermission(field) !== undefined)
  );
}

type Words = readonly [resource: string | undefined, action: string | undefined];

function inDirective({ astNode }: Field): Words | undefined {
  const directive = astNode?.directives?.find(({ name }) => name.value === "usePermissions");
  if (directive === undefined) return undefined;
  const wordOf = (argument: string): string | undefined => {
    const value = directive.arguments?.find(({ name }) => name.value === argument)?.value;
    return value?.kind === Kind.STRING || value?.kind === Kind.ENUM ? value.value : undefined;
  };
  return [wordOf("resource"), wordOf("action")];
}

/** The part of a description that states permissions. The text after the second heading may contain anything. */
const SECTION = /^#### Required Permissions:\s*$(.*?)(?=^####|$(?![\s\S]))/ms;

function inDescription({ description }: Field): Words | undefined {
  const section = SECTION.exec(String(description ?? ""))?.[1];
  if (section === undefined) return undefined;
  const wordAfter = (title: string): string | undefined =>
    new RegExp(`^- ${title}: \\*\\*(\\w+)\\*\\*\\s*$`, "m").exec(section)?.[1];
  return [wordAfter("Resource"), wordAfter("Action")];
}
