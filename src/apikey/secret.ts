/**
 * The secret that is the key itself: `sak_`, 43 base62 characters for 32 random bytes, and 6 base62 characters
 * of checksum. The checksum tells a typo from a revoked key without a look-up, and lets scanners recognize a
 * leaked key without a false alarm.
 */
import { encodeBase62 } from "./base62.ts";

const PREFIX = "sak_";
const CHECKSUM_LENGTH = 6;
const FORM = /^sak_[0-9A-Za-z]{49}$/;

/** How many random bytes a secret is made of. */
export const SECRET_BYTES = 32;

/** CRC-32 as in ISO 3309, PNG and zip. */
function crc32(text: string): number {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function checksum(body: string): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, crc32(body));
  return encodeBase62(bytes, CHECKSUM_LENGTH);
}

/** Makes a secret of {@linkcode SECRET_BYTES} random bytes. */
export function makeSecret(random: Uint8Array): string {
  const body = `${PREFIX}${encodeBase62(random, 43)}`;
  return `${body}${checksum(body)}`;
}

/** Whether a text has the form of a secret and a checksum that fits, so that some server may know it. */
export function isWellFormedSecret(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** SHA-256 of a secret: what a store holds in its place. 32 bytes. */
export async function hashSecret(secret: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret)));
}

/** The last four characters, which belong to the checksum: enough to tell keys apart, nothing to guess from. */
export function secretTail(secret: string): string {
  return secret.slice(-4);
}

/** What is shown of a secret after its creation. */
export function maskSecret(tail: string): string {
  return `${PREFIX}…${tail}`;
}

/** Replaces everything in a text that has the beginnings of a secret by a mask. */
export function redactSecrets(text: string): string {
  return text.replace(/sak_[0-9A-Za-z_]{8,}/g, "sak_…");
}
