/** The grid in which the user selects permissions. */
import { expect } from "expect";
import { type Permission, RESOURCES } from "../../../src/apikey/permission.ts";
import { rightsOf } from "../../../src/apikey/rights.ts";
import type { Role } from "../../../src/apikey/role.ts";
import type { PermissionsOptions } from "../../../src/cli/prompts/options.ts";
import { widthOf } from "../../../src/cli/terminal/text_width.ts";
import { KEYS } from "../../program/screen.ts";
import { type AtTerminal, promptAtTerminal, type PromptRun } from "../../program/terminal_host.ts";

/** Shows the grid, by default with the rules of the embedded server. */
function showGrid(
  roles: readonly Role[] = [],
  at: AtTerminal = {},
  rules: Partial<PermissionsOptions> = {},
): Promise<PromptRun<readonly Permission[]>> {
  const options = {
    label: "Permissions",
    resources: RESOURCES,
    roles,
    byRoles: rightsOf(roles, []),
    anyIncludesOwn: true,
    ...rules,
  };
  return promptAtTerminal((prompts) => prompts.permissions(options), at);
}

Deno.test("the grid shows the rights of the roles, as many resources as fit, and a legend", async () => {
  const { screen } = await showGrid(["VIEWER"], { rows: 12 });
  expect(await screen.text()).toBe(`\
? Permissions: █ (optional, 0 of 232 selected)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ◆   ◆    ·   ·    ·   ·
❯ ACTIVATION_CODE         [·]  ·    ◆   ◆    ·   ·    ·   ·                   ┃
  API_KEY                  ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  ARRAY                    ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  26 below

  ◆ by role  ● selected  ◈ both  ○ included in ANY  ◐ some
  space to select · enter to confirm · type to filter · arrows to move · ? help`);
});

Deno.test("Space and Tab select a permission, an _ANY permission includes the _OWN permission, and the selected permissions are listed", async () => {
  const { screen, answer } = await showGrid(["GUEST"]);
  screen.press(..."docker", KEYS.tab, KEYS.ctrlU, ..."me", KEYS.right, KEYS.right, KEYS.tab);
  expect(await screen.until(/2 of 232 selected/)).toBe(`\
? Permissions: me█ (2 of 232 selected)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  all 2 shown              ·   ·    ◐   ◐    ·   ·    ·   ·
❯ ME                       ·   ·   [●]  ◈    ·   ·    ·   ·
  WELCOME                  ·   ·    ·   ·    ·   ·    ·   ·
  Also selected: DOCKER:CREATE_ANY
  ◆ by role  ● selected  ◈ both  ○ included in ANY  ◐ some
  space to select · enter to confirm · esc to clear · arrows to move · ? help`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["DOCKER:CREATE_ANY", "ME:READ_ANY"]);
  expect(await screen.text()).toBe("✔ Permissions: DOCKER:CREATE_ANY, ME:READ_ANY");
});

Deno.test("without a UTF-8 locale the grid uses ASCII", async () => {
  const { screen } = await showGrid(["GUEST"], { env: { LANG: "C" } });
  screen.press(..."docker", KEYS.tab);
  expect(await screen.until(/1 of 232 selected/)).toBe(`\
? Permissions: docker_ (1 of 232 selected)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  the one shown            P   p    .   .    .   .    .   .
> DOCKER                  [P]  p    .   .    .   .    .   .
  DOCKER:CREATE_ANY
  R by role  P selected  B both  p included in ANY  ~ some
  space to select, enter to confirm, esc to clear, arrows to move, ? help`);
});

Deno.test("Tab on the name of a resource selects or unselects all its actions", async () => {
  const { screen, answer } = await showGrid();
  screen.press(..."logs", KEYS.left, KEYS.tab);
  expect(await screen.until(/8 of 232 selected/)).toMatch(/^❯\[LOGS\]( +●){8}$/m);
  screen.press(KEYS.tab);
  await screen.until(/0 of 232 selected/);
  screen.press(KEYS.right, KEYS.tab, KEYS.left, KEYS.tab, KEYS.enter);
  expect(await answer).toHaveLength(8);
  expect(await screen.text()).toBe("✔ Permissions: 8");
});

Deno.test("Space in the row 'every resource' selects an action on every resource", async () => {
  const { screen, answer } = await showGrid();
  screen.press(KEYS.up, KEYS.right, KEYS.right, KEYS.space, KEYS.enter);
  const pairs = await answer;
  expect(pairs).toHaveLength(29);
  expect(pairs.every((pair) => pair.endsWith(":READ_ANY"))).toBe(true);
});

Deno.test("with a filter, Tab in the row 'every resource' selects an action only on the resources that match", async () => {
  const { screen, answer } = await showGrid();
  screen.press(..."connect", KEYS.home, KEYS.tab, KEYS.enter);
  expect(await answer).toEqual(["CONNECT:CREATE_ANY", "CONNECT__REMOTE_ACCESS:CREATE_ANY"]);
});

Deno.test("Space on the name 'every resource' selects every permission", async () => {
  const { screen, answer } = await showGrid();
  screen.press(KEYS.home, KEYS.left, KEYS.space, KEYS.enter);
  expect(await answer).toHaveLength(232);
});

for (
  const [typed, position, focused] of [
    ["me", "ME:CREATE_ANY", /^❯ ME +\[·\]/m],
    ["docker:delete_o", "DOCKER:DELETE_OWN", /^❯ DOCKER .*\[·\]$/m],
    ["docker delete_o", "DOCKER:DELETE_OWN", /^❯ DOCKER .*\[·\]$/m],
    ["api key", "API_KEY:CREATE_ANY", /^❯ API_KEY +\[·\]/m],
    ["update_o", "UPDATE_OWN on every resource", /^❯ all 29 shown .*\[·\] {3}· {3}·$/m],
    ["remote", "CONNECT__REMOTE_ACCESS:CREATE_ANY", /^❯ CONNECT__REMOTE_ACCESS +\[·\]/m],
  ] as const
) {
  Deno.test(`the filter ${typed} moves the focus to ${position}`, async () => {
    const { screen } = await showGrid();
    screen.press(typed);
    expect(await screen.until(new RegExp(`${typed}█`))).toMatch(focused);
  });
}

Deno.test("Space selects also while a filter is set", async () => {
  const { screen, answer } = await showGrid();
  screen.press(..."docker");
  await screen.until(/docker█/);
  screen.press(KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["DOCKER:CREATE_ANY"]);
});

Deno.test("the row 'every resource' shows what roles grant on all resources, and what only some of them have", async () => {
  const byRoles = new Set(["A:READ_ANY", "B:READ_ANY", "A:UPDATE_ANY"]);
  const { screen } = await showGrid(["VIEWER"], {}, { resources: ["A", "B"], byRoles });
  expect(await screen.text()).toMatch(/every resource +· {3}· {4}◆ {3}· {4}◐ {3}· {4}· {3}·\n/);
  screen.press(KEYS.home, KEYS.right, KEYS.right, KEYS.space);
  expect(await screen.until(/2 of 16 selected/)).toMatch(/every resource +· {3}· {3}\[◈\] {2}○ {4}◐ {3}· {4}· {3}·\n/);
});

for (const [columns, count] of [[80, "(optional, 0 of 232 selected)"], [40, "(optional)"]] as const) {
  Deno.test(`if the key has a role, the grid says in ${columns} columns that permissions are optional, until one is selected`, async () => {
    const { screen } = await showGrid(["GUEST"], { columns });
    expect((await screen.text()).split("\n")[0]).toBe(`? Permissions: █ ${count}`);
    screen.press(KEYS.space);
    await screen.until(/^\? Permissions: █ \(1 of 232 selected\)\n/);
  });
}

Deno.test("typing only an action moves the focus to the row 'every resource', where Tab selects the action on every resource", async () => {
  const { screen, answer } = await showGrid();
  screen.press(..."update_own", KEYS.tab, KEYS.ctrlU, ..."api", KEYS.enter);
  const pairs = await answer;
  expect(pairs).toHaveLength(29);
  expect(pairs.every((pair) => pair.endsWith(":UPDATE_OWN"))).toBe(true);
});

Deno.test("a filter without matches shows a message, Tab selects nothing, and the filter can be edited", async () => {
  const { screen, answer } = await showGrid();
  screen.press(..."xyz", KEYS.down, KEYS.tab);
  expect(await screen.until(/xyz█/)).toMatch(/\(0 of 232 selected\)\n.*\n.*\n {2}✖ No matches\.\n/);
  screen.press(KEYS.backspace, KEYS.backspace, KEYS.backspace, ..."vms", KEYS.tab, KEYS.enter);
  expect(await answer).toEqual(["VMS:CREATE_ANY"]);
});

Deno.test("arrow keys wrap around at the edges of the grid", async () => {
  const { screen, answer } = await showGrid();
  screen.press(KEYS.left, KEYS.left, KEYS.space);
  await screen.until(/ACTIVATION_CODE:DELETE_OWN/);
  screen.press(KEYS.right, KEYS.right, KEYS.up, KEYS.up, KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["ACTIVATION_CODE:DELETE_OWN", "WELCOME:CREATE_ANY"]);
});

Deno.test("on a server where _ANY does not include _OWN, only the selected permission is marked", async () => {
  const { screen } = await showGrid(["GUEST"], {}, { byRoles: new Set(["ME:READ_ANY"]), anyIncludesOwn: false });
  screen.press(..."me:update", KEYS.tab);
  expect(await screen.until(/1 of 232 selected/)).toContain(`
❯ ME                       ·   ·    ◆   ·   [●]  ·    ·   ·
`);
  expect(await screen.text()).toContain("\n  ◆ by role  ● selected  ◈ both  ◐ some\n");
});

Deno.test("if the server does not report the rights of the roles, the grid marks none and says so", async () => {
  const { screen } = await showGrid(["ADMIN"], {}, { byRoles: undefined, anyIncludesOwn: false });
  const text = await screen.text();
  expect(text).not.toMatch(/[◆◈○]/);
  expect(text).toContain("\n  ● selected  ◐ some  rights by role not reported\n");
});

Deno.test("if the key has no role, Enter rejects an empty selection", async () => {
  const { screen, answer } = await showGrid();
  screen.press(KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(
    /✖ The key has no role, so it needs a permission\. Press Space to select\n {4}ACTIVATION_CODE:CREATE_ANY\.$/,
  );
  screen.press(KEYS.space);
  expect(await screen.until(/1 of 232 selected/)).not.toContain("✖");
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["ACTIVATION_CODE:CREATE_ANY"]);
});

Deno.test("if a filter is set and nothing is selected, Enter is rejected and the message names what Tab selects", async () => {
  const { screen, answer } = await showGrid(["GUEST"]);
  screen.press(..."docker", KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(
    /✖ Nothing is selected\. Press Tab to select DOCKER:CREATE_ANY, or Esc to clear\n {4}the filter\.$/,
  );
  screen.press(KEYS.home, KEYS.left, KEYS.enter);
  await screen.until(/Press Tab to select 8 permissions, or/);
  screen.press(..."xyz", KEYS.enter);
  await screen.until(/Nothing is selected\. Press Esc to clear the filter\.$/);
  screen.press(KEYS.ctrlU, KEYS.enter);
  expect(await answer).toEqual([]);
});

Deno.test("many permissions that the filter hides are named in one line that fits the window", async () => {
  const { screen } = await showGrid([], { columns: 60 });
  screen.press(KEYS.home, KEYS.space, ..."docker");
  const lines = (await screen.until(/docker█/)).split("\n");
  expect(lines).toContain("  Also selected: ACTIVATION_CODE:CREATE_ANY, API_KEY:CREAT…");
  expect(lines).toHaveLength(8);
});

Deno.test("if the key has a role, Enter accepts an empty selection", async () => {
  const { screen, answer } = await showGrid(["GUEST"]);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
  expect(await screen.text()).toBe("✔ Permissions: none");
});

Deno.test("if the key has a role, the first Enter after an arrow key rejects an empty selection", async () => {
  const { screen, answer } = await showGrid(["GUEST"]);
  screen.press(KEYS.right, KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(
    /✖ Nothing is selected\. Press Space to select ACTIVATION_CODE:CREATE_OWN, or\n {4}Enter again for none\.$/,
  );
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
});

for (const [columns, rows] of [[80, 24], [30, 11]] as const) {
  Deno.test(`the grid fits a window of ${columns} columns and ${rows} rows, and no line wraps`, async () => {
    const { screen } = await showGrid(["VIEWER"], { columns, rows });
    screen.press(KEYS.up, KEYS.left, KEYS.space, KEYS.end);
    const lines = (await screen.until(/❯\[?WEL/)).split("\n");
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
    expect(lines.filter((line) => /^[? ❯] ?\S/.test(line) || /^ {2}/.test(line))).toEqual(lines);
  });
}
