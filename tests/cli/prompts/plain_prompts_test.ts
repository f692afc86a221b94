/** The prompts at a terminal that cannot move the cursor, and for screen readers: plain lines, one after the other. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { parseName } from "../../../src/apikey/name.ts";
import { RESOURCES } from "../../../src/apikey/permission.ts";
import { GoBack } from "../../../src/cli/prompts/options.ts";
import { openPrompts, type Prompts } from "../../../src/cli/prompts/prompts.ts";
import { inProcess } from "../../program/program.ts";
import { KEYS, type Screen } from "../../program/screen.ts";
import { TerminalHost } from "../../program/terminal_host.ts";

interface PlainRun<Answer> {
  readonly host: TerminalHost;
  readonly screen: Screen;
  readonly answer: Promise<Answer>;
}

async function ask<Answer>(
  show: (prompts: Prompts) => Promise<Answer>,
  columns = 80,
): Promise<PlainRun<Answer>> {
  const host = new TerminalHost([], { columns, env: { TERM: "dumb" } });
  const answer = show(await openPrompts(host));
  answer.catch(() => {});
  return { host, screen: host.screen, answer };
}

/** Waits for a question, and answers it. As a terminal does, shows the answer unless the prompt hides it. */
async function reply(screen: Screen, question: RegExp, line: string): Promise<void> {
  await screen.until(question);
  screen.write(screen.isRaw ? "" : `${line}\n`);
  screen.press(line, KEYS.enter);
}

/** The text on the screen, without the space after each question. */
async function shown(screen: Screen): Promise<string> {
  return (await screen.text()).replaceAll(/ +$/gm, "");
}

const checkName = (typed: string): void => void parseName(typed);
const toItem = (label: string): { value: string; label: string } => ({ value: label, label });
const FRUIT = ["Apple", "Banana", "Red apple", "Cherry"].map(toItem);
const MANY = Array.from({ length: 25 }, (_, index) => toItem(`key ${String.fromCharCode(97 + index)}`));

Deno.test("plain text: the hint is in the line of the question, and a bad answer is explained before it is asked again", async () => {
  const { screen, answer } = await ask((prompts) =>
    prompts.text({ label: "Name", hint: "letters, digits and spaces", check: checkName })
  );
  await reply(screen, /\]:$/, "ci-deploy");
  await reply(screen, /Name:$/, "ci deploy");
  expect(await answer).toBe("ci deploy");
  expect(await shown(screen)).toBe(`\
Name [letters, digits and spaces]: ci-deploy
The name "ci-deploy" contains "-". A name may contain only letters, digits and
spaces. Did you mean "ci deploy"?
Name: ci deploy`);
});

for (
  const [typed, expected] of [["", "old text"], ["-", ""], ["new text", "new text"]] as const
) {
  Deno.test(`plain text: with the earlier answer "old text", ${JSON.stringify(typed)} answers ${JSON.stringify(expected)}`, async () => {
    const { screen, answer } = await ask((prompts) => prompts.text({ label: "Description", initial: "old text" }));
    await reply(screen, /^Description \[Enter keeps "old text", - removes it\]:$/, typed);
    expect(await answer).toBe(expected);
  });
}

Deno.test("plain text: an earlier answer that cannot be empty cannot be removed", async () => {
  const { screen, answer } = await ask((prompts) => prompts.text({ label: "Name", initial: "ci", check: checkName }));
  await reply(screen, /^Name \[Enter keeps "ci"\]:$/, "-");
  await screen.until(/contains "-"/);
  screen.press(KEYS.enter);
  expect(await answer).toBe("ci");
});

Deno.test("plain secret: nothing of it is visible, and Backspace and Ctrl-U edit it", async () => {
  const { screen, answer } = await ask((prompts) =>
    prompts.secret({
      label: "Key",
      check: (typed) => {
        if (typed !== "top") throw new Failure("USAGE", "This is not a key.");
      },
    })
  );
  await reply(screen, /\]:$/, "secret");
  await screen.until(/not a key\.\nKey:$/);
  screen.press("x", KEYS.ctrlU, "tö", KEYS.backspace, KEYS.up, "o", "pp", KEYS.backspace, KEYS.enter);
  expect(await answer).toBe("top");
  expect(await shown(screen)).toBe("Key [not shown while you type]:\nThis is not a key.\nKey:");
  expect(screen.isRestored).toBe(true);
});

for (
  const [choices, options, typed, expected] of [
    ["(Y/n)", { initial: true }, "", true],
    ["(y/N)", { initial: false }, "", false],
    ["(y/N)", { initial: false }, "YES", true],
    ["(Y/n)", { initial: true }, " n ", false],
    ["(Y/n/e)", { initial: true, canEdit: true }, "e", "edit"],
    ["(y/N/e)", { initial: false, canEdit: true }, "", "no"],
  ] as const
) {
  Deno.test(`plain confirm ${choices}: ${JSON.stringify(typed)} answers ${JSON.stringify(expected)}`, async () => {
    const { screen, answer } = await ask<unknown>((prompts) =>
      "canEdit" in options
        ? prompts.confirm({ label: "Sure?", ...options })
        : prompts.confirm({ label: "Sure?", ...options })
    );
    await screen.until(/Sure\?/);
    expect((await shown(screen)).split("\n").at(-1)).toBe(
      `Sure? ${choices}${"canEdit" in options ? " [e changes an answer]" : ""}`,
    );
    await reply(screen, /Sure/, typed);
    expect(await answer).toBe(expected);
  });
}

Deno.test("plain confirm: another word is asked about again, and lines typed before the question do not answer it", async () => {
  const { screen, answer } = await ask(async (prompts) => {
    const name = await prompts.text({ label: "Name" });
    return [name, await prompts.confirm({ label: "Sure?", initial: true })];
  });
  screen.press("a\r", "y\r");
  await reply(screen, /Sure\? \(Y\/n\)$/, "e");
  await reply(screen, /Type y or n\.\nSure\? \(Y\/n\)$/, "n");
  expect(await answer).toEqual(["a", false]);
});

for (
  const [typed, chosen] of [["2", "Banana"], ["ban", "Banana"], ["apple", "Apple"], ["RED", "Red apple"]] as const
) {
  Deno.test(`plain list: ${typed} selects ${chosen}`, async () => {
    const { screen, answer } = await ask((prompts) => prompts.searchOne({ label: "Fruit", items: FRUIT }));
    await reply(screen, /name:$/, typed);
    expect(await answer).toBe(chosen);
    expect(await shown(screen)).toBe(`\
Fruit:
  1. Apple
  2. Banana
  3. Red apple
  4. Cherry
Number or name: ${typed}
Selected: ${chosen}`);
  });
}

Deno.test("plain list: an answer that is empty, unknown or ambiguous is explained, and the list is asked about again", async () => {
  const { screen, answer } = await ask((prompts) => prompts.selectOne({ label: "Fruit?", items: FRUIT }));
  for (const typed of ["", "5", "an apple", "pple", "?", "4"]) {
    // deno-lint-ignore no-await-in-loop -- one answer at a time
    await reply(screen, /name:$/, typed);
  }
  expect(await answer).toBe("Cherry");
  expect((await shown(screen)).split("\n").slice(5)).toEqual([
    "Number or name:",
    "Type a number or a part of a name.",
    "Number or name: 5",
    'No name contains "5". The numbers are 1 to 4. To list all names, type ?.',
    "Number or name: an apple",
    'No name contains "an apple". The numbers are 1 to 4. To list all names, type ?.',
    "Number or name: pple",
    '2 names contain "pple". Type a number, or more of the name.',
    "  1. Apple",
    "  3. Red apple",
    "Number or name: ?",
    "  1. Apple",
    "  2. Banana",
    "  3. Red apple",
    "  4. Cherry",
    "Number or name: 4",
    "Selected: Cherry",
  ]);
});

Deno.test("plain list: Enter selects the earlier answer", async () => {
  const { screen, answer } = await ask((prompts) =>
    prompts.selectOne({ label: "Fruit", items: FRUIT, initial: "Cherry" })
  );
  await reply(screen, /\nNumber or name \[Enter for 4\]:$/, "");
  expect(await answer).toBe("Cherry");
});

for (
  const [typed, chosen] of [
    ["1, 3-4", ["Apple", "Red apple", "Cherry"]],
    ["cherry,BAN,2", ["Banana", "Cherry"]],
    ["all", ["Apple", "Banana", "Red apple", "Cherry"]],
    ["", []],
  ] as const
) {
  Deno.test(`plain lists: ${JSON.stringify(typed)} selects ${chosen.join(", ") || "nothing"}`, async () => {
    const { screen, answer } = await ask((prompts) => prompts.select({ label: "Fruit", items: FRUIT }));
    await reply(screen, /\nNumbers or names \[.*\s.*; Enter selects\s+none\]:$/, typed);
    expect(await answer).toEqual(chosen);
    await screen.until(new RegExp(`Selected: ${chosen.join(", ") || "none"}$`));
  });
}

for (
  const [typed, problem] of [
    ["1,,2", "The list contains an empty item. Remove the extra comma."],
    ["3-5", '"3-5" is not a range of the numbers from 1 to 4.'],
    ["3-2", '"3-2" is not a range of the numbers from 1 to 4.'],
    ["0", 'No name contains "0". The numbers are 1 to 4. To list all names, type ?.'],
    ["1,pple", '2 names contain "pple". Type a number, or more of the name.\n  1. Apple\n  3. Red apple'],
  ] as const
) {
  Deno.test(`plain lists: ${typed} selects nothing and is explained`, async () => {
    const { screen, answer } = await ask((prompts) => prompts.select({ label: "Fruit", items: FRUIT }));
    await reply(screen, /\]:$/, typed);
    expect(await screen.until(/names:$/)).toContain(`]: ${typed}\n${problem}\nNumbers or names:`);
    await reply(screen, /names:$/, "2");
    expect(await answer).toEqual(["Banana"]);
  });
}

for (const [typed, chosen] of [["", ["Banana", "Cherry"]], ["none", []], ["1", ["Apple"]]] as const) {
  Deno.test(`plain lists: with two items selected, ${JSON.stringify(typed)} selects ${chosen.length}`, async () => {
    const { screen, answer } = await ask((prompts) =>
      prompts.select({ label: "Fruit", items: FRUIT, initial: ["Cherry", "Banana"] })
    );
    expect(await screen.until(/names/)).toContain("  2. Banana (selected)\n");
    await reply(screen, /Enter\s+keeps\s+the\s+selection;\s+none\s+selects\s+none\]:$/, typed);
    expect(await answer).toEqual(chosen);
  });
}

Deno.test("plain lists: if something has to be selected, an empty answer is explained", async () => {
  const { screen, answer } = await ask((prompts) => prompts.select({ label: "Fruit", items: FRUIT, isRequired: true }));
  await reply(screen, /;\s+all\s+selects\s+all\]:$/, "");
  await reply(screen, /\nType at least one number or name, or press Ctrl-C to cancel\.\nNumbers or names:$/, "none");
  await reply(screen, /cancel\.\n.*\nType at least one .*\nNumbers or names:$/s, "2");
  expect(await answer).toEqual(["Banana"]);
});

Deno.test("plain lists: a name with commas can be typed, and a hint follows its name", async () => {
  const items = [{ value: 1, label: "a,b", hint: "VIEWER   2026-01-02  for tests" }, { value: 2, label: "c" }];
  const { screen, answer } = await ask((prompts) => prompts.select({ label: "Keys", items }));
  expect(await screen.until(/\]:$/)).toContain("  1. a,b: VIEWER, 2026-01-02, for tests\n");
  await reply(screen, /\]:$/, "a,b");
  expect(await answer).toEqual([1]);
});

Deno.test("plain lists: only the first 20 items are listed, and ? lists all", async () => {
  const { screen, answer } = await ask((prompts) => prompts.select({ label: "Keys", items: MANY }));
  const first = await screen.until(/\]:$/);
  expect(first).toContain("\n  20. key t\n  and 5 more. To list all of them, type ?.\n");
  await reply(screen, /\]:$/, "?");
  await reply(screen, / 25\. key y\nNumbers or names:$/, "25");
  expect(await answer).toEqual(["key y"]);
});

function askForPermissions(
  options: { readonly roles?: readonly string[]; readonly initial?: readonly ["DOCKER:READ_ANY"] } = {},
): Promise<PlainRun<readonly string[]>> {
  const { roles = [] } = options;
  return ask((prompts) =>
    prompts.permissions({
      label: "Permissions",
      resources: RESOURCES,
      byRoles: new Set(roles.length === 0 ? [] : RESOURCES.map((resource) => `${resource}:READ_ANY` as const)),
      anyIncludesOwn: true,
      ...options,
      roles,
    })
  );
}

Deno.test("plain permissions: pairs and wildcards are typed, and errors are explained", async () => {
  const { screen, answer } = await askForPermissions({ roles: ["VIEWER"] });
  await reply(screen, /\]:$/, "DOCKR:READ_ANY");
  await reply(screen, /Permissions:$/, "vms:*, DOCKER:read_any");
  const permissions = await answer;
  expect(permissions[0]).toBe("DOCKER:READ_ANY");
  expect(permissions).toHaveLength(9);
  expect(await shown(screen)).toBe(`\
The role grants *:READ_ANY.
Permissions [RESOURCE:ACTION pairs separated by commas, for example
DOCKER:READ_ANY,VMS:*; ? lists the resources and actions; Enter for none]: DOCKR
:READ_ANY
"DOCKR" in "DOCKR:READ_ANY" is not a resource. Did you mean DOCKER? To list the
resources, type ?.
Permissions: vms:*, DOCKER:read_any`);
});

Deno.test("plain permissions: ? lists the resources and the actions", async () => {
  const { screen, answer } = await askForPermissions();
  await reply(screen, /\]:$/, "?");
  const text = await screen.until(/\]: \?[^]*Permissions:$/);
  expect(text).toContain("Resources:\n  ACTIVATION_CODE, API_KEY,");
  expect(text).toContain("Actions:\n  CREATE_ANY, CREATE_OWN,");
  await reply(screen, /./, "*:*");
  expect(await answer).toHaveLength(29 * 8);
});

Deno.test("plain permissions: a key without a role needs at least one permission", async () => {
  const { screen, answer } = await askForPermissions();
  await reply(screen, /\]:$/, "");
  await screen.until(/at least one permission: the key has no role\.\nPermissions:$/);
  await reply(screen, /./, "ME:READ_OWN");
  expect(await answer).toEqual(["ME:READ_OWN"]);
});

for (const [typed, expected] of [["", ["DOCKER:READ_ANY"]], ["none", []], ["ME:READ_OWN", ["ME:READ_OWN"]]] as const) {
  Deno.test(`plain permissions: with an earlier answer, ${JSON.stringify(typed)} answers ${expected.length} permissions`, async () => {
    const { screen, answer } = await askForPermissions({ roles: ["GUEST"], initial: ["DOCKER:READ_ANY"] });
    await reply(screen, /Enter\s+keeps\s+DOCKER:READ_ANY;\s+none\s+removes\s+them\]:$/, typed);
    expect(await answer).toEqual(expected);
  });
}

const KINDS: readonly (readonly [string, (prompts: Prompts, canGoBack: true) => Promise<unknown>])[] = [
  ["text", (prompts, canGoBack) => prompts.text({ label: "Name", canGoBack })],
  ["secret", (prompts, canGoBack) => prompts.secret({ label: "Key", canGoBack })],
  ["confirm", (prompts, canGoBack) => prompts.confirm({ label: "Sure?", initial: true, canGoBack })],
  ["searchOne", (prompts, canGoBack) => prompts.searchOne({ label: "Fruit", items: FRUIT, canGoBack })],
  ["select", (prompts, canGoBack) => prompts.select({ label: "Fruit", items: FRUIT, canGoBack })],
  ["permissions", (prompts, canGoBack) =>
    prompts.permissions({
      label: "Permissions",
      resources: RESOURCES,
      roles: [],
      byRoles: undefined,
      anyIncludesOwn: true,
      canGoBack,
    })],
];

for (const [kind, show] of KINDS) {
  Deno.test(`plain ${kind}: < goes back`, async () => {
    const { screen, answer } = await ask((prompts) => show(prompts, true));
    await reply(screen, /< goes\s+back\]:?$/, "<");
    await expect(answer).rejects.toBeInstanceOf(GoBack);
    expect(screen.isRestored).toBe(true);
  });

  for (
    const [interruption, interrupt] of [
      ["SIGINT", ({ host }) => host.handlers.get("SIGINT")?.()],
      ["the end of the input", ({ screen }) => void screen.input.end()],
    ] satisfies readonly (readonly [string, (run: PlainRun<unknown>) => void])[]
  ) {
    Deno.test(`plain ${kind}: ${interruption} cancels the prompt with INTERRUPTED and ends its line`, async () => {
      const run = await ask((prompts) => show(prompts, true));
      await run.screen.until(/\]:? ?$/);
      interrupt(run);
      await expect(run.answer).rejects.toMatchObject({ code: "INTERRUPTED" });
      expect(run.screen.raw).toMatch(/\n$/);
      expect(run.screen.isRestored).toBe(true);
      expect([...run.host.handlers]).toEqual([]);
    });
  }

  Deno.test(`plain ${kind}: writes no escape sequence`, async () => {
    const { screen, answer } = await ask((prompts) => show(prompts, true));
    await screen.until(/\]:? ?$/);
    screen.input.end();
    await expect(answer).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(screen.raw).not.toContain("\x1b");
  });
}

for (const [name, key] of [["Ctrl-C", KEYS.ctrlC], ["Ctrl-D", KEYS.ctrlD]] as const) {
  Deno.test(`plain secret: ${name} cancels the prompt, because the terminal does not handle it while it hides the input`, async () => {
    const { screen, answer } = await ask((prompts) => prompts.secret({ label: "Key" }));
    await screen.until(/Key/);
    screen.press("abc", key);
    await expect(answer).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(screen.isRestored).toBe(true);
  });
}

Deno.test("a plain prompt after a signal, or after the end of the input, fails with INTERRUPTED", async () => {
  const signalled = await openPrompts(new TerminalHost([], { env: { TERM: "dumb" } }), AbortSignal.abort());
  await expect(signalled.text({ label: "Name" })).rejects.toMatchObject({ code: "INTERRUPTED" });
  const { screen, answer } = await ask(async (
    prompts,
  ) => [await prompts.text({ label: "A" }), await prompts.text({ label: "B" })]);
  screen.input.end("a\r");
  await expect(answer).rejects.toMatchObject({ code: "INTERRUPTED" });
});

Deno.test("plain prompts: an answer in several pieces, and answers typed in advance, are read line by line", async () => {
  const { screen, answer } = await ask(async (prompts) => [
    await prompts.text({ label: "A" }),
    await prompts.text({ label: "B" }),
    await prompts.text({ label: "C" }),
  ]);
  const bytes = new TextEncoder().encode("schlüssel\rb\rc\r");
  screen.input.write(bytes.slice(0, 5));
  screen.input.write(bytes.slice(5));
  expect(await answer).toEqual(["schlüssel", "b", "c"]);
});

Deno.test("plain prompts: questions and errors are wrapped at the width of the terminal", async () => {
  const { screen, answer } = await ask(
    (prompts) => prompts.text({ label: "Name", hint: "letters, digits and spaces in any order", check: checkName }),
    30,
  );
  await reply(screen, /\]:$/, "a-b");
  await reply(screen, /Name:$/, "a");
  await answer;
  expect(await shown(screen)).toBe(`\
Name [letters, digits and
spaces in any order]: a-b
The name "a-b" contains "-".
A name may contain only
letters, digits and spaces.
Did you mean "a b"?
Name: a`);
});

for (const command of ["apikey list", "apikey ensure", "audit", "config", "serve"]) {
  Deno.test(`${command} never prompts, so it rejects --plain`, async () => {
    const { code, stderr } = await inProcess([...command.split(" "), "--plain"]);
    expect(code).toBe(2);
    expect(stderr).toContain('Unknown option "--plain".');
  });
}
