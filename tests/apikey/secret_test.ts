/** DESIGN, "Keys and rights": the form of a secret, its checksum, and what is shown of it. */
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

/** The number that base62 digits stand for, big end first. */
function fromBase62(digits: string): bigint {
  return [...digits].reduce((number, digit) => number * 62n + BigInt(BASE62.indexOf(digit)), 0n);
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytes.toHex()}`);
}

Deno.test("A secret is sak_ and 49 letters and digits, whatever the random bytes", () => {
  expect(makeSecret(new Uint8Array(32))).toMatch(/^sak_0{43}[0-9A-Za-z]{6}$/);
  expect(makeSecret(new Uint8Array(32).fill(255))).toMatch(/^sak_[0-9A-Za-z]{49}$/);
  fc.assert(fc.property(anySecret, (secret) => expect(secret).toMatch(/^sak_[0-9A-Za-z]{49}$/)));
});

Deno.test("A secret holds all of its 32 random bytes", () => {
  expect(SECRET_BYTES).toBe(32);
  fc.assert(fc.property(anyBytes, (bytes) => expect(fromBase62(makeSecret(bytes).slice(4, 47))).toBe(toNumber(bytes))));
});

Deno.test("A secret ends in the CRC-32 of all that comes before", () => {
  expect(crc32("123456789")).toBe(0xcbf43926);
  fc.assert(fc.property(anySecret, (secret) => {
    expect(fromBase62(secret.slice(47))).toBe(BigInt(crc32(secret.slice(0, 47))));
  }));
});

Deno.test("Different random bytes make different secrets", () => {
  fc.assert(fc.property(anyBytes, fc.nat(SECRET_BYTES * 8 - 1), (bytes, bit) => {
    const other = bytes.map((byte, i) => i === bit >> 3 ? byte ^ 1 << (bit & 7) : byte);
    expect(makeSecret(other)).not.toBe(makeSecret(bytes));
  }));
});

Deno.test("Every secret is well formed", () => {
  fc.assert(fc.property(anySecret, (secret) => expect(isWellFormedSecret(secret)).toBe(true)));
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

Deno.test("A secret with two neighbours swapped is not well formed", () => {
  fc.assert(
    fc.property(anySecret, fc.integer({ min: 0, max: 45 }), (secret, at) => {
      const [a = "", b = ""] = secret.slice(at);
      fc.pre(a !== b);
      expect(isWellFormedSecret(`${secret.slice(0, at)}${b}${a}${secret.slice(at + 2)}`)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

Deno.test("A secret cut short, or with something before or after it, is not well formed", () => {
  fc.assert(fc.property(anySecret, fc.nat(52), (secret, length) => {
    expect(isWellFormedSecret(secret.slice(0, length))).toBe(false);
  }));
  const secret = makeSecret(new Uint8Array(32).fill(7));
  for (
    const wrong of [`${secret}\n`, ` ${secret}`, `${secret} `, `${secret}0`, `Bearer ${secret}`, `${secret}${secret}`]
  ) {
    expect(isWellFormedSecret(wrong)).toBe(false);
  }
});

Deno.test("Texts that are no secrets are not well formed", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => expect(isWellFormedSecret(text)).toBe(false)));
});

Deno.test("The hash of a secret is its SHA-256", async () => {
  await fc.assert(fc.asyncProperty(anySecret, async (secret) => {
    expect((await hashSecret(secret)).toHex()).toBe(createHash("sha256").update(secret).digest("hex"));
  }));
});

Deno.test("The mask of a secret is sak_… and its last four characters, which are all of checksum", () => {
  fc.assert(fc.property(anySecret, (secret) => {
    expect(maskSecret(secretTail(secret))).toBe(`sak_…${secret.slice(49)}`);
  }));
});

Deno.test("Secrets in a text are replaced by a mask that tells nothing", () => {
  const secret = makeSecret(new Uint8Array(32).fill(9));
  expect(redactSecrets(`key=${secret}; again "${secret}"`)).toBe('key=sak_…; again "sak_…"');
  expect(redactSecrets(`${secret}${secret}`)).toBe("sak_…");
  expect(redactSecrets(`cut short: ${secret.slice(0, 20)}`)).toBe("cut short: sak_…");
});

Deno.test("A text without a secret in it is left as it is", () => {
  const text = "sak_ is how secrets begin; sak_… is a mask";
  expect(redactSecrets(text)).toBe(text);
});

Deno.test("Whatever stands around a secret, nothing of it is left after redaction", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), anySecret, fc.string(), (before, secret, after) => {
    const shown = redactSecrets(`${before}${secret}${after}`);
    expect(shown).not.toContain(secret.slice(4, 12));
    expect(shown).not.toContain(secret.slice(-8));
  }));
});
