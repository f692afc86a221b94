/** Finds the permissions that a valid GraphQL document needs, and the rights that it grants to keys. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from "graphql";
import type { NamedPermission } from "../../../apikey/permission.ts";
import { type KeyInput, readKeyInput, type Variables } from "./key_input.ts";
import { statedPermission } from "./stated_permission.ts";

export interface Needs extends Pick<KeyInput, "grants" | "unknownVariables"> {
  /** The permissions, sorted. */
  readonly permissions: readonly NamedPermission[];
  /** The number of fields for which the schema states no permission: neither for the field, nor above or below it. */
  readonly unstated: number;
}

/** The result of walking through a part of a document. It may list an item several times. */
interface Found extends Needs {
  /** Whether the schema states a permission for any field. */
  readonly isStated: boolean;
}

const NOTHING: Found = { permissions: [], isStated: false, unstated: 0, grants: [], unknownVariables: [] };

function merge(parts: readonly Found[]): Found {
  return {
    permissions: parts.flatMap(({ permissions }) => permissions),
    isStated: parts.some(({ isStated }) => isStated),
    unstated: parts.reduce((sum, { unstated }) => sum + unstated, 0),
    grants: parts.flatMap(({ grants }) => grants),
    unknownVariables: parts.flatMap(({ unknownVariables }) => unknownVariables),
  };
}

/** The type that groups the changes of keys. */
const KEY_MUTATIONS = "ApiKeyMutations";

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
  const { permissions, unstated, grants, unknownVariables } = merge(
    document.definitions
      .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
      .map((operation) => new Walk(operation, fragments, schema, variables).run()),
  );
  return {
    permissions: sortedSet(permissions),
    unstated,
    grants: sortedSet(grants),
    unknownVariables: sortedSet(unknownVariables),
  };
}

function sortedSet<Item extends string>(items: readonly Item[]): readonly Item[] {
  return [...new Set(items)].toSorted();
}

/** Walks through one operation. In all methods, `isCovered` says if the schema states a permission for a field above. */
class Walk {
  /** The variables with a value or a default value. */
  readonly #variables: Variables;
  readonly #visited = new Set<string>();

  constructor(
    readonly operation: OperationDefinitionNode,
    readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    readonly schema: GraphQLSchema,
    readonly given: Variables,
  ) {
    const { variableDefinitions = [] } = operation;
    const defaults = variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue === undefined ? [] : [[variable.name.value, valueFromASTUntyped(defaultValue)]]
    );
    this.#variables = { ...Object.fromEntries(defaults), ...given };
  }

  run(): Found {
    const { operation: { operation, selectionSet }, schema } = this;
    return this.#selections(selectionSet, schema.getRootType(operation) ?? undefined, false);
  }

  #selections({ selections }: SelectionSetNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Found {
    return merge(
      selections
        .filter((selection) => !isOmitted(selection, this.given))
        .map((selection) => this.#selection(selection, parent, isCovered)),
    );
  }

  #selection(selection: SelectionNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Found {
    if (selection.kind === Kind.FIELD) return this.#field(selection, parent, isCovered);
    if (selection.kind === Kind.INLINE_FRAGMENT) return this.#fragment(selection, parent, isCovered);
    const { name: { value: name } } = selection;
    const fragment = this.fragments.get(name);
    // A document can spread fragments so often that visiting every spread would not end.
    const visit = `${name} ${isCovered}`;
    if (fragment === undefined || this.#visited.has(visit)) return NOTHING;
    this.#visited.add(visit);
    return this.#fragment(fragment, parent, isCovered);
  }

  #fragment(
    { typeCondition, selectionSet }: FragmentDefinitionNode | InlineFragmentNode,
    parent: GraphQLNamedType | undefined,
    isCovered: boolean,
  ): Found {
    const type = typeCondition === undefined ? parent : this.schema.getType(typeCondition.name.value);
    return this.#selections(selectionSet, type, isCovered);
  }

  #field(node: FieldNode, parent: GraphQLNamedType | undefined, isCovered: boolean): Found {
    // Every valid key may read __typename, __schema and __type.
    if (node.name.value.startsWith("__")) return NOTHING;
    const fields = fieldsOf(parent, node.name.value, this.schema);
    const permissions = fields.map(statedPermission).filter((permission) => permission !== undefined);
    const isStated = permissions.length > 0;
    const [field] = fields;
    const below = node.selectionSet === undefined || field === undefined
      ? NOTHING
      : this.#selections(node.selectionSet, getNamedType(field.type), isCovered || isStated);
    const isUnstated = !isCovered && !isStated && !below.isStated;
    return merge([
      { ...NOTHING, permissions, isStated },
      parent?.name === KEY_MUTATIONS ? this.#keyInput(node) : NOTHING,
      { ...below, unstated: isUnstated ? 1 : below.unstated },
    ]);
  }

  #keyInput(node: FieldNode): Found {
    const { needsDelete, grants, unknownVariables } = readKeyInput(node, this.#variables);
    return { ...NOTHING, permissions: needsDelete ? ["API_KEY:DELETE_ANY"] : [], grants, unknownVariables };
  }
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
