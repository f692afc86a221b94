/**
 * The secrets of API keys. A secret consists of `sak_`, 43 base62 characters that encode 32 random bytes, and a
 * checksum of 6 base62 characters. Because of the checksum, a server rejects a mistyped secret without a look-up, and a
 * scanner recognizes a leaked secret without false positives.
 */
import { encodeBase62, encodeBase62Integer } from "./base62.ts";

const PREFIX = "sak_";
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORM = /^sak_[0-9A-Za-z]{49}$/;

/** The number of characters in a secret. All are ASCII. */
export const SECRET_LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;

/** The number of random bytes in a secret. */
export const SECRET_BYTES = 32;

/** The CRC-32 of each half of a byte, without the inversions. */
const REMAINDERS = Uint32Array.from({ length: 16 }, (_, half) => {
  let crc = half;
  for (let bit = 0; bit < 4; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

/**
 * CRC-32 as in ISO 3309, PNG and zip. `node:zlib` provides it, but loading that module takes 30 ms.
 *
 * @param text in ASCII
 */
function crc32(text: string): number {
  let crc = -1;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let half = 0; half < 2; half++) crc = crc >>> 4 ^ (REMAINDERS[crc & 15] ?? 0);
  }
  return ~crc >>> 0;
}

function checksum(body: string): string {
  return encodeBase62Integer(crc32(body), CHECKSUM_LENGTH);
}

/**
 * Creates a secret.
 *
 * @param random {@linkcode SECRET_BYTES} random bytes
 */
export function makeSecret(random: Uint8Array): string {
  const body = `${PREFIX}${encodeBase62(random, RANDOM_LENGTH)}`;
  return `${body}${checksum(body)}`;
}

/** Whether a text has the form of a secret and the right checksum. Only a server knows whether the secret is valid. */
export function isWellFormedSecret(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** Whether a text has the form of a secret, but the wrong checksum. No server knows such a key. */
export function isMistypedSecret(text: string): boolean {
  return FORM.test(text) && !isWellFormedSecret(text);
}

/** The SHA-256 hash of a secret, 32 bytes. A key store keeps this hash instead of the secret. */
export async function hashSecret(secret: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret)));
}

/** The last four characters of a secret. They are part of the checksum, not of the random bytes. */
export function secretTail(secret: string): string {
  return secret.slice(-4);
}

/** The form in which users see a secret after its creation: `sak_…` and the last four characters. */
export function maskSecret(tail: string): string {
  return `${PREFIX}…${tail}`;
}

/** Replaces each secret with `sak_…`, including a truncated secret that has at least 8 characters after `sak_`. */
export function redactSecrets(text: string): string {
  return text.replace(/sak_[0-9A-Za-z_]{8,}/g, "sak_…");
}
