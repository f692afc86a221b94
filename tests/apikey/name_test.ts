/** The names of keys (spec section 2, "Name rules"). */
import { expect } from "expect";
import fc from "fast-check";
import { nameTaken, parseExistingName, parseName } from "../../src/apikey/name.ts";
import { failureOf } from "./failure_of.ts";

function expectRejected(names: readonly string[]): void {
  for (const name of names) {
    const { code, message } = failureOf(() => parseName(name));
    expect([name, code]).toEqual([name, "INVALID_NAME"]);
    expect(message).toContain("may contain only letters, digits and spaces");
  }
}

/** The characters that are trimmed: white space and line terminators as ECMAScript defines them. */
const TRIMMED = /^[\t\n\v\f\r\ufeff\u2028\u2029\p{Zs}]$/u;

/** A second implementation of the rule for names, to compare `parseName` with. Returns `undefined` for an invalid name. */
function nameByRule(typed: string): string | undefined {
  const codePoints = [...typed];
  while (TRIMMED.test(codePoints[0] ?? "")) codePoints.shift();
  while (TRIMMED.test(codePoints.at(-1) ?? "")) codePoints.pop();
  const text = codePoints.join("").normalize("NFC");
  const isValid = [...text].every((character) =>
    character === " " || /^\p{Nd}$/u.test(character) || /^\p{L}$/u.test(character)
  );
  return text !== "" && isValid ? text : undefined;
}

/** Arbitrary texts, valid names, and texts that are almost valid names. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(..."aZé09 \u0660ش字\u{20000}e\u0301\u212b\u0958\u00a0\t\ufeff-_") }),
  fc.string({ unit: fc.constantFrom("a", " ", "\ud800", "\udc00", "\u0323", "\u0301", "\u1100", "\u1161") }),
);

Deno.test("A name may contain letters and decimal digits of any script, and spaces", () => {
  const names = ["deploy", "CI runner 7", "42", "two  spaces", "Schlüssel für Zoë", "ключ", "مفتاح", "鍵", "열쇠"];
  for (const name of [...names, "\u{20000}", "key ٠١٢٣", "key ０１２"]) expect(parseName(name)).toBe(name);
});

Deno.test("A name is normalized to NFC", () => {
  expect(parseName("Zoe\u0308")).toBe("Zo\u00eb");
  expect(parseName("\u1112\u1161\u11ab")).toBe("\ud55c");
  expect(parseName("\u212b")).toBe("\u00c5");
});

Deno.test("Spaces around a name are removed, and spaces inside it are kept", () => {
  expect(parseName("  my  key \n")).toBe("my  key");
  expect(parseName("\ufeff\u00a0my key\u2003\t")).toBe("my key");
});

Deno.test("An empty or blank name is rejected as empty", () => {
  expectRejected(["", " \t\n "]);
  expect(failureOf(() => parseName("  ")).message).toMatch(/^The name is empty\. /);
});

Deno.test("Hyphens, underscores and other symbols are rejected", () => {
  expectRejected(["my-key", "my_key", "my.key", "a'b", "a,b", "rocket 🚀", "x²", "Ⅳ", "a\tb", "a\x1b[31mb"]);
});

Deno.test("Invisible characters, unpaired surrogates and combining marks that NFC keeps are rejected", () => {
  expectRejected(["a\u202eb", "a\u200db", "a\u00adb", "a\u2028b", "a\u00a0b", "a\u3000b", "a\udc00", "q\u0308"]);
});

Deno.test("The message for an invalid name shows the name and the first character that is not allowed", () => {
  expect(failureOf(() => parseName("my-key_1")).message).toBe(
    'The name "my-key_1" contains "-". A name may contain only letters, digits and spaces. Did you mean "my key 1"?',
  );
  expect(failureOf(() => parseName("rocket 🚀-1")).message).not.toContain("Did you mean");
  expect(failureOf(() => parseName("--")).message).not.toContain("Did you mean");
  expect(failureOf(() => parseName("a\u202eb-c")).message).toContain('"a\\u{202e}b-c" contains "\\u{202e}"');
  expect(failureOf(() => parseName("a\ud800")).message).toContain('contains "\\u{d800}"');
});

Deno.test("The message for an invalid long name is short", () => {
  expect(failureOf(() => parseName(`${"x".repeat(100_000)}-`)).message.length).toBeLessThan(300);
});

Deno.test("For the id of a key in place of an existing name, the message suggests --id", () => {
  const { code, message } = failureOf(() => parseExistingName(" key_0Ptq6hQwrLlFpc7Pm8U1Ab "));
  expect(code).toBe("INVALID_NAME");
  expect(message).toMatch(/only letters, digits and spaces\. Did you mean --id key_0Ptq6hQwrLlFpc7Pm8U1Ab\?$/);
  expect(failureOf(() => parseExistingName("key_a-b")).message).toMatch(/Did you mean "key a b"\?$/);
});

Deno.test("Every text is either rejected as INVALID_NAME or becomes a name that parses to itself", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const expected = nameByRule(text);
      if (expected === undefined) return expectRejected([text]);
      expect(parseName(text)).toBe(expected);
      expect(parseName(expected)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("The message for a taken name shows the name and the two remedies", () => {
  const { code, message } = nameTaken(parseName("deploy"));
  expect(code).toBe("ALREADY_EXISTS");
  expect(message).toBe('A key named "deploy" already exists; add --overwrite or choose another name.');
});

Deno.test("The name of an existing key may also contain numbers that are not decimal digits", () => {
  expect(parseExistingName(" Phase Ⅷ ½ ② ")).toBe("Phase Ⅷ ½ ②");
  expectRejected(["Phase Ⅷ"]);
  for (const name of ["ci-bot", "a_b", ""]) expect(failureOf(() => parseExistingName(name)).code).toBe("INVALID_NAME");
});
