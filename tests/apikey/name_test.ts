/** Spec section 2, "Name rules", and DESIGN, "Names". */
import { expect } from "expect";
import fc from "fast-check";
import { parseName } from "../../src/apikey/name.ts";
import { failureOf } from "./failure_of.ts";

function expectAccepted(names: readonly string[]): void {
  for (const name of names) expect(parseName(name)).toBe(name);
}

function expectRefused(names: readonly string[]): void {
  for (const name of names) {
    const { code, message } = failureOf(() => parseName(name));
    expect([name, code]).toEqual([name, "INVALID_NAME"]);
    expect(message).toContain("may contain only letters, digits and spaces");
  }
}

/** White space and line ends as ECMAScript defines them: what is trimmed. */
const BLANK = /^[\t\n\v\f\r\ufeff\u2028\u2029\p{Zs}]$/u;

/** What a name is kept as by the rule of DESIGN, code point by code point; `undefined` when it is none. */
function nameByRule(typed: string): string | undefined {
  const codePoints = [...typed];
  while (BLANK.test(codePoints[0] ?? "")) codePoints.shift();
  while (BLANK.test(codePoints.at(-1) ?? "")) codePoints.pop();
  const text = codePoints.join("").normalize("NFC");
  const fits = [...text].every((character) =>
    character === " " || /^\p{Nd}$/u.test(character) || /^\p{L}$/u.test(character)
  );
  return text !== "" && fits ? text : undefined;
}

/** Any text at all, and texts that are names or nearly so. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(..."aZé09 \u0660ش字\u{20000}e\u0301\u212b\u0958\u00a0\t\ufeff-_") }),
  fc.string({ unit: fc.constantFrom("a", " ", "\ud800", "\udc00", "\u0323", "\u0301", "\u1100", "\u1161") }),
);

Deno.test("A name of letters, digits and spaces is accepted as it is", () => {
  expectAccepted(["deploy", "CI runner 7", "42", "a", "two  spaces"]);
});

Deno.test("A name may have letters of any script", () => {
  expectAccepted([
    "Schlüssel für Zoë",
    "ключ",
    "مفتاح",
    "מפתח",
    "鍵",
    "キー",
    "열쇠",
    "\u{20000}",
  ]);
});

Deno.test("A name may have the decimal digits of any script", () => {
  expectAccepted(["key ٠١٢٣", "key ०१२", "key ０１２", "key \u{1d7d8}"]);
});

Deno.test("A name that comes in decomposed form is brought to NFC", () => {
  expect(parseName("Zoe\u0308")).toBe("Zo\u00eb");
  expect(parseName("\u1112\u1161\u11ab")).toBe("\ud55c");
  expect(parseName("\u212b")).toBe("\u00c5");
});

Deno.test("Blanks around a name are dropped, blanks inside it stay", () => {
  expect(parseName("  my  key \n")).toBe("my  key");
  expect(parseName("\ufeff\u00a0my key\u2003\t")).toBe("my key");
});

Deno.test("An empty or blank name is refused, and the message says that it is empty", () => {
  expectRefused(["", " ", " \t\n ", "\u00a0", "\ufeff"]);
  expect(failureOf(() => parseName("  ")).message).toContain("empty");
});

Deno.test("Hyphens, underscores and other symbols are refused", () => {
  expectRefused(["my-key", "my_key", "my.key", "my/key", "a+b", "a'b", 'a"b', "a,b", "$HOME", "a\u2013b"]);
});

Deno.test("Emoji are refused", () => {
  expectRefused(["rocket 🚀", "👩‍💻", "❤️", "1️⃣", "🇫🇷"]);
});

Deno.test("Numbers that are no decimal digits are refused", () => {
  expectRefused(["½", "x²", "Ⅳ", "①"]);
});

Deno.test("Control characters inside a name are refused", () => {
  expectRefused(["a\tb", "a\nb", "a\rb", "a\0b", "a\x1b[31mb", "a\x7fb", "a\x85b"]);
});

Deno.test("Characters that nobody sees or that reorder the line are refused", () => {
  expectRefused(["a\u202eb", "a\u200bb", "a\u200db", "a\u00adb", "a\ufeffb", "a\u2028b", "a\ufe0f"]);
});

Deno.test("Spaces other than U+0020 inside a name are refused", () => {
  expectRefused(["a\u00a0b", "a\u2003b", "a\u3000b", "a\u202fb"]);
});

Deno.test("Half a surrogate pair is refused", () => {
  expectRefused(["\ud800", "a\udc00", "\ud83d a"]);
});

Deno.test("A combining mark that does not compose with its letter is refused", () => {
  expectRefused(["q\u0308", "\u0301", "a\u0488"]);
});

Deno.test("The refusal of a name shows the name and the first character that does not fit", () => {
  expect(failureOf(() => parseName("my-key_1")).message).toContain('"my-key_1" contains "-"');
  expect(failureOf(() => parseName("a\u202eb-c")).message).toContain('"a\\u{202e}b-c" contains "\\u{202e}"');
  expect(failureOf(() => parseName("a\ud800")).message).toContain('contains "\\u{d800}"');
});

Deno.test("The refusal of a long name is short", () => {
  expect(failureOf(() => parseName(`${"x".repeat(100_000)}-`)).message.length).toBeLessThan(300);
});

Deno.test("Any text is either a name by the rule or refused as INVALID_NAME", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const kept = nameByRule(text);
      if (kept === undefined) expectRefused([text]);
      else expect(parseName(text)).toBe(kept);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("A name once accepted is accepted unchanged ever after", () => {
  fc.assert(
    fc.property(anyText.filter((text) => nameByRule(text) !== undefined), (text) => {
      expect(parseName(parseName(text))).toBe(parseName(text));
    }),
    { numRuns: 500 },
  );
});
