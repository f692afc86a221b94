/** The grid in which permissions are ticked. */
import { expect } from "expect";
import type { Permission } from "../../../src/apikey/permission.ts";
import type { Role } from "../../../src/apikey/role.ts";
import { widthOf } from "../../../src/cli/terminal/text_width.ts";
import { KEYS } from "../../program/screen.ts";
import { askAtTerminal, type Asking, type AtTerminal } from "../../program/terminal_host.ts";

function askGrid(roles: readonly Role[] = [], at: AtTerminal = {}): Promise<Asking<readonly Permission[]>> {
  return askAtTerminal((questions) => questions.permissions({ label: "Permissions", roles }), at);
}

Deno.test("the grid shows what roles give already, as many resources as fit, and what the marks mean", async () => {
  const { screen } = await askGrid(["VIEWER"], { rows: 12 });
  expect(await screen.text()).toBe(`\
? Permissions: █ (0 ticked, 29)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ·   ·    ·   ·    ·   ·
❯ ACTIVATION_CODE         [·]  ·    ◆   ◆    ·   ·    ·   ·
  API_KEY                  ·   ·    ◆   ◆    ·   ·    ·   ·
  ARRAY                    ·   ·    ◆   ◆    ·   ·    ·   ·
  CLOUD                    ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● ticked  ◈ both  ○ in ANY
  space ticks · enter ends · arrows move · letters filter`);
});

Deno.test("space ticks a pair, an _ANY shows the _OWN in it, and ticked pairs are listed", async () => {
  const { screen, answer } = await askGrid(["GUEST"]);
  screen.press(..."docker", KEYS.space, KEYS.ctrlU, ..."me", KEYS.right, KEYS.right, KEYS.space);
  expect(await screen.until(/2 ticked/)).toBe(`\
? Permissions: me█ (2 ticked, 2 of 29)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ◐   ·    ·   ·    ·   ·
❯ ME                       ·   ·   [●]  ◈    ·   ·    ·   ·
  WELCOME                  ·   ·    ·   ·    ·   ·    ·   ·
  DOCKER:CREATE_ANY · ME:READ_ANY
  ◆ by role  ● ticked  ◈ both  ○ in ANY
  space ticks · enter ends · arrows move · letters filter`);
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["DOCKER:CREATE_ANY", "ME:READ_ANY"]);
  expect(await screen.text()).toBe("✔ Permissions: DOCKER:CREATE_ANY, ME:READ_ANY");
});

Deno.test("in ASCII the grid reads the same", async () => {
  const { screen } = await askGrid(["GUEST"], { env: { LANG: "C" } });
  screen.press(..."docker", KEYS.space);
  expect(await screen.until(/1 ticked/)).toBe(`\
? Permissions: docker_ (1 ticked, 1 of 29)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           P   .    .   .    .   .    .   .
> DOCKER                  [P]  p    .   .    .   .    .   .
  DOCKER:CREATE_ANY
  R by role  P ticked  B both  p in ANY
  space ticks, enter ends, arrows move, letters filter`);
});

Deno.test("the column before CREATE is a whole resource, to be ticked and unticked at once", async () => {
  const { screen, answer } = await askGrid();
  screen.press(..."logs", KEYS.left, KEYS.space);
  expect(await screen.until(/8 ticked/)).toMatch(/^❯\[LOGS\]( +●){8}$/m);
  screen.press(KEYS.space);
  await screen.until(/0 ticked/);
  screen.press(KEYS.right, KEYS.space, KEYS.left, KEYS.space, KEYS.enter);
  expect(await answer).toHaveLength(8);
  expect(await screen.text()).toBe("✔ Permissions: 8");
});

Deno.test("the first row is an action on every resource", async () => {
  const { screen, answer } = await askGrid();
  screen.press(KEYS.up, KEYS.right, KEYS.right, KEYS.space);
  await screen.until(/29 ticked, 29/);
  screen.press(KEYS.enter);
  const pairs = await answer;
  expect(pairs).toHaveLength(29);
  expect(pairs.every((pair) => pair.endsWith(":READ_ANY"))).toBe(true);
});

Deno.test("the first row is for the resources that the filter shows, and no others", async () => {
  const { screen, answer } = await askGrid();
  screen.press(..."connect", KEYS.home, KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["CONNECT:CREATE_ANY", "CONNECT__REMOTE_ACCESS:CREATE_ANY"]);
});

Deno.test("the corner of the first row and the first column is everything", async () => {
  const { screen, answer } = await askGrid();
  screen.press(KEYS.home, KEYS.left, KEYS.space);
  await screen.until(/232 ticked/);
  screen.press(KEYS.enter);
  expect(await answer).toHaveLength(232);
});

for (
  const [typed, focused] of [
    ["docker", /^❯ DOCKER +\[·\]/m],
    ["me", /^❯ ME +\[·\]/m],
    ["docker:delete_any", /^❯ DOCKER .*\[·\] {2}·$/m],
    ["docker:delete_o", /^❯ DOCKER .*\[·\]$/m],
    ["update_o", /^❯ every resource .*\[·\] {3}· {3}·$/m],
    ["remote", /^❯ CONNECT__REMOTE_ACCESS +\[·\]/m],
  ] as const
) {
  Deno.test(`typing ${typed} leads to ${focused}`, async () => {
    const { screen } = await askGrid();
    screen.press(...typed);
    expect(await screen.until(new RegExp(`${typed}█`))).toMatch(focused);
  });
}

Deno.test("an action alone leads to every resource, where space ticks it for all of them", async () => {
  const { screen, answer } = await askGrid();
  screen.press(..."update_own", KEYS.space);
  await screen.until(/29 ticked/);
  screen.press(KEYS.ctrlU, ..."api", KEYS.enter);
  expect((await answer).every((pair) => pair.endsWith(":UPDATE_OWN"))).toBe(true);
});

Deno.test("a filter that no resource has says so, ticks nothing, and can be mended", async () => {
  const { screen, answer } = await askGrid();
  screen.press(..."xyz", KEYS.down, KEYS.space);
  expect(await screen.until(/xyz█/)).toMatch(/\(0 ticked, 0 of 29\)[^]*\n {2}✖ No resource has that in its name\.\n/);
  screen.press(KEYS.backspace, KEYS.backspace, KEYS.backspace, ..."vms", KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["VMS:CREATE_ANY"]);
});

Deno.test("arrow keys go round, left and right through nine columns", async () => {
  const { screen, answer } = await askGrid();
  screen.press(KEYS.left, KEYS.left, KEYS.space);
  await screen.until(/ACTIVATION_CODE:DELETE_OWN/);
  screen.press(KEYS.right, KEYS.right, KEYS.up, KEYS.up, KEYS.space, KEYS.enter);
  expect(await answer).toEqual(["ACTIVATION_CODE:DELETE_OWN", "WELCOME:CREATE_ANY"]);
});

Deno.test("without a role Enter needs a permission, and says so in words that fit the grid", async () => {
  const { screen, answer } = await askGrid();
  screen.press(KEYS.enter);
  expect(await screen.until(/✖/)).toMatch(/✖ A key without a role needs at least one permission\.$/);
  screen.press(KEYS.space);
  expect(await screen.until(/1 ticked/)).not.toContain("✖");
  screen.press(KEYS.enter);
  expect(await answer).toEqual(["ACTIVATION_CODE:CREATE_ANY"]);
});

Deno.test("with a role no permission is an answer", async () => {
  const { screen, answer } = await askGrid(["GUEST"]);
  screen.press(KEYS.enter);
  expect(await answer).toEqual([]);
  expect(await screen.text()).toBe("✔ Permissions: none");
});

for (const [columns, rows] of [[80, 24], [60, 12], [40, 24], [30, 11], [200, 50]] as const) {
  Deno.test(`in ${columns} by ${rows} the grid fits the window, and no line is wrapped`, async () => {
    const { screen } = await askGrid(["VIEWER"], { columns, rows });
    screen.press(KEYS.up, KEYS.left, KEYS.space, KEYS.end);
    const lines = (await screen.until(/❯\[?WEL/)).split("\n");
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
    expect(lines.filter((line) => /^[? ❯] ?\S/.test(line) || /^ {2}/.test(line))).toEqual(lines);
  });
}
