/** How much one request may ask for. */
import { type FragmentDefinitionNode, GraphQLError, Kind, type SelectionSetNode, type ValidationRule } from "graphql";

export interface DocumentLimits {
  /** Fields within fields. */
  readonly depth: number;
  /** Fields with an alias, each counted as often as fragments repeat it. */
  readonly aliases: number;
  /** Lexical tokens, comments not among them. The parser counts them. */
  readonly tokens: number;
  /** Keys in one answer. A list that is longer would keep everybody else waiting, and take memory without end. */
  readonly keys: number;
}

/** More than anybody writes by hand, and more than the usual introspection queries need. */
export const DEFAULT_LIMITS: DocumentLimits = { depth: 20, aliases: 100, tokens: 5000, keys: 100_000 };

/** Refuses operations that go beyond depth or aliases. */
export function limitRule({ depth, aliases }: DocumentLimits): ValidationRule {
  return (context) => {
    const measured = new Map<string, Size>();
    const sizeOf = (selectionSet: SelectionSetNode): Size => {
      const sizes = selectionSet.selections.map((selection): Size => {
        if (selection.kind === Kind.FRAGMENT_SPREAD) return sizeOfFragment(context.getFragment(selection.name.value));
        const inside = selection.selectionSet === undefined ? EMPTY : sizeOf(selection.selectionSet);
        if (selection.kind === Kind.INLINE_FRAGMENT) return inside;
        return { depth: inside.depth + 1, aliases: inside.aliases + (selection.alias === undefined ? 0 : 1) };
      });
      return sizes.reduce(
        (all, one) => ({ depth: Math.max(all.depth, one.depth), aliases: all.aliases + one.aliases }),
        EMPTY,
      );
    };
    const sizeOfFragment = (fragment: FragmentDefinitionNode | null | undefined): Size => {
      if (!fragment) return EMPTY;
      const { name: { value: name }, selectionSet } = fragment;
      const known = measured.get(name);
      if (known !== undefined) return known;
      // A fragment that spreads itself is another rule's affair: here it ends.
      measured.set(name, EMPTY);
      const size = sizeOf(selectionSet);
      measured.set(name, size);
      return size;
    };
    return {
      OperationDefinition: (operation) => {
        const size = sizeOf(operation.selectionSet);
        const refuse = (what: string, is: number, limit: number): void => {
          context.reportError(new GraphQLError(`This has ${is} ${what}; at most ${limit} are allowed.`));
        };
        if (size.depth > depth) refuse("levels of fields", size.depth, depth);
        if (size.aliases > aliases) refuse("aliases", size.aliases, aliases);
      },
    };
  };
}

type Size = Pick<DocumentLimits, "depth" | "aliases">;

const EMPTY: Size = { depth: 0, aliases: 0 };
