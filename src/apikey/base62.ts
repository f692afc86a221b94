/** Bytes as digits and letters, so that a double click selects the whole of it and no shell or URL minds. */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Writes bytes as one big-endian number in base 62, with leading zeros up to `length` characters. The caller
 * gives a length that holds them: 16 bytes need 22 characters, 32 bytes 43.
 */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  let rest = 0n;
  for (const byte of bytes) rest = rest << 8n | BigInt(byte);
  let text = "";
  for (; rest > 0n; rest /= 62n) text = `${DIGITS[Number(rest % 62n)]}${text}`;
  return text.padStart(length, "0");
}
