/** Text in columns, whatever its script. */
import { expect } from "expect";
import fc from "fast-check";
import { cut, fit, linesOf, widthOf } from "../../../src/cli/terminal/text_width.ts";

for (
  const [text, columns, ellipsis, shown] of [
    ["deploy", 6, "…", "deploy"],
    ["deploy", 5, "…", "depl…"],
    ["deploy", 5, "...", "de..."],
    ["deploy", 2, "...", "de"],
    ["deploy", 0, "…", ""],
    ["日本語", 6, "…", "日本語"],
    ["日本語", 5, "…", "日本…"],
    ["日本語", 4, "…", "日…"],
    ["𠮷野家", 5, "…", "𠮷野…"],
    ["ключ deploy", 8, "…", "ключ de…"],
    ["مفتاح deploy", 8, "…", "مفتاح d…"],
    ["◆ by role", 5, "…", "◆ by…"],
    ["e\u0301te\u0301", 2, "…", "e\u0301…"],
    ["👩‍👩‍👧 family", 4, "…", "👩‍👩‍👧 …"],
  ] as const
) {
  Deno.test(`${text} in ${columns} columns is ${shown}`, () => {
    expect(cut(text, columns, ellipsis)).toBe(shown);
  });
}

Deno.test("a cut text is never wider than it may be, and a fitted one is as wide as it has to be", () => {
  const part = fc.constantFrom("a", "word ", "日本", "ключ", "مفتاح", "◆", "é", "e\u0301", "👩‍👩‍👧", "𠮷", "\u200d");
  const text = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""));
  fc.assert(fc.property(text, fc.nat(60), fc.constantFrom("…", "..."), (text, columns, ellipsis) => {
    expect(widthOf(cut(text, columns, ellipsis))).toBeLessThanOrEqual(columns);
    expect(widthOf(fit(text, columns, ellipsis))).toBe(columns);
  }));
});

for (
  const [text, columns, lines] of [
    ["", 10, [""]],
    ["one two three", 13, ["one two three"]],
    ["one two three", 7, ["one two", "three"]],
    ["one two three", 8, ["one two", "three"]],
    ["one two three", 6, ["one", "two", "three"]],
    ["DOCKER:UPDATE_ANY", 14, ["DOCKER:UPDATE_", "ANY"]],
    ["日本語日本語", 5, ["日本", "語日", "本語"]],
  ] as const
) {
  Deno.test(`${JSON.stringify(text)} in lines of ${columns} columns is ${JSON.stringify(lines)}`, () => {
    expect(linesOf(text, columns)).toEqual(lines);
  });
}
