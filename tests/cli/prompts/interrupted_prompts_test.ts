/** A question that is not answered: Ctrl-C, a signal, the end of the input. */
import { expect } from "expect";
import { parseName } from "../../../src/apikey/name.ts";
import { openPrompts, type Prompts } from "../../../src/cli/prompts/prompts.ts";
import { KEYS } from "../../program/screen.ts";
import { askAtTerminal, type Asking, TerminalHost } from "../../program/terminal_host.ts";

const FRUIT = ["Apple", "Banana"].map((label) => ({ value: label, label }));

const QUESTIONS: readonly (readonly [string, (questions: Prompts) => Promise<unknown>])[] = [
  ["text", (questions) => questions.text({ label: "Name", check: (typed) => void parseName(typed) })],
  ["secret", (questions) => questions.secret({ label: "Key" })],
  ["confirm", (questions) => questions.confirm({ label: "Sure?", initial: true })],
  ["selectOne", (questions) => questions.selectOne({ label: "Fruit", items: FRUIT })],
  ["select", (questions) => questions.select({ label: "Fruit", items: FRUIT })],
  ["permissions", (questions) => questions.permissions({ label: "Permissions", roles: [] })],
];

const ENDINGS: readonly (readonly [string, (asking: Asking<unknown>) => void])[] = [
  ["Ctrl-C", ({ screen }) => screen.press(KEYS.ctrlC)],
  ["Ctrl-D", ({ screen }) => screen.press(KEYS.ctrlD)],
  ["Escape", ({ screen }) => screen.press(KEYS.escape)],
  ["the end of the input", ({ screen }) => void screen.input.end()],
  ["SIGINT", ({ host }) => host.handlers.get("SIGINT")?.()],
  ["SIGTERM", ({ host }) => host.handlers.get("SIGTERM")?.()],
];

for (const [kind, question] of QUESTIONS) {
  for (const [ending, end] of ENDINGS) {
    Deno.test(`${kind}: ${ending} is INTERRUPTED, and the terminal is as it was`, async () => {
      const asking = await askAtTerminal(question);
      expect(asking.screen.isRestored).toBe(false);
      end(asking);
      await expect(asking.answer).rejects.toMatchObject({ code: "INTERRUPTED" });
      expect(asking.screen.isRestored).toBe(true);
      expect([...asking.host.handlers]).toEqual([]);
    });
  }
}

Deno.test("input that is over already is INTERRUPTED too, and nothing hangs", async () => {
  const host = new TerminalHost([]);
  const questions = await openPrompts(host);
  const sure = questions.confirm({ label: "Sure?", initial: true });
  host.screen.press(KEYS.enter);
  await sure;
  host.screen.input.end();
  await expect(questions.confirm({ label: "Really?", initial: true })).rejects.toMatchObject({ code: "INTERRUPTED" });
  await expect(questions.text({ label: "Name" })).rejects.toMatchObject({ code: "INTERRUPTED" });
  expect(host.screen.isRestored).toBe(true);
});

Deno.test("a signal that came before the question is INTERRUPTED too", async () => {
  const host = new TerminalHost([]);
  const questions = await openPrompts(host, AbortSignal.abort());
  await expect(questions.text({ label: "Name" })).rejects.toMatchObject({ code: "INTERRUPTED" });
  expect(host.screen.isRestored).toBe(true);
});
