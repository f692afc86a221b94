/** `apikey` alone at a terminal: from the first question of the chosen command, the user can go back to the first one. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";

for (
  const [mode, position, flags, question] of [
    ["Create a key", 0, [], /\? Name: █/],
    ["Show a key", 2, [], /\? Key to show: █/],
    ["Update a key", 3, [], /\? Key to update: █/],
    ["Rotate a key", 4, [], /\? Key to rotate: █/],
    ["Delete keys", 5, [], /\? Keys to delete: █/],
    ["Create a key", 0, ["--name", "new"], /\? Description: █/],
    ["Delete keys", 4, ["--name", "ci"], /\? Delete the key "ci"\?/],
  ] as const
) {
  Deno.test(`${["apikey", ...flags].join(" ")}: Escape at the first question of "${mode}" goes back to the choice`, async () => {
    await using installation = await embedded(inProcess);
    await installation.program(["apikey", "--create", "--name", "ci", "--roles", "VIEWER"]);
    const { screen, code } = runAtTerminal(["apikey", ...flags], { env: installation.env });
    const start = await screen.until(/\? What do you want to do\?/);
    screen.press(...Array.from({ length: position }, () => KEYS.down), KEYS.enter);
    await screen.until(question);
    screen.press(KEYS.escape);
    const shown = await screen.until(/\? What do you want to do\?/);
    expect(shown.replace("❯", " ")).toBe(start.replace("❯", " "));
    expect(shown).toContain(`❯ ${mode}`);
    screen.press(KEYS.enter);
    await screen.until(question);
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
  });
}
