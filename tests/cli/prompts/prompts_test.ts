/** Prompts at a terminal, key by key: text, secret, yes or no. */
import { expect } from "expect";
import { parseName } from "../../../src/apikey/name.ts";
import { KEYS } from "../../program/screen.ts";
import { askAtTerminal } from "../../program/terminal_host.ts";

const checkName = (typed: string): void => void parseName(typed);

Deno.test("text: what is typed is shown, and stays as the answer", async () => {
  const { screen, answer } = await askAtTerminal((questions) =>
    questions.text({ label: "Name", hint: "what it is called" })
  );
  expect(await screen.text()).toBe("? Name: █\n  what it is called");
  screen.press(..."blue", KEYS.enter);
  expect(await answer).toBe("blue");
  expect(await screen.text()).toBe("✔ Name: blue");
  expect(screen.isRestored).toBe(true);
});

Deno.test("text: keys move in it and edit it", async () => {
  const { screen, answer } = await askAtTerminal((questions) => questions.text({ label: "Name", initial: "bleu" }));
  await screen.until(/bleu█/);
  screen.press(KEYS.left, KEYS.backspace);
  await screen.until(/bl█u/);
  screen.press(KEYS.end, "e", KEYS.home, "x");
  await screen.until(/x█blue/);
  screen.press(KEYS.backspace, KEYS.enter);
  expect(await answer).toBe("blue");
});

Deno.test("text: nothing is an answer too", async () => {
  const { screen, answer } = await askAtTerminal((questions) => questions.text({ label: "Name" }));
  screen.press(KEYS.enter);
  expect(await answer).toBe("");
  expect(await screen.text()).toBe("✔ Name:");
});

Deno.test("text: what is wrong with it is said while it is typed, and gone when it is mended", async () => {
  const { screen, answer } = await askAtTerminal((questions) =>
    questions.text({ label: "Name", hint: "hint", check: checkName })
  );
  screen.press(..."a-b");
  expect(await screen.until(/✖/)).toBe(
    '? Name: a-b█\n  ✖ The name "a-b" contains "-". A name may contain only letters, digits and spaces.',
  );
  screen.press(KEYS.enter, KEYS.backspace, KEYS.backspace);
  expect(await screen.until(/Name: a█/)).toBe("? Name: a█\n  hint");
  screen.press(KEYS.enter);
  expect(await answer).toBe("a");
});

Deno.test("text: Enter does not take what is wrong, not even nothing, and nothing typed is lost", async () => {
  const { screen, answer } = await askAtTerminal((questions) =>
    questions.text({ label: "Name", hint: "hint", check: checkName })
  );
  screen.press(KEYS.enter);
  expect(await screen.until(/✖/)).toContain("The name is empty.");
  screen.press("a", "!", KEYS.enter, KEYS.backspace, "b");
  await screen.until(/Name: ab█/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("ab");
});

Deno.test("text: Ctrl-D takes the letter after the cursor away, and ends nothing", async () => {
  const { screen, answer } = await askAtTerminal((questions) => questions.text({ label: "Name" }));
  screen.press("a", "b", KEYS.left, KEYS.ctrlD);
  await screen.until(/Name: a█$/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("a");
});

for (const name of ["钥匙 一", "مفتاح", "été", "𝒜𝟙"]) {
  Deno.test(`text: ${name} is typed, moved in and taken`, async () => {
    const { screen, answer } = await askAtTerminal((questions) => questions.text({ label: "Name", check: checkName }));
    screen.press(...name, KEYS.left, KEYS.right, "x", KEYS.backspace);
    await screen.until(new RegExp(`^\\? Name: ${name}█$`));
    screen.press(KEYS.enter);
    expect(await answer).toBe(name);
  });
}

Deno.test("text: what cannot be seen is shown escaped", async () => {
  const { screen, answer } = await askAtTerminal((questions) => questions.text({ label: "Name" }));
  screen.press("a", "\u202e", "b");
  await screen.until(/Name: a\\u\{202e\}b█/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("a\u202eb");
});

Deno.test("secret: neither what is typed nor how much of it can be seen, before and after", async () => {
  const { screen, answer } = await askAtTerminal((questions) => questions.secret({ label: "Key" }));
  screen.press(..."top");
  const short = await screen.until(/not shown/);
  screen.press(..." secret");
  expect(await screen.text()).toBe(short);
  screen.press(KEYS.enter);
  expect(await answer).toBe("top secret");
  expect(await screen.text()).toBe("✔ Key: (not shown)");
  expect(screen.raw).not.toMatch(/top|secret/);
});

for (const [initial, hint] of [[true, "(Y/n)"], [false, "(y/N)"]] as const) {
  for (
    const [key, yes] of [["y", true], ["Y", true], ["n", false], ["N", false], [KEYS.enter, initial]] as const
  ) {
    Deno.test(`confirm ${hint}: ${JSON.stringify(key)} is ${yes ? "yes" : "no"}`, async () => {
      const { screen, answer } = await askAtTerminal((questions) => questions.confirm({ label: "Sure?", initial }));
      expect(await screen.text()).toBe(`? Sure? ${hint}`);
      screen.press("x", KEYS.space, KEYS.down, key);
      expect(await answer).toBe(yes);
      expect(await screen.text()).toBe(`✔ Sure? ${yes ? "yes" : "no"}`);
      expect(screen.isRestored).toBe(true);
    });
  }
}

Deno.test("confirm: what was pressed before the question was there is no answer", async () => {
  const { screen, answer } = await askAtTerminal(async (questions) => {
    const name = await questions.text({ label: "Name" });
    return [name, await questions.confirm({ label: "Sure?", initial: true })];
  });
  screen.press("a\r", "y", "\r");
  await screen.until(/Sure/);
  screen.press("n");
  expect(await answer).toEqual(["a", false]);
});
