/** Measuring, truncating and wrapping text of any script. */
import { expect } from "expect";
import fc from "fast-check";
import {
  fit,
  truncate,
  truncateColumns,
  widthOf,
  wrapMessage,
  wrapText,
} from "../../../src/cli/terminal/text_width.ts";

for (
  const [text, columns, ellipsis, shown] of [
    ["deploy", 6, "…", "deploy"],
    ["deploy", 5, "…", "depl…"],
    ["deploy", 5, "...", "de..."],
    ["deploy", 2, "...", "de"],
    ["deploy", 0, "…", ""],
    ["日本語", 5, "…", "日本…"],
    ["日本語", 4, "…", "日…"],
    ["مفتاح deploy", 8, "…", "مفتاح d…"],
    ["e\u0301te\u0301", 2, "…", "e\u0301…"],
    ["👩‍👩‍👧 family", 4, "…", "👩‍👩‍👧 …"],
  ] as const
) {
  Deno.test(`${JSON.stringify(text)} truncated to ${columns} columns is ${JSON.stringify(shown)}`, () => {
    expect(truncate(text, columns, ellipsis)).toBe(shown);
  });
}

for (
  const [text, columns, shown] of [
    ["VIEWER  created 2026-01-02  for ci", 34, "VIEWER  created 2026-01-02  for ci"],
    ["VIEWER  created 2026-01-02  for the night", 34, "VIEWER  created 2026-01-02  for t…"],
    ["VIEWER  created 2026-01-02  for the night", 33, "VIEWER  created 2026-01-02"],
    ["VIEWER  created 2026-01-02  for ci", 26, "VIEWER  created 2026-01-02"],
    ["VIEWER  created 2026-01-02  for ci", 25, "VIEWER"],
    ["VIEWER  created 2026-01-02  ", 26, "VIEWER  created 2026-01-02"],
    ["VIEWER  created 2026-01-02  ", 25, "VIEWER"],
    ["VIEWER  created 2026-01-02  ", 5, "VIEW…"],
    ["selected from a list", 8, "selecte…"],
  ] as const
) {
  Deno.test(`the columns ${JSON.stringify(text)} are shortened to ${columns} without cutting a date`, () => {
    expect(truncateColumns(text, columns, "…")).toBe(shown);
  });
}

Deno.test("a truncated text never exceeds the width, and a fitted text has exactly the width", () => {
  const part = fc.constantFrom("a", "word ", "日本", "ключ", "مفتاح", "◆", "é", "e\u0301", "👩‍👩‍👧", "𠮷", "\u200d");
  const text = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""));
  fc.assert(fc.property(text, fc.nat(60), fc.constantFrom("…", "..."), (text, columns, ellipsis) => {
    expect(widthOf(truncate(text, columns, ellipsis))).toBeLessThanOrEqual(columns);
    expect(widthOf(fit(text, columns, ellipsis))).toBe(columns);
  }));
});

for (
  const [text, columns, lines] of [
    ["", 10, [""]],
    ["one two three", 7, ["one two", "three"]],
    ["one two three", 8, ["one two", "three"]],
    ["one two three", 6, ["one", "two", "three"]],
    ["DOCKER:UPDATE_ANY", 14, ["DOCKER:UPDATE_", "ANY"]],
    ["日本語日本語", 5, ["日本", "語日", "本語"]],
  ] as const
) {
  Deno.test(`${JSON.stringify(text)} wrapped to ${columns} columns is ${JSON.stringify(lines)}`, () => {
    expect(wrapText(text, columns)).toEqual(lines);
  });
}

for (
  const [text, columns, lines] of [
    ["one two three", 8, ["one two", "three"]],
    ["Cannot read /home/me/.config/service-api/config.yaml now.", 20, [
      "Cannot read",
      "/home/me/.config/service-api/config.yaml",
      "now.",
    ]],
    ['The file "/a file/with spaces" is missing.', 12, ["The file", '"/a file/with spaces"', "is missing."]],
    ["Use 'Name: value' here.", 9, ["Use", "'Name: value'", "here."]],
    ["the user's key is the server's", 14, ["the user's key", "is the", "server's"]],
    ['Run service-api apikey create --name "a. b" --json. Then wait.', 30, [
      "Run",
      'service-api apikey create --name "a. b" --json.',
      "Then wait.",
    ]],
    ["Others can read it. Run: chmod 600 /a file", 20, ["Others can read it.", "Run: chmod 600 /a file"]],
    ["キー 名前 です", 9, ["キー 名前", "です"]],
  ] as const
) {
  Deno.test(`the message ${JSON.stringify(text)} in ${columns} columns is ${JSON.stringify(lines)}`, () => {
    expect(wrapMessage(text, columns)).toEqual(lines);
  });
}
