/** Prompts that end without an answer: on Ctrl-C, Ctrl-D, Escape, a signal, or the end of the input. */
import { expect } from "expect";
import { RESOURCES } from "../../../src/apikey/permission.ts";
import { openPrompts, type Prompts } from "../../../src/cli/prompts/prompts.ts";
import { KEYS } from "../../program/screen.ts";
import { promptAtTerminal, type PromptRun, TerminalHost } from "../../program/terminal_host.ts";

type ShowPrompt = (prompts: Prompts) => Promise<unknown>;

const FRUIT = ["Apple", "Banana"].map((label) => ({ value: label, label }));
const showText: ShowPrompt = (prompts) => prompts.text({ label: "Name" });
const showGrid: ShowPrompt = (prompts) =>
  prompts.permissions({
    label: "Permissions",
    resources: RESOURCES,
    roles: [],
    byRoles: new Set(),
    anyIncludesOwn: true,
  });

const pressCtrlC = ({ screen }: PromptRun<unknown>): void => screen.press(KEYS.ctrlC);

for (
  const [kind, show, interruption, interrupt] of [
    // Each kind of prompt.
    ["text", showText, "Ctrl-C", pressCtrlC],
    ["secret", (prompts) => prompts.secret({ label: "Key" }), "Ctrl-C", pressCtrlC],
    ["confirm", (prompts) => prompts.confirm({ label: "Sure?", initial: true }), "Ctrl-C", pressCtrlC],
    ["searchOne", (prompts) => prompts.searchOne({ label: "Fruit", items: FRUIT }), "Ctrl-C", pressCtrlC],
    ["selectOne", (prompts) => prompts.selectOne({ label: "Fruit", items: FRUIT }), "Ctrl-C", pressCtrlC],
    ["select", (prompts) => prompts.select({ label: "Fruit", items: FRUIT }), "Ctrl-C", pressCtrlC],
    ["permissions", showGrid, "Ctrl-C", pressCtrlC],
    // Each kind of interruption, for a line of text, for the grid of permissions, or for both.
    ["text", showText, "Ctrl-D", ({ screen }) => screen.press(KEYS.ctrlD)],
    ["permissions", showGrid, "Ctrl-D", ({ screen }) => screen.press(KEYS.ctrlD)],
    ["text", showText, "Escape", ({ screen }) => screen.press(KEYS.escape)],
    ["text", showText, "the end of the input", ({ screen }) => void screen.input.end()],
    ["permissions", showGrid, "the end of the input", ({ screen }) => void screen.input.end()],
    ["text", showText, "SIGINT", ({ host }) => host.handlers.get("SIGINT")?.()],
    ["permissions", showGrid, "SIGTERM", ({ host }) => host.handlers.get("SIGTERM")?.()],
  ] satisfies readonly (readonly [string, ShowPrompt, string, (run: PromptRun<unknown>) => void])[]
) {
  Deno.test(`${kind}: ${interruption} cancels the prompt with INTERRUPTED and restores the terminal`, async () => {
    const run = await promptAtTerminal(show);
    expect(run.screen.isRestored).toBe(false);
    interrupt(run);
    await expect(run.answer).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(run.screen.isRestored).toBe(true);
    expect([...run.host.handlers]).toEqual([]);
  });
}

Deno.test("a prompt after the end of the input fails with INTERRUPTED and does not hang", async () => {
  const host = new TerminalHost([]);
  const prompts = await openPrompts(host);
  const confirmation = prompts.confirm({ label: "Sure?", initial: true });
  host.screen.press(KEYS.enter);
  await confirmation;
  host.screen.input.end();
  await expect(prompts.confirm({ label: "Really?", initial: true })).rejects.toMatchObject({ code: "INTERRUPTED" });
  await expect(prompts.text({ label: "Name" })).rejects.toMatchObject({ code: "INTERRUPTED" });
  expect(host.screen.isRestored).toBe(true);
});

Deno.test("a prompt after a signal fails with INTERRUPTED", async () => {
  const host = new TerminalHost([]);
  const prompts = await openPrompts(host, AbortSignal.abort());
  await expect(prompts.text({ label: "Name" })).rejects.toMatchObject({ code: "INTERRUPTED" });
  expect(host.screen.isRestored).toBe(true);
});
