/** Limits the size of GraphQL documents. Also declares the limit for the keys in a response, which the handler enforces. */
import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type SelectionSetNode,
  Source,
  TokenKind,
  type ValidationRule,
} from "graphql";

export interface DocumentLimits {
  /** The maximum number of levels of nested fields. */
  readonly depth: number;
  /** The maximum number of fields with an alias. An alias in a fragment counts each time the fragment is spread. */
  readonly aliases: number;
  /** The maximum number of lexical tokens. Comments do not count. The parser enforces this limit. */
  readonly tokens: number;
  /** The maximum number of keys in one response. A longer list would delay all other requests and use a lot of memory. */
  readonly keys: number;
  /**
   * The maximum size of a response. `keys/response_size.ts` defines the size, which is about the number of bytes. The
   * default is enough for the ids and names of a million keys.
   */
  readonly responseSize: number;
}

/** The default limits. Documents written by hand and common introspection queries do not exceed them. */
export const DEFAULT_LIMITS: DocumentLimits = {
  depth: 20,
  aliases: 100,
  tokens: 5000,
  keys: 100_000,
  responseSize: 100_000_000,
};

/**
 * The maximum number of levels of nested brackets in a document. graphql-js needs more stack for each level, and runs out
 * of stack at about 2000 levels.
 */
const MAX_BRACKETS = 500;

const OPENING: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * Rejects documents that graphql-js cannot parse, because their brackets are nested too deeply.
 *
 * @param tokens the number of tokens to read; the parser rejects the document if it has more
 * @throws {GraphQLError} if there are too many levels of brackets
 */
export function limitBrackets(text: string, tokens: number): void {
  // Few documents have so many brackets. Only for them, the lexer tells brackets from text in strings and comments.
  if ((text.match(/[{[(]/g)?.length ?? 0) <= MAX_BRACKETS) return;
  if (!hasDeepBrackets(new Lexer(new Source(text)), tokens)) return;
  throw new GraphQLError(`The document has more than ${MAX_BRACKETS} levels of brackets.`);
}

function hasDeepBrackets(lexer: Lexer, tokens: number): boolean {
  let level = 0;
  try {
    for (let i = 0; i < tokens && level <= MAX_BRACKETS; i++) {
      const { kind } = lexer.advance();
      if (kind === TokenKind.EOF) break;
      if (OPENING.has(kind)) level++;
      else if (CLOSING.has(kind)) level--;
    }
  } catch {
    // The parser reports the syntax error.
  }
  return level > MAX_BRACKETS;
}

/** A validation rule that rejects operations with too many levels or aliases. */
export function limitRule({ depth, aliases }: Pick<DocumentLimits, "depth" | "aliases">): ValidationRule {
  return (context) => {
    const fragmentSizes = new Map<string, Size>();
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
      const known = fragmentSizes.get(name);
      if (known !== undefined) return known;
      // Ends the recursion if a fragment spreads itself. Another validation rule rejects such a fragment.
      fragmentSizes.set(name, EMPTY);
      const size = sizeOf(selectionSet);
      fragmentSizes.set(name, size);
      return size;
    };
    return {
      OperationDefinition: (operation) => {
        const size = sizeOf(operation.selectionSet);
        const report = (unit: string, actual: number, limit: number): void => {
          context.reportError(new GraphQLError(`The operation has ${actual} ${unit}. The limit is ${limit}.`));
        };
        if (size.depth > depth) report("levels of fields", size.depth, depth);
        if (size.aliases > aliases) report("aliases", size.aliases, aliases);
      },
    };
  };
}

type Size = Pick<DocumentLimits, "depth" | "aliases">;

const EMPTY: Size = { depth: 0, aliases: 0 };
