/** How the bytes from a terminal are prepared for the prompts. */
import { expect } from "expect";
import { createKeyReader } from "../../../src/cli/host/key_reader.ts";

/** Reads chunks of input and returns the pieces for the prompts as text. */
function read(...chunks: readonly string[]): readonly string[] {
  const reader = createKeyReader();
  return chunks.flatMap((chunk) => reader(new TextEncoder().encode(chunk))).map((keys) =>
    new TextDecoder().decode(keys)
  );
}

Deno.test("letters, arrow keys, Escape and Ctrl-C reach the prompt unchanged", () => {
  expect(read("a", "é部", "\x1b[A", "\x1b", "\x03")).toEqual(["a", "é部", "\x1b[A", "\x1b", "\x03"]);
});

Deno.test("input is split after each Enter, so that the next prompt receives the rest", () => {
  expect(read("name\rtext\r\rx")).toEqual(["name\r", "text\r", "\r", "x"]);
});

Deno.test("Enter works even if it was pressed before the terminal was in raw mode", () => {
  expect(read("name\n", "name\r\nnext")).toEqual(["name\r", "name\r", "next"]);
});

Deno.test("pasted line breaks become spaces and do not answer a prompt", () => {
  expect(read("\x1b[200~one\r\ntwo\nthree\rfour\x1b[201~\r")).toEqual(["one two three four\r"]);
});

Deno.test("a pasted tab becomes a space, and a paste does not start with white space, so no paste selects anything", () => {
  expect(read("\x1b[200~\r\n\t ci\tdeploy\x1b[201~\t ")).toEqual(["ci deploy\t "]);
  expect(read("\x1b[200~ ", "\n", " ci ", " deploy\x1b[201~", " ").join("|")).toBe("ci | deploy| ");
});

Deno.test("a paste is recognized even if its text and its markers arrive in several chunks", () => {
  expect(read("a\x1b[20", "0~one\r", "two\x1b[", "201~", "\r").join("|")).toBe("a|one |two|\r");
});

Deno.test("Ctrl-Z is ignored", () => {
  expect(read("a\x1ab")).toEqual(["ab"]);
});
