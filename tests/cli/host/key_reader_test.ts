/** What becomes of the bytes that a terminal sends. */
import { expect } from "expect";
import { createKeyReader } from "../../../src/cli/prompts/key_reader.ts";

/** Reads pieces of text one after the other. */
function read(...pieces: readonly string[]): readonly string[] {
  const reader = createKeyReader();
  return pieces.flatMap((piece) => reader(new TextEncoder().encode(piece))).map((keys) =>
    new TextDecoder().decode(keys)
  );
}

Deno.test("keys come through as they are", () => {
  expect(read("a", "é部", "\x1b[A", "\x1b", "\x03")).toEqual(["a", "é部", "\x1b[A", "\x1b", "\x03"]);
});

Deno.test("a piece ends with each Enter, so that the next question gets what follows", () => {
  expect(read("name\rtext\r\rx")).toEqual(["name\r", "text\r", "\r", "x"]);
});

Deno.test("Enter that was pressed before the terminal was in raw mode is Enter", () => {
  expect(read("name\n")).toEqual(["name\r"]);
});

Deno.test("line breaks that are pasted are spaces, and answer nothing", () => {
  expect(read("\x1b[200~one\r\ntwo\nthree\rfour\x1b[201~\r")).toEqual(["one two three four\r"]);
});

Deno.test("a paste may come in pieces, its marks too", () => {
  expect(read("a\x1b[20", "0~one\r", "two\x1b[", "201~", "\r").join("|")).toBe("a|one |two|\r");
});

Deno.test("Ctrl-Z is nothing", () => {
  expect(read("a\x1ab")).toEqual(["ab"]);
});
