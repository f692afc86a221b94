/** Removes secrets, and characters that a store cannot hold, from the text of requests. */
import { redactSecrets } from "../../apikey/secret.ts";

/** The maximum length of a text, in UTF-16 code units. */
const MAX_LENGTH = 255;

/**
 * Makes a text from a request safe to look up in a store and to record in the audit trail. Shortens the text to 255
 * UTF-16 code units and masks secrets. Replaces lone surrogates and U+0000 by U+FFFD, because PostgreSQL cannot store
 * them. The id of a key stays unchanged, and no other text turns into an id.
 */
export function sanitizeText(text: string): string {
  return redactSecrets(text.slice(0, MAX_LENGTH).toWellFormed().replaceAll("\0", "\ufffd"));
}
