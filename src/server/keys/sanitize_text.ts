/** Texts of requests on their way into a store, which neither has to take everything nor is to keep a secret. */
import { redactSecrets } from "../../apikey/secret.ts";

/** The longest text of a request that a store is given as it came, in UTF-16 code units. */
const LONGEST_TEXT = 255;

/**
 * A text that a store can compare and keep: not long, without half surrogate pairs and U+0000, which PostgreSQL has no
 * room for, and with no secret that was given in the wrong place. Ids of keys stay as they are, and no other text
 * becomes one.
 */
export function sanitizeText(text: string): string {
  return redactSecrets(text.slice(0, LONGEST_TEXT).toWellFormed().replaceAll("\0", "\ufffd"));
}
