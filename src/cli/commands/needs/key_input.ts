/**
 * What the input of a change of keys decides: whether it also needs the permission to delete keys, and which rights it
 * grants. The contract of servers with these keys defines the input.
 */
import { type FieldNode, Kind, valueFromASTUntyped, type ValueNode, visit } from "graphql";
import * as z from "zod/mini";

/** The values of variables, by name. */
export type Variables = Readonly<Record<string, unknown>>;

export interface KeyInput {
  /** Whether the change also needs `API_KEY:DELETE_ANY`. */
  readonly needsDelete: boolean;
  /** Roles, permissions, and in words all rights of a key. */
  readonly grants: readonly string[];
  /** The variables without a value that decide about the other members. */
  readonly unknownVariables: readonly string[];
}

const OBJECT = z.record(z.string(), z.unknown());
const ROLES = z.array(z.string());
const PERMISSIONS = z.array(z.object({ resource: z.string(), actions: z.union([z.string(), z.array(z.string())]) }));

/** Reads the input of a field of `ApiKeyMutations`. */
export function readKeyInput({ name, arguments: given = [] }: FieldNode, variables: Variables): KeyInput {
  const input = given.find((argument) => argument.name.value === "input")?.value;
  const unknownVariables: string[] = [];
  const read = (member: string): unknown => {
    const node = input?.kind === Kind.OBJECT ? input.fields.find((field) => field.name.value === member)?.value : input;
    if (node === undefined) return undefined;
    unknownVariables.push(...variablesIn(node).filter((variable) => variables[variable] === undefined));
    const value = valueFromASTUntyped(node, variables);
    return node === input ? OBJECT.safeParse(value).data?.[member] : value;
  };
  switch (name.value) {
    case "create": {
      const needsDelete = read("overwrite") === true;
      return { needsDelete, grants: grantsOf(read("roles"), read("permissions")), unknownVariables };
    }
    case "update": {
      const needsDelete = read("managedBy") !== undefined;
      const grants = grantsOf(read("roles"), read("permissions"));
      const extendsLife = read("enabled") === true || read("expiresAt") !== undefined;
      return {
        needsDelete,
        grants: extendsLife ? [...grants, "all rights of the updated key"] : grants,
        unknownVariables,
      };
    }
    case "addRole":
      return { needsDelete: false, grants: grantsOf(read("role"), []), unknownVariables };
    case "rotate":
      return { needsDelete: false, grants: ["all rights of the rotated key"], unknownVariables };
    default:
      return { needsDelete: false, grants: [], unknownVariables };
  }
}

/** GraphQL accepts a single value in place of a list. */
function grantsOf(roles: unknown, permissions: unknown): readonly string[] {
  const groups = PERMISSIONS.safeParse([permissions].flat()).data ?? [];
  return [
    ...ROLES.safeParse([roles].flat()).data ?? [],
    ...groups.flatMap(({ resource, actions }) => [actions].flat().map((action) => `${resource}:${action}`)),
  ];
}

function variablesIn(node: ValueNode): readonly string[] {
  const names: string[] = [];
  visit(node, { Variable: ({ name }) => void names.push(name.value) });
  return names;
}
