/** Going back to the question before: which keys do it, what they keep, and what is on the screen. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { GoBack } from "../../../src/cli/prompts/options.ts";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { runSteps, type Step } from "../../../src/cli/prompts/steps.ts";
import { KEYS } from "../../program/screen.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const FRUIT = ["Apple", "Banana", "Cherry"].map((label) => ({ value: label.toLowerCase(), label }));
const canGoBack = true;
const showGrid = (prompts: Prompts, initial: readonly `${string}:READ_ANY`[] = []): Promise<readonly string[]> => {
  const rules = { roles: [], byRoles: new Set<string>(), anyIncludesOwn: true };
  return prompts.permissions({ label: "Permissions", resources: ["DISK", "ME"], canGoBack, initial, ...rules });
};

const PROMPTS = {
  text: (prompts: Prompts) => prompts.text({ label: "Name", canGoBack }),
  secret: (prompts: Prompts) => prompts.secret({ label: "Key", canGoBack }),
  confirm: (prompts: Prompts) => prompts.confirm({ label: "Sure?", initial: true, canGoBack }),
  selectOne: (prompts: Prompts) => prompts.selectOne({ label: "Fruit", items: FRUIT, canGoBack }),
  searchOne: (prompts: Prompts) => prompts.searchOne({ label: "Fruit", items: FRUIT, canGoBack }),
  select: (prompts: Prompts) => prompts.select({ label: "Fruit", items: FRUIT, canGoBack }),
  permissions: (prompts: Prompts) => showGrid(prompts),
} as const;

for (const [kind, show] of Object.entries(PROMPTS)) {
  for (const [name, key] of [["Shift-Tab", KEYS.shiftTab], ["Escape", KEYS.escape]] as const) {
    Deno.test(`${kind}: ${name} goes back, removes the question from the screen and restores the terminal`, async () => {
      const { screen, answer } = await promptAtTerminal<unknown>(show);
      screen.press(key);
      await expect(answer).rejects.toThrow(GoBack);
      expect(await screen.text()).toBe("");
      expect(screen.isRestored).toBe(true);
    });
  }
}

Deno.test("text: Up goes back from the start of the text, and elsewhere moves to the start", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Name", initial: "ci", canGoBack })
  );
  screen.press(KEYS.up);
  await screen.until(/Name: █ci/);
  screen.press(KEYS.up);
  await expect(answer).rejects.toThrow(GoBack);
});

for (
  const [kind, show, typed] of [
    ["searchOne", PROMPTS.searchOne, "cherry"],
    ["select", PROMPTS.select, "cherry"],
    ["permissions", PROMPTS.permissions, "me"],
  ] as const
) {
  Deno.test(`${kind}: Escape first clears the filter, and then goes back`, async () => {
    const { screen, answer } = await promptAtTerminal<unknown>((prompts) => show(prompts));
    const unfiltered = await screen.text();
    screen.press(...typed);
    await screen.until(new RegExp(`${typed}█`));
    screen.press(KEYS.escape);
    // Clearing the filter keeps the focus on the same row.
    expect(await screen.until(/: █/)).toHaveLength(unfiltered.length);
    screen.press(KEYS.escape);
    await expect(answer).rejects.toThrow(GoBack);
  });
}

Deno.test("the question before keeps its answer, and the question that was left keeps what was typed", async () => {
  const { screen, answer } = await promptAtTerminal(async (prompts) => {
    let name = "";
    let fruit: readonly string[] = [];
    const saveDraft = (values: readonly string[]): void => void (fruit = values);
    await runSteps([
      async (canGoBack) => void (name = await prompts.text({ label: "Name", initial: name, canGoBack })),
      async (canGoBack) => {
        fruit = await prompts.select({ label: "Fruit", items: FRUIT, initial: fruit, canGoBack, saveDraft });
      },
    ]);
    return [name, fruit];
  });
  screen.press(..."ci", KEYS.enter);
  await screen.until(/Apple/);
  screen.press(KEYS.down, KEYS.space, KEYS.shiftTab);
  await screen.until(/Name: ci█/);
  screen.press("x", KEYS.enter);
  await screen.until(/◉ Banana/);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["cix", ["banana"]]);
});

for (const columns of [80, 12]) {
  Deno.test(`going back erases the answer to the question before, and what was shown after it, in ${columns} columns`, async () => {
    const { screen, answer } = await promptAtTerminal(async (prompts, host) => {
      const ask = (label: string): Step => async (canGoBack) => void (await prompts.text({ label, canGoBack }));
      const showAndAsk: Step = async (canGoBack) => {
        await host.stderr.write("a summary\nof two lines\n");
        await ask("Third")(canGoBack);
      };
      await runSteps([ask("First"), ask("Second"), showAndAsk], { host });
    }, { columns });
    screen.press(..."some words", KEYS.enter);
    await screen.until(/Second: █/);
    const before = await screen.text();
    screen.press(..."more words", KEYS.enter);
    await screen.until(/Third: █/);
    screen.press(KEYS.shiftTab);
    expect(await screen.until(/Second: █/)).toBe(before);
    screen.press(KEYS.shiftTab);
    expect(await screen.until(/First: █/)).toMatch(/^\? First: █/);
    screen.press(KEYS.ctrlC);
    await expect(answer).rejects.toThrow("Interrupted");
  });
}

Deno.test("text: the text is kept when the user goes back", async () => {
  let draft = "";
  const saveDraft = (typed: string): void => void (draft = typed);
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name", canGoBack, saveDraft }));
  screen.press(..."ci", KEYS.shiftTab);
  await expect(answer).rejects.toThrow(GoBack);
  expect(draft).toBe("ci");
});

Deno.test("permissions: initial permissions are selected", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => showGrid(prompts, ["ME:READ_ANY"]));
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["ME:READ_ANY"]);
});

Deno.test("selectOne and searchOne: the initial item has the focus", async () => {
  const { screen, answer } = await promptAtTerminal(async (prompts) => [
    await prompts.selectOne({ label: "First", items: FRUIT, initial: "banana" }),
    await prompts.searchOne({ label: "Second", items: FRUIT, initial: "cherry" }),
  ]);
  screen.press(KEYS.enter, KEYS.enter);
  expect(await answer).toEqual(["banana", "cherry"]);
});

Deno.test("confirm with canEdit: y, n and e answer yes, no and edit", async () => {
  const { screen, answer } = await promptAtTerminal(async (prompts) => {
    const decide = (): Promise<string> => prompts.confirm({ label: "Create?", initial: true, canEdit: true });
    return [await decide(), await decide(), await decide()];
  });
  for (const key of ["y", "n", "E"]) {
    // deno-lint-ignore no-await-in-loop -- a confirmation discards keys that were pressed before it
    await screen.until(/\? Create\? \(Y\/n\/e\)\n/);
    screen.press(key);
    // deno-lint-ignore no-await-in-loop
    await screen.until(/(yes|no|edit)(\n\? Create\? \(Y\/n\/e\)\n.*)?$/);
  }
  expect(await answer).toEqual(["yes", "no", "edit"]);
});

Deno.test("text: with checksOnEnter, an error appears only after Enter", async () => {
  const check = (typed: string): void => {
    if (typed === "a") throw new Failure("USAGE", "Too short.");
  };
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Server", check, checksOnEnter: true })
  );
  screen.press("a");
  expect(await screen.until(/a█/)).toBe("? Server: a█");
  screen.press(KEYS.enter);
  await screen.until(/✖ Too short\./);
  screen.press("b");
  expect(await screen.until(/ab█/)).toBe("? Server: ab█");
  screen.press(KEYS.enter);
  expect(await answer).toBe("ab");
});
