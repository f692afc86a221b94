/** The prompts in which the user selects from a list: what each key does, and what is on the screen. */
import { expect } from "expect";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { KEYS } from "../../program/screen.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const FRUIT = ["Apple", "Banana", "Cherry"].map((label) => ({ value: label.toLowerCase(), label }));
const KEY_HELP = "  space to select · enter to confirm · type to filter · ? help";
const FILTERED_KEY_HELP = "  tab to select · enter to confirm · esc to clear · ? help";

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
    expect(await screen.text()).toBe(
      "? Which fruit?\n❯ Apple\n  Banana\n  Cherry\n  enter to select · arrows to move · ? help",
    );
    screen.press(...keys, KEYS.enter);
    expect(await answer).toBe(selected);
    expect(await screen.text()).toMatch(new RegExp(`^✔ Which fruit\\? ${selected}$`, "i"));
  });
}

Deno.test("searchOne: typing filters the items, spaces included, and Enter selects the focused item", async () => {
  const items = ["ci build", "ci deploy", "backup"].map((label, index) => ({
    value: index,
    label,
    hint: `no ${index}`,
  }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.searchOne({ label: "Key", items }));
  screen.press(..."ci ");
  expect(await screen.until(/ci █/)).toBe(
    "? Key: ci █ (2 of 3 shown)\n❯ ci build   no 0\n  ci deploy  no 1\n" +
      "  enter to select · type to filter · esc to clear · arrows to move · ? help",
  );
  screen.press(..."x", KEYS.enter);
  expect(await screen.until(/Press Esc/)).toContain("No matches.");
  screen.press(KEYS.ctrlU, ..."NO", KEYS.down, KEYS.enter);
  expect(await answer).toBe(1);
  expect(await screen.text()).toBe("✔ Key: ci deploy");
});

Deno.test("searchOne: a list that is longer than the screen scrolls with the focus", async () => {
  const items = Array.from({ length: 1000 }, (_, value) => ({ value, label: `key ${value}` }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.searchOne({ label: "Key", items }));
  screen.press(KEYS.end);
  expect(await screen.until(/❯ key 999/)).not.toContain("key 0\n");
  screen.press(KEYS.pageUp, KEYS.enter);
  expect(await answer).toBeGreaterThan(900);
});

Deno.test("select: Space selects and unselects, and the answer has the order of the list", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(KEYS.down, KEYS.down, KEYS.space, KEYS.up, KEYS.space, KEYS.up, KEYS.space, KEYS.space);
  expect(await screen.until(/2 of 3 selected/)).toBe(`\
? Fruit: █ (2 of 3 selected)
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

Deno.test("select: the first Enter after the focus has moved rejects an empty selection, and the next one accepts it", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(KEYS.down, KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(
    /✖ Nothing is selected\. Press Space to select "Banana", or Enter again for\n {4}none\.$/,
  );
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("select: after the user has unselected everything, Enter accepts the empty selection", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(KEYS.down, KEYS.space, KEYS.space, KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("select: if something has to be selected, Enter never accepts an empty selection", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.select({ label: "Fruit", items: FRUIT, isRequired: true })
  );
  screen.press(KEYS.enter, KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(
    /✖ Nothing is selected\. Press Space to select "Apple", or Ctrl-C to cancel\.$/,
  );
  screen.press(KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["apple"]);
});

Deno.test("select: typing filters by label and hint, ignores case, and keeps the selection", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."CHE", KEYS.tab);
  expect(await screen.until(/1 of 3 selected/)).toBe(`\
? Fruit: CHE█ (1 of 3 selected, 1 shown)
❯ ◉ Cherry  cherry tree
${FILTERED_KEY_HELP}`);
  screen.press(KEYS.ctrlU, ..."apple tr");
  expect(await screen.until(/apple tr/)).toContain("❯ ◯ Apple");
  screen.press(KEYS.backspace);
  await screen.until(/apple t█/);
  screen.press(KEYS.ctrlU);
  expect(await screen.until(/of 3 selected\)/)).toContain("◉ Cherry");
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["cherry"]);
});

Deno.test("select: a filter without matches shows a message, and Tab selects nothing", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."kiwi", KEYS.tab, KEYS.ctrlA, KEYS.down, KEYS.up);
  expect(await screen.until(/kiwi/)).toBe(`\
? Fruit: kiwi█ (0 of 3 selected, 0 shown)
  ✖ No matches.
${FILTERED_KEY_HELP}`);
  screen.press(KEYS.enter);
  await screen.until(/✖ Nothing is selected\. Press Esc to clear the filter\.$/);
  screen.press(KEYS.ctrlU, KEYS.enter);
  expect(await answer).toEqual([]);
});

/** The names of keys, two of which start with the same word. */
const selectKey = (prompts: Prompts): Promise<readonly string[]> =>
  prompts.select({
    label: "Keys",
    items: ["ci build", "ci deploy test", "ci deploy", "部署 一"].map((label) => ({ value: label, label })),
  });

Deno.test("select: while a filter is set, Space is text, and Tab selects", async () => {
  const { screen, answer } = await promptAtTerminal(selectKey);
  screen.press(KEYS.space, ..."ci ");
  expect(await screen.until(/ci █/)).toBe(`\
? Keys: ci █ (1 of 4 selected, 3 shown)
❯ ◉ ci build
  ◯ ci deploy test
  ◯ ci deploy
${FILTERED_KEY_HELP}`);
  screen.press("d");
  expect(await screen.until(/ci d█/)).toBe(`\
? Keys: ci d█ (1 of 4 selected, 2 shown)
❯ ◯ ci deploy test
  ◯ ci deploy
  Also selected: ci build
${FILTERED_KEY_HELP}`);
  screen.press(KEYS.tab, KEYS.down, KEYS.tab, KEYS.up, KEYS.tab);
  await screen.until(/❯ ◯ ci deploy test\n {2}◉ ci deploy\n/);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["ci build", "ci deploy"]);
});

Deno.test("select: while no filter is set, Tab selects too, and Space selects again after the filter is cleared", async () => {
  const { screen, answer } = await promptAtTerminal(selectKey);
  screen.press(KEYS.tab, "y", KEYS.backspace, KEYS.space, "c", KEYS.ctrlU, KEYS.down, KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["ci build", "ci deploy test", "ci deploy"]);
});

for (const typed of ["CI DEPLOY", "部署 一", "部署　一"]) {
  Deno.test(`select: typing the whole name "${typed}" moves the focus to its item`, async () => {
    const { screen, answer } = await promptAtTerminal(selectKey);
    screen.press(...typed, KEYS.tab, KEYS.enter);
    expect(await answer).toEqual([typed.startsWith("CI") ? "ci deploy" : "部署 一"]);
  });
}

Deno.test("select: a name matches whether its accents are typed as separate characters or not", async () => {
  const items = ["a", "clé".normalize("NFC"), "zoë".normalize("NFD")].map((label) => ({ value: label, label }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }));
  screen.press(..."clé".normalize("NFD"), KEYS.tab, KEYS.ctrlU, ..."zoë".normalize("NFC"), KEYS.tab, KEYS.enter);
  expect((await answer).map((name) => name.normalize("NFC"))).toEqual(["clé", "zoë"]);
});

Deno.test("select: selected items that the filter hides are named in one line that fits the window", async () => {
  const items = Array.from({ length: 100 }, (_, value) => ({ value, label: `item ${value}` }));
  const at = { columns: 40, rows: 8 };
  const { screen } = await promptAtTerminal((prompts) => prompts.select({ label: "Items", items }), at);
  screen.press(KEYS.ctrlA, ..."9");
  const lines = (await screen.until(/9█/)).split("\n");
  expect(lines).toHaveLength(7);
  expect(lines.at(-2)).toBe("  Also selected: item 0, item 1, item …");
});

Deno.test("select: if a filter is set and nothing is selected, Enter is rejected and the message names what Tab selects", async () => {
  const { screen, answer } = await promptAtTerminal(selectKey);
  screen.press(..."build", KEYS.enter);
  expect(await screen.until(/✖/)).toBe(`\
? Keys: build█ (0 of 4 selected, 1 shown)
❯ ◯ ci build
  ✖ Nothing is selected. Press Tab to select "ci build", or Esc to clear the
    filter.`);
  screen.press(KEYS.ctrlU, KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("select: Ctrl-A selects all items that match the filter, or unselects them if all are selected", async () => {
  const { screen, answer } = await promptAtTerminal(selectFruit);
  screen.press(..."an", KEYS.ctrlA, KEYS.ctrlU, KEYS.ctrlA);
  await screen.until(/3 of 3 selected/);
  screen.press(KEYS.ctrlA);
  await screen.until(/0 of 3 selected/);
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
  expect(await screen.until(/❯ ◯ item 99/)).toBe(`\
? Items: █ (optional, 0 of 100 selected)
  ◯ item 96                                                                   │
  ◯ item 97                                                                   │
  ◯ item 98                                                                   │
❯ ◯ item 99                                                                   ┃
  96 above
${KEY_HELP}`);
  screen.press(KEYS.pageUp);
  expect(await screen.until(/❯ ◯ item 95/)).toBe(`\
? Items: █ (optional, 0 of 100 selected)
  ◯ item 93                                                                   │
  ◯ item 94                                                                   │
❯ ◯ item 95                                                                   │
  ◯ item 96                                                                   ┃
  93 above · 3 below
${KEY_HELP}`);
  screen.press(KEYS.home, KEYS.pageDown, KEYS.space);
  expect(await screen.until(/❯ ◉ item 4 /m)).toContain("(1 of 100 selected)");
  screen.press(KEYS.end, KEYS.down, KEYS.ctrlA, KEYS.enter);
  expect(await answer).toHaveLength(100);
  expect(await screen.text()).toBe(
    "✔ Items: item 0, item 1, item 2, item 3, item 4, item 5, item 6, item 7, item 8,\nitem 9 and 90 more",
  );
});

Deno.test("select: if the window shrinks, the list is redrawn and no old lines stay above it", async () => {
  const items = Array.from({ length: 40 }, (_, value) => ({ value, label: `item ${value}`, hint: "x".repeat(60) }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Items", items }));
  await screen.resize(40, 10);
  screen.press(KEYS.end);
  const text = await screen.until(/❯ ◯ item 39/);
  expect(text.split("\n").slice(-9)[0]).toMatch(/^\? Items/);
  screen.press(KEYS.space, KEYS.enter);
  expect(await answer).toEqual([39]);
});

for (
  const [columns, row] of [
    [40, "❯ ◯ a key with a … [in use, last ADMIN]"],
    [80, "❯ ◯ a key with a n… [in use, last ADMIN]  ADMIN  used 3d ago"],
  ] as const
) {
  Deno.test(`select: the mark of an item is never cut off, and the filter finds it, in ${columns} columns`, async () => {
    const items = [
      { value: 1, label: "a key with a name of many words", mark: "in use, last ADMIN", hint: "ADMIN  used 3d ago" },
      { value: 2, label: "b", hint: "VIEWER  never used" },
    ];
    const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }), {
      columns,
    });
    expect((await screen.text()).split("\n")[1]).toBe(row);
    screen.press(..."last", KEYS.tab, KEYS.enter);
    expect(await answer).toEqual([1]);
  });
}

Deno.test("select: a long label takes half of a narrow window, so that the hint stays visible", async () => {
  const items = ["a key with a name of many words", "b"].map((label) => ({
    value: label,
    label,
    hint: "VIEWER  2026",
  }));
  const { screen } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }), { columns: 40 });
  expect(await screen.text()).toBe(`\
? Keys: █ (optional, 0 of 2 selected)
❯ ◯ a key with a name o…  VIEWER  2026
  ◯ b                     VIEWER  2026
  space select · enter confirm · ? help`);
});

Deno.test("select: the median time to redraw a list of 10,000 items after a key press is less than 50 ms", async () => {
  const items = Array.from({ length: 10_000 }, (_, value) => ({
    value,
    label: `key ${value}`,
    hint: `VIEWER,GUEST  2026-01-02  for job ${value % 97}`,
  }));
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.select({ label: "Keys", items }));
  const keys = [..."key 42", KEYS.tab, KEYS.down, KEYS.ctrlU, KEYS.end, KEYS.pageUp, KEYS.ctrlA, KEYS.ctrlA];
  const times: number[] = [];
  for (const key of [...keys, ..."job 9", KEYS.backspace, KEYS.backspace, KEYS.down, KEYS.tab]) {
    // deno-lint-ignore no-await-in-loop -- one key at a time
    times.push(await screen.timeKey(key));
  }
  expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(50);
  screen.press(KEYS.enter);
  await answer;
});

Deno.test("? shows all keys of the list, and ? or Escape hides them again", async () => {
  const { screen } = await promptAtTerminal(selectFruit);
  const hint = await screen.text();
  screen.press("?");
  expect(await screen.until(/to hide/)).toBe(`\
? Fruit: █ (optional, 0 of 3 selected)
❯ ◯ Apple   apple tree
  ◯ Banana  banana tree
  ◯ Cherry  cherry tree
  space to select · enter to confirm · type to filter · ctrl-a for all or none
  arrows to move · pageup and pagedown to scroll · home and end to jump
  ctrl-c to cancel · ? to hide`);
  screen.press("?");
  await screen.until(/\? help/);
  screen.press("?");
  await screen.until(/to hide/);
  screen.press(KEYS.escape);
  await screen.until(/\? help/);
  expect(await screen.text()).toBe(hint);
});

Deno.test("if all keys do not fit below the list, they take its place", async () => {
  const items = Array.from({ length: 100 }, (_, value) => ({ value, label: `item ${value}` }));
  const at = { columns: 40, rows: 10 };
  const { screen } = await promptAtTerminal((prompts) => prompts.select({ label: "Items", items }), at);
  screen.press("?");
  expect(await screen.until(/to hide/)).toBe(`\
? Items: █ (optional)
  space to select · enter to confirm
  type to filter
  ctrl-a for all or none
  arrows to move
  pageup and pagedown to scroll
  home and end to jump
  ctrl-c to cancel · ? to hide`);
  screen.press("?");
  await screen.until(/item 0/);
});

Deno.test("select: if the user pastes 2,000 characters, the filter appears within 100 ms", async () => {
  const { screen } = await promptAtTerminal(selectFruit);
  expect(await screen.timePaste("x".repeat(2000))).toBeLessThan(100);
});
