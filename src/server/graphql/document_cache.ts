/** Caches parsed and validated GraphQL documents, because many requests send the same document. */
import { type DocumentNode, parse, type Source, specifiedRules, validate } from "graphql";
import { setBounded } from "../auth/bounded_map.ts";
import { type DocumentLimits, limitBrackets, limitRule } from "./limits.ts";

/** The maximum number of cached documents. */
const MAX_DOCUMENTS = 500;

/** The maximum length of a cached document, in UTF-16 code units. */
const MAX_DOCUMENT_LENGTH = 10_000;

/**
 * Returns `parse` and `validate` of graphql-js with a cache. They reject documents that exceed the limits.
 *
 * @param validDocuments documents that are known to be valid; they are not validated again
 */
export function createDocumentCache(
  limits: DocumentLimits,
  validDocuments: readonly string[] = [],
): { readonly parse: typeof parse; readonly validate: typeof validate } {
  const rules = [...specifiedRules, limitRule(limits)];
  const knownToBeValid = new Set(validDocuments);
  const documents = new Map<string, DocumentNode>();
  return {
    parse: (source: string | Source) => {
      const text = typeof source === "string" ? source : source.body;
      const cached = documents.get(text);
      if (cached !== undefined) return cached;
      limitBrackets(text, limits.tokens);
      return parse(text, { maxTokens: limits.tokens });
    },
    validate: (schema, document) => {
      const text = document.loc?.source.body;
      if (text !== undefined && documents.get(text) === document) return [];
      const errors = text !== undefined && knownToBeValid.has(text) ? [] : validate(schema, document, rules);
      if (errors.length > 0 || text === undefined || text.length > MAX_DOCUMENT_LENGTH) return errors;
      setBounded(documents, text, document, MAX_DOCUMENTS);
      return errors;
    },
  };
}
