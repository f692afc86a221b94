/** How messages quote untrusted input. */
import { expect } from "expect";
import fc from "fast-check";
import { quote } from "../../src/apikey/failure.ts";

Deno.test("Visible input is quoted unchanged", () => {
  expect(quote("my key")).toBe('"my key"');
  expect(quote("Schlüssel 鍵 🚀")).toBe('"Schlüssel 鍵 🚀"');
  expect(quote("")).toBe('""');
});

Deno.test("Characters that could move the cursor, reorder the line or be invisible are escaped", () => {
  expect(quote("a\x1b[2Jb\n\0")).toBe('"a\\u{1b}[2Jb\\u{a}\\u{0}"');
  expect(quote("a\u202eb\u200bc\u2028")).toBe('"a\\u{202e}b\\u{200b}c\\u{2028}"');
  expect(quote("a\u00a0b\u3164\ufe0f")).toBe('"a\\u{a0}b\\u{3164}\\u{fe0f}"');
  expect(quote("\u{e0001}\ud800")).toBe('"\\u{e0001}\\u{d800}"');
});

Deno.test("Input of more than 80 code points is truncated", () => {
  expect(quote("🚀".repeat(80))).toBe(`"${"🚀".repeat(80)}"`);
  expect(quote("🚀".repeat(81))).toBe(`"${"🚀".repeat(80)}…"`);
});

Deno.test("Quoted input is always well-formed, on one line and free of control characters", () => {
  const anything = fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), fc.string({ unit: fc.constant("\udc00") }));
  fc.assert(
    fc.property(anything, (input) => {
      const quoted = quote(input);
      expect(quoted).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
      expect([...quoted.replaceAll(/\\u\{[0-9a-f]+\}/g, "x")].length).toBeLessThanOrEqual(83);
    }),
    { numRuns: 500 },
  );
});
