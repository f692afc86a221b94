/** Removes secrets and characters that a store cannot hold from text of requests. */
import { redactSecrets } from "../../apikey/secret.ts";

/** In UTF-16 code units. */
const MAX_LENGTH = 255;

/**
 * Makes a text from a request safe to compare in a store and to record in the audit trail: at most 255 UTF-16 code
 * units, secrets masked, and lone surrogates and U+0000, which PostgreSQL cannot store, replaced by U+FFFD. Ids of keys
 * do not change, and no other text becomes one.
 */
export function sanitizeText(text: string): string {
  return redactSecrets(text.slice(0, MAX_LENGTH).toWellFormed().replaceAll("\0", "\ufffd"));
}
