/** GraphQL documents, parsed and validated once for all requests that send them. */
import { type DocumentNode, parse, type Source, specifiedRules, validate } from "graphql";
import { type DocumentLimits, limitRule } from "./limits.ts";
import { setBounded } from "../set_bounded.ts";

/** How many valid documents are remembered, and how long they may be, in UTF-16 code units. */
const REMEMBERED_DOCUMENTS = 500;
const LONGEST_REMEMBERED = 10_000;

/**
 * `parse` and `validate` with a memory, within limits.
 *
 * @param known documents that are valid
 */
export function createDocumentCache(
  limits: DocumentLimits,
  known: readonly string[] = [],
): { readonly parse: typeof parse; readonly validate: typeof validate } {
  const rules = [...specifiedRules, limitRule(limits)];
  const knownTexts = new Set(known);
  const documents = new Map<string, DocumentNode>();
  return {
    parse: (source: string | Source) => {
      const text = typeof source === "string" ? source : source.body;
      return documents.get(text) ?? parse(text, { maxTokens: limits.tokens });
    },
    validate: (schema, document) => {
      const text = document.loc?.source.body;
      if (text !== undefined && documents.get(text) === document) return [];
      const errors = text !== undefined && knownTexts.has(text) ? [] : validate(schema, document, rules);
      if (errors.length > 0 || text === undefined || text.length > LONGEST_REMEMBERED) return errors;
      setBounded(documents, text, document, REMEMBERED_DOCUMENTS);
      return errors;
    },
  };
}
