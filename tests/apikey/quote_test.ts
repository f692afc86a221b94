/** How somebody's input is shown inside a message. */
import { expect } from "expect";
import fc from "fast-check";
import { quote } from "../../src/apikey/failure.ts";

Deno.test("Input is shown in quotes as it was typed", () => {
  expect(quote("my key")).toBe('"my key"');
  expect(quote("Schlüssel 鍵 🚀")).toBe('"Schlüssel 鍵 🚀"');
  expect(quote("")).toBe('""');
});

Deno.test("Characters that could move the cursor, hide or reorder the line are shown as escapes", () => {
  expect(quote("a\x1b[2Jb")).toBe('"a\\u{1b}[2Jb"');
  expect(quote("a\nb\tc\0")).toBe('"a\\u{a}b\\u{9}c\\u{0}"');
  expect(quote("a\u202eb\u200bc")).toBe('"a\\u{202e}b\\u{200b}c"');
  expect(quote("a\u2028b\u2029")).toBe('"a\\u{2028}b\\u{2029}"');
  expect(quote("a\u00a0b\u3164\ufe0f")).toBe('"a\\u{a0}b\\u{3164}\\u{fe0f}"');
  expect(quote("\ud800")).toBe('"\\u{d800}"');
  expect(quote("\u{e0001}")).toBe('"\\u{e0001}"');
});

Deno.test("Input of 80 code points is shown whole, longer input is cut there", () => {
  expect(quote("x".repeat(80))).toBe(`"${"x".repeat(80)}"`);
  expect(quote("x".repeat(81))).toBe(`"${"x".repeat(80)}…"`);
  expect(quote("🚀".repeat(80))).toBe(`"${"🚀".repeat(80)}"`);
  expect(quote("🚀".repeat(81))).toBe(`"${"🚀".repeat(80)}…"`);
});

Deno.test("Whatever the input, what is shown is well-formed, on one line and free of control characters", () => {
  const anything = fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), fc.string({ unit: fc.constant("\udc00") }));
  fc.assert(
    fc.property(anything, (input) => {
      const shown = quote(input);
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
      expect([...shown.replaceAll(/\\u\{[0-9a-f]+\}/g, "x")].length).toBeLessThanOrEqual(83);
    }),
    { numRuns: 500 },
  );
});
