/** Lists at a terminal, key by key: one of a list, any of a list. */
import { expect } from "expect";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { KEYS } from "../../program/screen.ts";
import { askAtTerminal } from "../../program/terminal_host.ts";

const FRUIT = ["Apple", "Banana", "Cherry"].map((label) => ({ value: label.toLowerCase(), label }));

const askFruit = (questions: Prompts): Promise<readonly string[]> =>
  questions.select({ label: "Fruit", items: FRUIT.map((item) => ({ ...item, hint: `a ${item.value} tree` })) });

for (
  const [keys, chosen] of [
    [[], "apple"],
    [[KEYS.down], "banana"],
    [[KEYS.up], "cherry"],
    [[KEYS.end], "cherry"],
    [[KEYS.end, KEYS.down], "apple"],
    [[KEYS.down, KEYS.home, "x", KEYS.space], "apple"],
    [[KEYS.pageDown], "cherry"],
    [[KEYS.pageDown, KEYS.pageUp], "apple"],
  ] as const
) {
  Deno.test(`choose: ${JSON.stringify(keys)} and Enter is ${chosen}`, async () => {
    const { screen, answer } = await askAtTerminal((questions) =>
      questions.selectOne({ label: "Which fruit?", items: FRUIT })
    );
    expect(await screen.text()).toBe("? Which fruit?\n❯ Apple\n  Banana\n  Cherry");
    screen.press(...keys, KEYS.enter);
    expect(await answer).toBe(chosen);
    expect(await screen.text()).toMatch(new RegExp(`^✔ Which fruit\\? ${chosen}$`, "i"));
  });
}

Deno.test("tick: space ticks and unticks, answers are in the order of the list", async () => {
  const { screen, answer } = await askAtTerminal(askFruit);
  screen.press(KEYS.down, KEYS.down, KEYS.space, KEYS.up, KEYS.space, KEYS.up, KEYS.space, KEYS.space);
  expect(await screen.until(/2 ticked/)).toBe(`\
? Fruit: █ (2 ticked, 3)
❯ ◯ Apple   a apple tree
  ◉ Banana  a banana tree
  ◉ Cherry  a cherry tree
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["banana", "cherry"]);
  expect(await screen.text()).toBe("✔ Fruit: Banana, Cherry");
});

Deno.test("tick: nothing ticked is none", async () => {
  const { screen, answer } = await askAtTerminal(askFruit);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
  expect(await screen.text()).toBe("✔ Fruit: none");
});

Deno.test("tick: what is typed filters by label and hint, in any case, and ticks outlast the filter", async () => {
  const { screen, answer } = await askAtTerminal(askFruit);
  screen.press(..."CHE", KEYS.space);
  expect(await screen.until(/1 ticked/)).toBe(`\
? Fruit: CHE█ (1 ticked, 1 of 3)
❯ ◉ Cherry  a cherry tree
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  screen.press(KEYS.ctrlU, ..."appletree");
  expect(await screen.until(/appletree/)).toContain("❯ ◯ Apple");
  screen.press(KEYS.backspace);
  await screen.until(/appletre█/);
  screen.press(KEYS.ctrlU);
  expect(await screen.until(/ticked, 3\)/)).toContain("◉ Cherry");
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["cherry"]);
});

Deno.test("tick: a filter that nothing has says so, and space ticks nothing", async () => {
  const { screen, answer } = await askAtTerminal(askFruit);
  screen.press(..."kiwi", KEYS.space, KEYS.ctrlA, KEYS.down, KEYS.up);
  expect(await screen.until(/kiwi/)).toBe(`\
? Fruit: kiwi█ (0 ticked, 0 of 3)
  ✖ Nothing has that in it.
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("tick: Ctrl-A ticks all that are shown, and unticks them when all are ticked", async () => {
  const { screen, answer } = await askAtTerminal(askFruit);
  screen.press(..."an", KEYS.ctrlA, KEYS.ctrlU, KEYS.ctrlA);
  await screen.until(/3 ticked/);
  screen.press(KEYS.ctrlA);
  await screen.until(/0 ticked/);
  screen.press(..."erry", KEYS.ctrlA, KEYS.enter);
  expect(await answer).toEqual(["cherry"]);
});

Deno.test("tick: a list longer than the window moves under the pointer", async () => {
  const items = Array.from({ length: 100 }, (_, value) => ({ value, label: `item ${value}` }));
  const { screen, answer } = await askAtTerminal((questions) => questions.select({ label: "Items", items }), {
    rows: 8,
  });
  const lines = async (): Promise<readonly string[]> => (await screen.text()).split("\n");
  expect(await lines()).toHaveLength(7);
  screen.press(KEYS.up);
  expect(await screen.until(/❯ ◯ item 99/)).toMatch(/item 95.*item 99/s);
  screen.press(KEYS.pageUp);
  expect(await screen.until(/❯ ◯ item 94/)).toMatch(
    /^\? Items.*\n.*item 92\n.*item 93\n.*94\n.*95\n.*96\n.*ticks all$/,
  );
  screen.press(KEYS.home, KEYS.pageDown, KEYS.space);
  expect(await screen.until(/❯ ◉ item 5$/m)).toContain("(1 ticked, 100)");
  screen.press(KEYS.end, KEYS.down, KEYS.ctrlA, KEYS.enter);
  expect(await answer).toHaveLength(100);
  expect(await screen.text()).toBe(
    "✔ Items: item 0, item 1, item 2, item 3, item 4, item 5, item 6, item 7, item 8,\n item 9 and 90 more",
  );
});

Deno.test("tick: a list is drawn anew when the window becomes smaller, and nothing of it stays above", async () => {
  const items = Array.from({ length: 40 }, (_, value) => ({ value, label: `item ${value}`, hint: "x".repeat(60) }));
  const { screen, answer } = await askAtTerminal((questions) => questions.select({ label: "Items", items }));
  await screen.resize(40, 10);
  screen.press(KEYS.end);
  const text = await screen.until(/❯ ◯ item 39/);
  expect(text.split("\n").slice(-9)[0]).toMatch(/^\? Items/);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("tick: a long label takes half of a narrow window, so that something is seen of the hint", async () => {
  const items = ["a key with a name of many words", "b"].map((label) => ({
    value: label,
    label,
    hint: "VIEWER  2026",
  }));
  const { screen } = await askAtTerminal((questions) => questions.select({ label: "Keys", items }), { columns: 40 });
  expect(await screen.text()).toBe(`\
? Keys: █ (0 ticked, 2)
❯ ◯ a key with a name o…  VIEWER  2026
  ◯ b                     VIEWER  2026
  space ticks · enter ends · letters f…`);
});

Deno.test("tick: a key is drawn within 50 ms in a list of 10,000", async () => {
  const items = Array.from({ length: 10_000 }, (_, value) => ({
    value,
    label: `key ${value}`,
    hint: `VIEWER,GUEST  2026-01-02  for job ${value % 97}`,
  }));
  const { screen, answer } = await askAtTerminal((questions) => questions.select({ label: "Keys", items }));
  const keys = [..."key42", KEYS.space, KEYS.down, KEYS.ctrlU, KEYS.end, KEYS.pageUp, KEYS.ctrlA, KEYS.ctrlA];
  const times: number[] = [];
  for (const key of [...keys, ..."job9", KEYS.backspace, KEYS.backspace, KEYS.down, KEYS.space]) {
    // deno-lint-ignore no-await-in-loop -- one key after the other
    times.push(await screen.timeKey(key));
  }
  expect(times.length).toBeGreaterThanOrEqual(20);
  expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(50);
  screen.press(KEYS.enter);
  await answer;
});
