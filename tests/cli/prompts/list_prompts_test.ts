/** The prompts in which the user selects from a list: what each key does, and what is on the screen. */
import { expect } from "expect";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { KEYS } from "../../program/screen.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const FRUIT = ["Apple", "Banana", "Cherry"].map((label) => ({ value: label.toLowerCase(), label }));
const KEY_HELP = "  space to select · enter to confirm · type to filter · ctrl-a for all or none";

const selectFruit = (prompts: Prompts): Promise<readonly string[]> =>
  prompts.select({ label: "Fruit", items: FRUIT.map((item) => ({ ...item, hint: `${item.value} tree` })) });

for (
  const [pressed, keys, selected] of [
    ["Enter", [], "apple"],
    ["Down and Enter", [KEYS.down], "banana"],
    ["Up and Enter", [KEYS.up], "cherry"],
    ["End, Down and Enter", [KEYS.end, KEYS.down], "apple"],
    ["Down, Home, x, Space and Enter", [KEYS.down, KEYS.home, "x", KEYS.space], "apple"],
    ["Page Down and Enter", [KEYS.pageDown], "cherry"],
    ["Page Down, Page Up and Enter", [KEYS.pageDown, KEYS.pageUp], "apple"],
  ] as const
) {
  Deno.test(`selectOne: ${pressed} selects ${selected}`, async () => {
    const { screen, answer } = await promptAtTerminal((prompts) =>
      prompts.selectOne({ label: "Which fruit?", items: FRUIT })
    );
    expect(await screen.text()).toBe("? Which fruit?\n❯ Apple\n  Banana\n  Cherry");
    screen.press(...keys, KEYS.enter);
    expect(await answer).toBe(selected);
    expect(await screen.text()).toMatch(new RegExp(`^✔ Which fruit\\? ${selected}$`, "i"));
  });
}

Deno.test("select: Space selects and unselects, and the answer has the order of the list", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(KEYS.down, KEYS.down, KEYS.space, KEYS.up, KEYS.space, KEYS.up, KEYS.space, KEYS.space);
  expect(await screen.until(/2 selected, 3 listed/)).toBe(`\
? Fruit: █ (2 selected, 3 listed)
❯ ◯ Apple   apple tree
  ◉ Banana  banana tree
  ◉ Cherry  cherry tree
${KEY_HELP}`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["banana", "cherry"]);
  expect(await screen.text()).toBe("✔ Fruit: Banana, Cherry");
});

Deno.test("select: Enter accepts an empty selection", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
  expect(await screen.text()).toBe("✔ Fruit: none");
});

Deno.test("select: typing filters by label and hint, ignores case, and keeps the selection", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."CHE", KEYS.space);
  expect(await screen.until(/1 selected/)).toBe(`\
? Fruit: CHE█ (1 selected, 1 of 3 listed)
❯ ◉ Cherry  cherry tree
${KEY_HELP}`);
  screen.press(KEYS.ctrlU, ..."appletree");
  expect(await screen.until(/appletree/)).toContain("❯ ◯ Apple");
  screen.press(KEYS.backspace);
  await screen.until(/appletre█/);
  screen.press(KEYS.ctrlU);
  expect(await screen.until(/selected, 3 listed\)/)).toContain("◉ Cherry");
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["cherry"]);
});

Deno.test("select: a filter without matches shows a message, and Space selects nothing", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."kiwi", KEYS.space, KEYS.ctrlA, KEYS.down, KEYS.up);
  expect(await screen.until(/kiwi/)).toBe(`\
? Fruit: kiwi█ (0 selected, 0 of 3 listed)
  ✖ No matches.
${KEY_HELP}`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("select: Ctrl-A selects all items that match the filter, or unselects them if all are selected", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."an", KEYS.ctrlA, KEYS.ctrlU, KEYS.ctrlA);
  await screen.until(/3 selected, 3 listed/);
  screen.press(KEYS.ctrlA);
  await screen.until(/0 selected, 3 listed/);
  screen.press(..."erry", KEYS.ctrlA, KEYS.enter);
  expect(await answer).toEqual(["cherry"]);
});

Deno.test("select: a list longer than the window scrolls with the focus", async () => {
  const items = Array.from({ length: 100 }, (_, value) => ({ value, label: `item ${value}` }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Items", items }), {
    rows: 8,
  });
  expect((await screen.text()).split("\n")).toHaveLength(7);
  screen.press(KEYS.up);
  expect(await screen.until(/❯ ◯ item 99/)).toMatch(/item 95.*item 99/s);
  screen.press(KEYS.pageUp);
  expect(await screen.until(/❯ ◯ item 94/)).toMatch(
    /^\? Items.*\n.*item 92\n.*item 93\n.*94\n.*95\n.*96\n.*all or none$/,
  );
  screen.press(KEYS.home, KEYS.pageDown, KEYS.space);
  expect(await screen.until(/❯ ◉ item 5$/m)).toContain("(1 selected, 100 listed)");
  screen.press(KEYS.end, KEYS.down, KEYS.ctrlA, KEYS.enter);
  expect(await answer).toHaveLength(100);
  expect(await screen.text()).toBe(
    "✔ Items: item 0, item 1, item 2, item 3, item 4, item 5, item 6, item 7, item 8,\n item 9 and 90 more",
  );
});

Deno.test("select: if the window shrinks, the list is redrawn and no old lines stay above it", async () => {
  const items = Array.from({ length: 40 }, (_, value) => ({ value, label: `item ${value}`, hint: "x".repeat(60) }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Items", items }));
  await screen.resize(40, 10);
  screen.press(KEYS.end);
  const text = await screen.until(/❯ ◯ item 39/);
  expect(text.split("\n").slice(-9)[0]).toMatch(/^\? Items/);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("select: a long label takes half of a narrow window, so that the hint stays visible", async () => {
  const items = ["a key with a name of many words", "b"].map((label) => ({
    value: label,
    label,
    hint: "VIEWER  2026",
  }));
  const { screen } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }), { columns: 40 });
  expect(await screen.text()).toBe(`\
? Keys: █ (0 selected, 2 listed)
❯ ◯ a key with a name o…  VIEWER  2026
  ◯ b                     VIEWER  2026
  space to select · enter to confirm ·…`);
});

Deno.test("select: the median time to redraw a list of 10,000 items after a key press is less than 50 ms", async () => {
  const items = Array.from({ length: 10_000 }, (_, value) => ({
    value,
    label: `key ${value}`,
    hint: `VIEWER,GUEST  2026-01-02  for job ${value % 97}`,
  }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }));
  const keys = [..."key42", KEYS.space, KEYS.down, KEYS.ctrlU, KEYS.end, KEYS.pageUp, KEYS.ctrlA, KEYS.ctrlA];
  const times: number[] = [];
  for (const key of [...keys, ..."job9", KEYS.backspace, KEYS.backspace, KEYS.down, KEYS.space]) {
    // deno-lint-ignore no-await-in-loop -- one key at a time
    times.push(await screen.timeKey(key));
  }
  expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(50);
  screen.press(KEYS.enter);
  await answer;
});
