/** The prompts for text, for secrets, and for yes or no: what each key does, and what is on the screen. */
import { expect } from "expect";
import { parseDescription } from "../../../src/apikey/description.ts";
import { parseName } from "../../../src/apikey/name.ts";
import { KEYS } from "../../program/screen.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const checkName = (typed: string): void => void parseName(typed);

Deno.test("text: the typed text is visible and stays on the screen as the answer", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Name", hint: "what it is called" })
  );
  expect(await screen.text()).toBe("? Name: █\n  what it is called");
  screen.press(..."blue", KEYS.enter);
  expect(await answer).toBe("blue");
  expect(await screen.text()).toBe("✔ Name: blue");
  expect(screen.isRestored).toBe(true);
});

Deno.test("text: keys move the cursor and edit the text", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name", initial: "bleu" }));
  await screen.until(/bleu█/);
  screen.press(KEYS.left, KEYS.backspace);
  await screen.until(/bl█u/);
  screen.press(KEYS.end, "e", KEYS.home, "x");
  await screen.until(/x█blue/);
  screen.press(KEYS.backspace, KEYS.enter);
  expect(await answer).toBe("blue");
});

Deno.test("text: a paste of 2,000 characters takes less than 100 ms, and no character is lost", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Description", check: (typed) => void parseDescription(typed) })
  );
  const pasted = "pasted text ".repeat(167).slice(0, 2000);
  expect(await screen.timePaste(pasted)).toBeLessThan(100);
  screen.press(pasted);
  await screen.until(/✖/);
  screen.press(KEYS.ctrlU, pasted.slice(0, 1000), KEYS.enter);
  expect(await answer).toBe(pasted.slice(0, 1000));
});

Deno.test("if the user continues the suspended program, its prompt and what was above it fill the window again", async () => {
  const { screen } = await promptAtTerminal(async (prompts, host) => {
    await prompts.text({ label: "Name" });
    await host.stderr.write("1\n2\n3\n");
    await prompts.text({ label: "Description" });
  }, { rows: 6 });
  screen.press("a", KEYS.enter);
  await screen.until(/Description: /);
  screen.press("b");
  await screen.until(/b█/);
  screen.write("Stopped\n$ fg\n");
  screen.output.emit("continue");
  expect((await screen.until(/b█[^]*b█/)).split("\n").slice(-6)).toEqual([
    "",
    "✔ Name: a",
    "1",
    "2",
    "3",
    "? Description: b█",
  ]);
});

Deno.test("? explains the keys of a confirmation", async () => {
  const { screen } = await promptAtTerminal(
    (prompts) => prompts.confirm({ label: "Sure?", initial: false, canEdit: true, canGoBack: true }),
    { columns: 40 },
  );
  expect(await screen.text()).toBe("? Sure? (y/N/e)\n  e change an answer · y yes · ? help");
  screen.press("?");
  expect(await screen.until(/to hide/)).toBe(`\
? Sure? (y/N/e)
  e to change an answer · y for yes
  n for no · esc to go back
  enter for no · ctrl-c to cancel
  ? to hide`);
});

Deno.test("the cursor is visible and below the prompt, so that the shell can continue there", async () => {
  const { screen } = await promptAtTerminal((prompts) => prompts.text({ label: "Name" }));
  expect(screen.raw).toBe("? Name: █\n");
});

Deno.test("text: without a check, Enter accepts an empty text", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name" }));
  screen.press(KEYS.enter);
  expect(await answer).toBe("");
  expect(await screen.text()).toBe("✔ Name:");
});

Deno.test("text: an error appears while the user types, and disappears when the text is valid", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Name", hint: "hint", check: checkName })
  );
  screen.press(..."a-b");
  expect(await screen.until(/✖/)).toBe(
    '? Name: a-b█\n  ✖ The name "a-b" contains "-". A name may contain only letters, digits and\n    spaces. Did you mean "a b"?',
  );
  screen.press(KEYS.enter, KEYS.backspace, KEYS.backspace);
  expect(await screen.until(/Name: a█/)).toBe("? Name: a█\n  hint");
  screen.press(KEYS.enter);
  expect(await answer).toBe("a");
});

Deno.test("text: Enter rejects a text that fails the check, and keeps what was typed", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) =>
    prompts.text({ label: "Name", hint: "hint", check: checkName })
  );
  screen.press(KEYS.enter);
  expect(await screen.until(/✖/)).toContain("The name is empty.");
  screen.press("a", "!", KEYS.enter, KEYS.backspace, "b");
  await screen.until(/Name: ab█/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("ab");
});

Deno.test("text: if any text is typed, Ctrl-D deletes the letter after the cursor and does not cancel the prompt", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name" }));
  screen.press("a", "b", KEYS.left, KEYS.ctrlD);
  await screen.until(/Name: a█$/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("a");
});

for (const name of ["钥匙 一", "مفتاح", "𝒜𝟙"]) {
  Deno.test(`text: ${name} can be typed and edited`, async () => {
    const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name", check: checkName }));
    screen.press(...name, KEYS.left, KEYS.right, "x", KEYS.backspace);
    await screen.until(new RegExp(`^\\? Name: ${name}█$`));
    screen.press(KEYS.enter);
    expect(await answer).toBe(name);
  });
}

Deno.test("text: invisible characters are escaped on the screen, but not in the answer", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.text({ label: "Name" }));
  screen.press("a", "\u202e", "b");
  await screen.until(/Name: a\\u\{202e\}b█/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("a\u202eb");
});

Deno.test("secret: neither the text nor its length is visible, before or after the answer", async () => {
  const { screen, answer } = await promptAtTerminal((prompts) => prompts.secret({ label: "Key" }));
  screen.press(..."top");
  const short = await screen.until(/not shown/);
  screen.press(..." secret");
  expect(await screen.text()).toBe(short);
  screen.press(KEYS.enter);
  expect(await answer).toBe("top secret");
  expect(await screen.text()).toBe("✔ Key: (not shown)");
  expect(screen.raw).not.toMatch(/top|secret/);
});

for (
  const [initial, hint, key, isConfirmed] of [
    [true, "(Y/n)", "n", false],
    [true, "(Y/n)", KEYS.enter, true],
    [false, "(y/N)", "Y", true],
    [false, "(y/N)", KEYS.enter, false],
  ] as const
) {
  Deno.test(`confirm ${hint}: ${key === KEYS.enter ? "Enter" : key} answers ${isConfirmed ? "yes" : "no"}`, async () => {
    const { screen, answer } = await promptAtTerminal((prompts) => prompts.confirm({ label: "Sure?", initial }));
    expect((await screen.text()).split("\n")[0]).toBe(`? Sure? ${hint}`);
    screen.press("x", KEYS.space, KEYS.down, key);
    expect(await answer).toBe(isConfirmed);
    expect(await screen.text()).toBe(`✔ Sure? ${isConfirmed ? "yes" : "no"}`);
    expect(screen.isRestored).toBe(true);
  });
}

for (
  const [typed, initial, expected] of [
    ["yes\r", false, true],
    ["YES", false, true],
    ["no\r", true, false],
    ["maybe\r", false, false],
  ] as const
) {
  Deno.test(`confirm: ${JSON.stringify(typed)}, pasted at once, answers ${expected ? "yes" : "no"}`, async () => {
    const { screen, answer } = await promptAtTerminal((prompts) => prompts.confirm({ label: "Sure?", initial }));
    screen.press(typed);
    expect(await answer).toBe(expected);
  });
}

Deno.test("confirm: keys pressed before the prompt appeared do not answer it", async () => {
  const { screen, answer } = await promptAtTerminal(async (prompts) => {
    const name = await prompts.text({ label: "Name" });
    return [name, await prompts.confirm({ label: "Sure?", initial: true })];
  });
  screen.press("a\r", "y", "\r");
  await screen.until(/Sure/);
  screen.press("n");
  expect(await answer).toEqual(["a", false]);
});
