/**
 * Encodes bytes in base 62, as ASCII digits and letters. The result needs no escaping in URLs and no quotes in shells,
 * and a double click selects all of it.
 */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Encodes bytes as one big-endian number in base 62, padded with leading zeros to `length` characters.
 *
 * @param length the length of the result: 22 characters for 16 bytes, 43 for 32 bytes
 */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  let rest = 0n;
  for (const byte of bytes) rest = rest << 8n | BigInt(byte);
  let text = "";
  for (; rest > 0n; rest /= 62n) text = `${DIGITS[Number(rest % 62n)]}${text}`;
  return text.padStart(length, "0");
}

/**
 * Encodes an integer in base 62, padded with leading zeros to `length` characters. Takes a tenth of the time that
 * `encodeBase62` takes.
 *
 * @param value a safe integer, not negative
 */
export function encodeBase62Integer(value: number, length: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = `${DIGITS[rest % 62]}${text}`;
  return text.padStart(length, "0");
}
