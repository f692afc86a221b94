/** `apikey --delete` at a terminal: the list of keys, the confirmation and the result. */
import { expect } from "expect";
import { widthOf } from "../../../../src/cli/terminal/text_width.ts";
import { startServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import {
  type AtTerminal,
  belowTarget,
  runAtTerminal,
  type Running,
  stabilize,
} from "../../../program/terminal_host.ts";
import { type KeyServer, listedKeys, startKeyServer } from "./key_server.ts";

function deleteAtTerminal(
  { url }: Pick<KeyServer, "url">,
  flags: readonly string[] = [],
  at: AtTerminal = {},
): Running {
  return runAtTerminal(["apikey", "--delete", ...flags], { ...at, env: { SERVICE_API_URL: url, ...at.env } });
}

Deno.test("apikey alone prompts for the mode, and deletion lists the keys, asks for confirmation and prints the result", async () => {
  await using installation = await embedded(inProcess);
  const create = ["apikey", "--create", "--name"];
  await installation.program([...create, "ci deploy", "--roles", "VIEWER", "--description", "for the pipeline"]);
  await installation.program([...create, "部署密钥", "--roles", "VIEWER,GUEST"]);
  await installation.program([...create, "مفتاح", "--permissions", "DOCKER:READ_ANY", "--description", "two\nlines"]);
  const { host, screen, code } = runAtTerminal(["apikey"], { env: installation.env });
  const shown = await screen.until(/\? What/);
  expect(shown.replaceAll("\n", "")).toMatch(/^Using the store in .*\(SERVICE_API_DATA_DIR\)\? What/);
  expect(belowTarget(shown)).toBe(`\
? What do you want to do?
❯ Create a key  prints its secret once
  List keys     rights and last use
  Show a key    all but its secret
  Update a key  name, rights or state
  Rotate a key  issues a new secret
  Delete keys   selected from a list
  enter to select · arrows to move · ? help`);
  screen.press(KEYS.up, KEYS.enter);
  expect(belowTarget(stabilize(await screen.until(/Keys to delete/)))).toBe(`\
✔ What do you want to do? Delete keys
? Keys to delete: █ (0 of 3 selected)
❯ ◯ ci deploy  VIEWER         never used  created 2026-01-02  for the pipeline
  ◯ 部署密钥   VIEWER, GUEST  never used  created 2026-01-02
  ◯ مفتاح      1 permission   never used  created 2026-01-02  two\\u{a}lines
  space to select · enter to confirm · type to filter · esc to go back · ? help`);
  screen.press(KEYS.space, KEYS.down, KEYS.space, KEYS.enter);
  expect(
    stabilize(await screen.until(/Delete 2/)).replace(/^.*? {2}Keys/s, "  Keys").replace(
      / {2}Using .*?\n\n/s,
      "  Using …\n\n",
    ),
  ).toBe(`\
  Keys         ci deploy  VIEWER         never used  created 2026-01-02  for t…
               部署密钥   VIEWER, GUEST  never used  created 2026-01-02
  Using …

? Delete 2 keys? Their secrets stop working immediately. (y/N/e)
  e to change an answer · y for yes · n for no · esc to go back · ? help`);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Successfully deleted 2 API keys\n");
  expect(screen.isRestored).toBe(true);
  const { stdout } = await installation.program(["request", "--query", "{ apiKeys { name } }"]);
  expect(JSON.parse(stdout).data.apiKeys).toEqual([{ name: "مفتاح" }]);
});

Deno.test("a name with a space can be typed, and Enter selects no key before Tab does", async () => {
  await using server = startKeyServer(listedKeys(["ci build", "ci deploy"]));
  const { screen, code } = deleteAtTerminal(server);
  await screen.until(/Keys to delete/);
  screen.press(..."ci deploy", KEYS.enter);
  expect(belowTarget(await screen.until(/✖/))).toBe(`\
? Keys to delete: ci deploy█ (0 of 2 selected, 1 shown)
❯ ◯ ci deploy  GUEST  created 2026-01-02
  ✖ Nothing is selected. Press Tab to select "ci deploy", or Esc to clear the
    filter.`);
  screen.press(KEYS.tab, KEYS.enter);
  expect(await screen.until(/Delete/)).toContain('? Delete the key "ci deploy"?');
  screen.press("y");
  expect(await code).toBe(0);
  expect(server.keys.map(({ name }) => name)).toEqual(["ci build"]);
});

Deno.test("the filter matches name, description, role and day of creation", async () => {
  await using server = startKeyServer([
    ...listedKeys(["one"], { description: "for backups" }),
    ...listedKeys(["two"], { id: "2", roles: ["ADMIN"] }),
    ...listedKeys(["three"], { id: "3", createdAt: "2024-05-06T00:00:00Z" }),
  ]);
  const { screen, code } = deleteAtTerminal(server);
  await screen.until(/Keys to delete/);
  for (const [typed, name] of [["two", "two"], ["backup", "one"], ["admin", "two"], ["2024-05", "three"]]) {
    screen.press(KEYS.ctrlU, ...String(typed));
    // deno-lint-ignore no-await-in-loop -- one filter at a time
    expect(await screen.until(new RegExp(`${typed}█ \\(0 of 3 selected, 1 shown\\)`))).toContain(`❯ ◯ ${name} `);
  }
  screen.press(KEYS.tab, KEYS.enter);
  expect((await screen.until(/\? Delete/)).replace(/^.*? {2}Key /s, "  Key ")).toBe(`\
  Key          three
  Roles        GUEST
  Using        ${server.url} (SERVICE_API_URL)

? Delete the key "three"? Its secret stops working immediately. (y/N/e)
  e to change an answer · y for yes · n for no · esc to go back · ? help`);
  screen.press("y");
  expect(await code).toBe(0);
  expect(server.keys.map(({ name }) => name)).toEqual(["one", "two"]);
});

for (const [columns, LANG] of [[80, "C.UTF-8"], [30, "C"]] as const) {
  Deno.test(`in ${columns} columns each key takes one line, and control characters from a server are escaped`, async () => {
    const description = "\x1b[2J\r\nsecond line \u202e reversed ".repeat(9);
    await using server = startKeyServer(
      listedKeys(["\x1b[31mred", "两".repeat(120), "مفتاح ".repeat(40), "n".repeat(255)], { description }),
    );
    const { screen, code } = deleteAtTerminal(server, [], { columns, env: { LANG } });
    const lines = belowTarget(await screen.until(/Keys to delete/)).split("\n");
    expect(lines).toHaveLength(6);
    expect(lines[1]).toContain("\\u{1b}[31mred");
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
    for (const sequence of ["\x1b[31m", "\x1b[2J", "\u202e"]) expect(screen.raw).not.toContain(sequence);
    screen.press(KEYS.ctrlA, KEYS.enter);
    await screen.until(/Delete 4/);
    screen.press("n");
    await screen.until(/What do/);
    screen.press(KEYS.enter);
    await code;
  });
}

Deno.test("the list works with a server that reports only ids and names", async () => {
  const data = { apiKeys: [{ id: "1", name: "one" }, { id: "2", name: "two" }] };
  await using server = startServer(({ body }) =>
    Response.json(body.includes("createdAt") ? { errors: [{ message: "Cannot query field" }] } : { data })
  );
  const { screen, code } = deleteAtTerminal(server);
  expect(await screen.until(/Keys to delete/)).toContain("\n❯ ◯ one\n  ◯ two\n");
  screen.press(KEYS.ctrlC);
  expect(await code).toBe(130);
});

Deno.test("if the user selects no key, Enter says how to select one or to cancel", async () => {
  await using server = startKeyServer(listedKeys(["one"]));
  const { host, screen, code } = deleteAtTerminal(server);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.enter);
  await screen.until(/✖ Nothing is selected\. Press Space to select "one", or Ctrl-C to cancel\.$/);
  screen.press(KEYS.ctrlC);
  expect(await code).toBe(130);
  expect(host.stdout.text).toBe("");
  expect(server.keys).toHaveLength(1);
});

Deno.test("if there are no keys, the command does not prompt and exits with 0", async () => {
  await using server = startKeyServer([]);
  const { host, screen, code } = deleteAtTerminal(server);
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("No API keys found to delete\n");
  expect(screen.raw).not.toContain("?");
});

Deno.test("on Enter at the confirmation, the command deletes nothing and exits with 130", async () => {
  await using server = startKeyServer(listedKeys(["one"]));
  const { host, screen, code } = deleteAtTerminal(server);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.space, KEYS.enter);
  await screen.until(/Delete/);
  screen.press(KEYS.enter);
  await screen.until(/\? Nothing was deleted\. What do you want to do\?\n {2}Change the selection\n❯ Quit/);
  screen.press(KEYS.enter);
  expect(await code).toBe(130);
  expect(await screen.text()).toMatch(/ Quit\nservice-api: Nothing was deleted\.$/);
  expect(host.stdout.text).toBe("");
  expect(server.keys).toHaveLength(1);
});

Deno.test("--yes skips the confirmation", async () => {
  await using server = startKeyServer(listedKeys(["one", "two"]));
  const { screen, code } = deleteAtTerminal(server, ["--yes"]);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.space, KEYS.enter);
  expect(await code).toBe(0);
  expect(belowTarget(await screen.text())).toBe("✔ Keys to delete: one");
  expect(server.keys.map(({ name }) => name)).toEqual(["two"]);
});

for (
  const [how, keys] of [
    ["with e at the confirmation", ["e"]],
    ["with Shift-Tab at the confirmation", [KEYS.shiftTab]],
    ["after no", ["n", KEYS.down, KEYS.enter]],
  ] as const
) {
  Deno.test(`the user goes back to the list of keys ${how}, and the keys are still selected`, async () => {
    await using server = startKeyServer(listedKeys(["one", "two", "three"]));
    const { screen, code } = deleteAtTerminal(server);
    await screen.until(/Keys to delete/);
    screen.press(KEYS.space, KEYS.down, KEYS.space, KEYS.enter);
    await screen.until(/Delete 2/);
    for (const key of keys) {
      screen.press(key);
      // deno-lint-ignore no-await-in-loop -- one key at a time
      if (key === "n") await screen.until(/What do you want/);
    }
    await screen.until(/\? Keys to delete: █ \(2 of 3[^]*◉ one[^]*◉ two[^]*◯ three/);
    screen.press(KEYS.space, KEYS.enter);
    await screen.until(/Delete the key "two"\?/);
    screen.press("y");
    expect(await code).toBe(0);
    expect(server.keys.map(({ name }) => name)).toEqual(["one", "three"]);
  });
}

for (const prompt of ["the list", "the confirmation"] as const) {
  Deno.test(`on Ctrl-C at ${prompt}, the command deletes nothing and exits with 130`, async () => {
    await using server = startKeyServer(listedKeys(["one", "two"]));
    const { host, screen, code } = deleteAtTerminal(server, ["--json"]);
    await screen.until(/Keys to delete/);
    if (prompt === "the confirmation") {
      screen.press(KEYS.ctrlA, KEYS.enter);
      await screen.until(/Delete 2/);
    }
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
    expect(JSON.parse(host.stdout.text)).toEqual({
      deleted: 0,
      error: "Interrupted. Nothing was changed.",
      code: "INTERRUPTED",
    });
    expect(screen.isRestored).toBe(true);
    expect(server.keys).toHaveLength(2);
  });
}

Deno.test("10,000 keys can be listed, filtered and deleted", async () => {
  await using server = startKeyServer(listedKeys(Array.from({ length: 10_000 }, (_, index) => `key ${index}`)));
  const { host, screen, code } = deleteAtTerminal(server);
  await screen.until(/\(0 of 10000 selected\)/);
  screen.press(..."key 999", KEYS.ctrlA, KEYS.ctrlU);
  await screen.until(/\(11 of 10000 selected\)/);
  screen.press(KEYS.ctrlA, KEYS.enter);
  await screen.until(/Delete 10000 keys\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Successfully deleted 10000 API keys\n");
  expect(server.keys).toEqual([]);
});
