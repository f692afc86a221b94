/** Finds the permissions that a valid GraphQL document needs, and the rights that it grants to keys. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
  type ValueNode,
  visit,
} from "graphql";
import * as z from "zod/mini";
import type { NamedPermission } from "../../../apikey/permission.ts";
import { statedPermission } from "./stated_permission.ts";

/** The values of variables, by name. */
export type Variables = Readonly<Record<string, unknown>>;

export interface Needs {
  /** The permissions, sorted. */
  readonly permissions: readonly NamedPermission[];
  /** The number of fields for which the schema states no permission: neither for the field, nor above or below it. */
  readonly unstated: number;
  /** What the document grants to keys: roles, permissions, and in words all rights of a key. */
  readonly grants: readonly string[];
  /** The variables without a value that decide about permissions or grants. */
  readonly unknownVariables: readonly string[];
}

/** What the selections below a field state. */
interface Stated {
  readonly isStated: boolean;
  /** See `Needs`. */
  readonly unstated: number;
}

const NOTHING: Stated = { isStated: false, unstated: 0 };

/** The type that groups the changes of keys. The input of its fields decides about further permissions and grants. */
const KEY_MUTATIONS = "ApiKeyMutations";

const ROLES = z.array(z.string());
const PERMISSIONS = z.array(z.object({ resource: z.string(), actions: z.union([z.string(), z.array(z.string())]) }));

/**
 * Walks through all operations of a document.
 *
 * @param document valid for the schema
 */
export function findNeeds(document: DocumentNode, schema: GraphQLSchema, variables: Variables): Needs {
  const fragments = new Map(
    document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION).map((
      node,
    ) => [node.name.value, node]),
  );
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const walks = operations.map((operation) => walkOperation(operation, fragments, schema, variables));
  const union = <Item>(items: (walk: Walk) => Iterable<Item>): readonly Item[] =>
    [...new Set(walks.flatMap((walk) => [...items(walk)]))].toSorted();
  return {
    permissions: union(({ permissions }) => permissions),
    unstated: walks.reduce((sum, walk) => sum + walk.unstated, 0),
    grants: union(({ grants }) => grants),
    unknownVariables: union(({ unknownVariables }) => unknownVariables),
  };
}

interface Walk extends Stated {
  readonly permissions: ReadonlySet<NamedPermission>;
  readonly grants: ReadonlySet<string>;
  readonly unknownVariables: ReadonlySet<string>;
}

function walkOperation(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  schema: GraphQLSchema,
  given: Variables,
): Walk {
  const permissions = new Set<NamedPermission>();
  const grants = new Set<string>();
  const unknownVariables = new Set<string>();
  const visited = new Set<string>();
  const variables = { ...defaultsOf(operation), ...given };

  function walk(set: SelectionSetNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Stated {
    return set.selections
      .filter((selection) => !isOmitted(selection, given))
      .map((selection) => walkSelection(selection, parent, isCovered))
      .reduce((all, one) => ({
        isStated: all.isStated || one.isStated,
        unstated: all.unstated + one.unstated,
      }), NOTHING);
  }

  function walkSelection(selection: SelectionNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Stated {
    if (selection.kind === Kind.FIELD) return walkField(selection, parent, isCovered);
    if (selection.kind === Kind.INLINE_FRAGMENT) return walkFragment(selection, parent, isCovered);
    const fragment = fragments.get(selection.name.value);
    // A fragment can be spread so often that visiting each spread would never end.
    const visit = `${selection.name.value} ${isCovered}`;
    if (fragment === undefined || visited.has(visit)) return NOTHING;
    visited.add(visit);
    return walkFragment(fragment, parent, isCovered);
  }

  function walkFragment(
    { typeCondition, selectionSet }: Pick<FragmentDefinitionNode, "selectionSet"> & {
      readonly typeCondition?: FragmentDefinitionNode["typeCondition"] | undefined;
    },
    parent: GraphQLNamedType | undefined,
    isCovered: boolean,
  ): Stated {
    return walk(selectionSet, typeCondition ? schema.getType(typeCondition.name.value) : parent, isCovered);
  }

  function walkField(node: FieldNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Stated {
    // Every valid key may read __typename, __schema and __type.
    if (node.name.value.startsWith("__")) return NOTHING;
    const fields = fieldsOf(parent, node.name.value, schema);
    const stated = fields.map(statedPermission).filter((permission) => permission !== undefined);
    stated.forEach((permission) => permissions.add(permission));
    if (parent?.name === KEY_MUTATIONS) readKeyInput(node);
    const isStated = stated.length > 0;
    const [field] = fields;
    const below = node.selectionSet === undefined || field === undefined
      ? NOTHING
      : walk(node.selectionSet, getNamedType(field.type), isCovered || isStated);
    if (isStated || below.isStated) return { isStated: true, unstated: below.unstated };
    return { isStated: false, unstated: isCovered ? 0 : 1 };
  }

  function readKeyInput({ name, arguments: given = [] }: FieldNode): void {
    const input = given.find((argument) => argument.name.value === "input")?.value;
    if (input === undefined) return;
    const read = (member: string): unknown => readMember(input, member);
    switch (name.value) {
      case "create":
        if (read("overwrite") === true) permissions.add("API_KEY:DELETE_ANY");
        return addGrants(read("roles"), read("permissions"));
      case "update":
        if (read("managedBy") !== undefined) permissions.add("API_KEY:DELETE_ANY");
        if (read("enabled") === true || read("expiresAt") !== undefined) grants.add("all rights of the updated key");
        return addGrants(read("roles"), read("permissions"));
      case "addRole":
        return addGrants(read("role"), []);
      case "rotate":
        return void grants.add("all rights of the rotated key");
    }
  }

  function addGrants(roles: unknown, groups: unknown): void {
    // GraphQL accepts a single value in place of a list.
    for (const role of ROLES.safeParse([roles].flat()).data ?? []) grants.add(role);
    for (const { resource, actions } of PERMISSIONS.safeParse([groups].flat()).data ?? []) {
      for (const action of [actions].flat()) grants.add(`${resource}:${action}`);
    }
  }

  function readMember(input: ValueNode, member: string): unknown {
    if (input.kind === Kind.OBJECT) {
      const field = input.fields.find(({ name }) => name.value === member);
      return field && readValue(field.value);
    }
    return JSON_OBJECT.safeParse(readValue(input)).data?.[member];
  }

  function readValue(node: ValueNode): unknown {
    visit(node, {
      Variable: ({ name }) => {
        if (variables[name.value] === undefined) unknownVariables.add(name.value);
      },
    });
    return valueFromASTUntyped(node, variables);
  }

  const { isStated, unstated } = walk(
    operation.selectionSet,
    schema.getRootType(operation.operation) ?? undefined,
    false,
  );
  return { isStated, unstated, permissions, grants, unknownVariables };
}

const JSON_OBJECT = z.record(z.string(), z.unknown());

function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue === undefined ? [] : [[variable.name.value, valueFromASTUntyped(defaultValue)]]
    ),
  );
}

/** Whether `@skip` or `@include` omits a selection. A default value decides nothing, because the caller can change it. */
function isOmitted({ directives = [] }: SelectionNode, given: Variables): boolean {
  return directives.some(({ name, arguments: [condition] = [] }) => {
    const value = condition && valueFromASTUntyped(condition.value, given);
    return (name.value === "skip" && value === true) || (name.value === "include" && value === false);
  });
}

/** The fields that a selection can reach: for an interface, also those of all types that implement it. */
function fieldsOf(
  parent: GraphQLNamedType | undefined,
  name: string,
  schema: GraphQLSchema,
): readonly GraphQLField<unknown, unknown>[] {
  if (!isObjectType(parent) && !isInterfaceType(parent)) return [];
  const types = [parent, ...isAbstractType(parent) ? schema.getPossibleTypes(parent) : []];
  return types.map((type) => type.getFields()[name]).filter((field) => field !== undefined);
}
