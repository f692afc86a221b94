/** The secrets of API keys: their form, their checksum, and how they are masked. */
import { expect } from "expect";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import {
  hashSecret,
  isWellFormedSecret,
  makeSecret,
  maskSecret,
  redactSecrets,
  SECRET_BYTES,
  secretTail,
} from "../../src/apikey/secret.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const anyBytes = fc.uint8Array({ minLength: SECRET_BYTES, maxLength: SECRET_BYTES });
const anySecret = anyBytes.map(makeSecret);

/** Decodes a big-endian base62 number. */
function fromBase62(digits: string): bigint {
  return [...digits].reduce((number, digit) => number * 62n + BigInt(BASE62.indexOf(digit)), 0n);
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytes.toHex()}`);
}

Deno.test("A secret consists of sak_ and 49 letters and digits", () => {
  expect(makeSecret(new Uint8Array(32))).toMatch(/^sak_0{43}[0-9A-Za-z]{6}$/);
  expect(makeSecret(new Uint8Array(32).fill(255))).toMatch(/^sak_[0-9A-Za-z]{49}$/);
});

Deno.test("A secret encodes all of its 32 random bytes", () => {
  expect(SECRET_BYTES).toBe(32);
  fc.assert(fc.property(anyBytes, (bytes) => expect(fromBase62(makeSecret(bytes).slice(4, 47))).toBe(toNumber(bytes))));
});

Deno.test("A secret ends with the CRC-32 of everything before it, and is well formed", () => {
  expect(crc32("123456789")).toBe(0xcbf43926);
  fc.assert(fc.property(anySecret, (secret) => {
    expect(fromBase62(secret.slice(47))).toBe(BigInt(crc32(secret.slice(0, 47))));
    expect(isWellFormedSecret(secret)).toBe(true);
  }));
});

Deno.test("A secret with any one character changed is not well formed", () => {
  const anyCharacter = fc.oneof(fc.constantFrom(...BASE62), fc.string({ unit: "binary", minLength: 1, maxLength: 1 }));
  fc.assert(
    fc.property(anySecret, fc.nat(52), anyCharacter, (secret, at, character) => {
      fc.pre(secret[at] !== character);
      expect(isWellFormedSecret(`${secret.slice(0, at)}${character}${secret.slice(at + 1)}`)).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("A secret with two adjacent characters swapped is not well formed", () => {
  fc.assert(
    fc.property(anySecret, fc.integer({ min: 0, max: 45 }), (secret, at) => {
      const [a = "", b = ""] = secret.slice(at);
      fc.pre(a !== b);
      expect(isWellFormedSecret(`${secret.slice(0, at)}${b}${a}${secret.slice(at + 2)}`)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

Deno.test("A truncated secret, a secret with text around it, and an empty text are not well formed", () => {
  fc.assert(fc.property(anySecret, fc.nat(52), (secret, length) => {
    expect(isWellFormedSecret(secret.slice(0, length))).toBe(false);
  }));
  const secret = makeSecret(new Uint8Array(32).fill(7));
  for (const text of [`${secret}\n`, ` ${secret}`, `${secret}0`, `Bearer ${secret}`, `${secret}${secret}`, ""]) {
    expect(isWellFormedSecret(text)).toBe(false);
  }
});

Deno.test("The hash of a secret is its SHA-256 hash", async () => {
  const secret = makeSecret(new Uint8Array(32).fill(5));
  expect((await hashSecret(secret)).toHex()).toBe(createHash("sha256").update(secret).digest("hex"));
});

Deno.test("A masked secret shows only sak_… and the last four characters, which are part of the checksum", () => {
  const secret = makeSecret(new Uint8Array(32).fill(6));
  expect(maskSecret(secretTail(secret))).toBe(`sak_…${secret.slice(49)}`);
});

Deno.test("Redaction masks every secret in a text, even one that is cut off after 20 characters", () => {
  const secret = makeSecret(new Uint8Array(32).fill(9));
  expect(redactSecrets(`key=${secret}; again "${secret}"`)).toBe('key=sak_…; again "sak_…"');
  expect(redactSecrets(`${secret}${secret}`)).toBe("sak_…");
  expect(redactSecrets(`truncated: ${secret.slice(0, 20)}`)).toBe("truncated: sak_…");
});

Deno.test("Redaction leaves a text without a secret unchanged", () => {
  const text = "secrets begin with sak_; sak_… is a mask";
  expect(redactSecrets(text)).toBe(text);
});

Deno.test("Redaction masks a secret at any position in a text", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), anySecret, fc.string(), (before, secret, after) => {
    const shown = redactSecrets(`${before}${secret}${after}`);
    expect(shown).not.toContain(secret.slice(4, 12));
    expect(shown).not.toContain(secret.slice(-8));
  }));
});
