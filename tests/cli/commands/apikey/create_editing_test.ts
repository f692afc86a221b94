/** `apikey --create` at a terminal: going back, changing an answer at the confirmation, and keys that may do everything. */
import { expect } from "expect";
import { startForeignServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { belowTarget, runAtTerminal } from "../../../program/terminal_host.ts";
import { answerPrompts, createAtTerminal, keyNames } from "./create_at_terminal.ts";

Deno.test("Shift-Tab goes back from question to question, and every answer is kept", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, [], { rows: 50 });
  const { screen, code } = run;
  await answerPrompts(run);
  screen.press(KEYS.shiftTab);
  await screen.until(/\? Permissions: █ \(1 /);
  screen.press(KEYS.shiftTab);
  await screen.until(/\? Roles: █ \(1 of 4 selected\)/);
  screen.press(KEYS.shiftTab);
  await screen.until(/\? Description: for tests█/);
  screen.press(..." of the wizard", KEYS.shiftTab);
  await screen.until(/\? Name: ci deploy█/);
  screen.press(..." 2", KEYS.enter);
  await screen.until(/\? Description: for tests of the wizard█/);
  screen.press(KEYS.enter);
  await screen.until(/\? Roles: █ \(1 of 4 selected\)/);
  screen.press(KEYS.enter);
  await screen.until(/\? Permissions: █ \(1 /);
  screen.press(KEYS.enter);
  await screen.until(
    / {2}Name +ci deploy 2\n {2}Description +for tests of the wizard\n[^]*\? Create this key\? \(Y\/n\/e\)/,
  );
  screen.press(KEYS.enter);
  expect(await code).toBe(0);
  expect(await keyNames(installation)).toEqual(["ci deploy 2"]);
});

Deno.test("e at the confirmation changes one answer and keeps the others", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, [], { rows: 60 });
  await answerPrompts(run);
  run.screen.press("e");
  expect(await run.screen.until(/What do you want to do/)).toContain(`\
? Nothing was created. What do you want to do?
❯ Change name         ci deploy
  Change description  for tests
  Change roles        VIEWER
  Change permissions  DOCKER:UPDATE_ANY
  Change expiry       never
  Quit`);
  // Going back returns to the confirmation.
  run.screen.press(KEYS.escape);
  await run.screen.until(/\? Create this key\?/);
  run.screen.press("e");
  await run.screen.until(/What do you want to do/);
  run.screen.press(KEYS.enter);
  await run.screen.until(/\? Name: ci deploy█/);
  run.screen.press(KEYS.ctrlU, ..."ci build", KEYS.enter);
  await run.screen.until(/ {2}Name +ci build\n {2}Description +for tests\n {2}Roles +VIEWER\n[^]*\? Create this key\?/);
  run.screen.press("y");
  expect(await run.code).toBe(0);
  expect(await keyNames(installation)).toEqual(["ci build"]);
});

Deno.test("e at the confirmation can set an expiry, which must be a duration in the future", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, [], { rows: 60 });
  await answerPrompts(run);
  run.screen.press("e");
  await run.screen.until(/What do you want to do/);
  run.screen.press(KEYS.down, KEYS.down, KEYS.down, KEYS.down, KEYS.enter);
  await run.screen.until(/\? Expires in: █/);
  run.screen.press(..."0d", KEYS.enter);
  await run.screen.until(/is not in the future/);
  run.screen.press(KEYS.ctrlU, ..."90d", KEYS.enter);
  await run.screen.until(/ {2}Expires +\d{4}-\S+ \(in 90d\)\n[^]*\? Create this key\?/);
  run.screen.press("y");
  expect(await run.code).toBe(0);
  const { stdout } = await installation.program(["apikey", "list", "--expiring", "91d", "--jsonl"]);
  expect(JSON.parse(stdout).name).toBe("ci deploy");
});

Deno.test("a server whose keys do not expire gets no expiry from the prompts", async () => {
  await using server = startForeignServer([]);
  const run = runAtTerminal(["apikey", "--create"], { env: { SERVICE_API_URL: server.url }, rows: 60 });
  await answerPrompts(run);
  run.screen.press("e");
  expect(await run.screen.until(/What do you want to do/)).not.toContain("expiry");
  run.screen.press(KEYS.ctrlC);
  expect(await run.code).toBe(130);
});

for (
  const [rights, flags, warning] of [
    ["the role ADMIN", ["--roles", "ADMIN"], "The role ADMIN allows every action on every resource,"],
    ["the permissions *:*", ["--permissions", "*:*"], "The key is allowed every action on every resource,"],
  ] as const
) {
  Deno.test(`a key with ${rights} is created only after an explicit yes, and the summary says what it may do`, async () => {
    await using installation = await embedded(inProcess);
    const others = rights === "the role ADMIN" ? ["--permissions", "ME:READ_ANY"] : ["--roles", "GUEST"];
    const { screen, code } = createAtTerminal(installation, ["--description", "", ...flags, ...others], { rows: 24 });
    await screen.until(/\? Name/);
    screen.press(..."boss", KEYS.enter);
    const shown = belowTarget(await screen.until(/\? Create this key\? \(y\/N\/e\)/));
    expect(shown.replaceAll(/\s+/g, " ")).toContain(warning);
    screen.press(KEYS.enter);
    await screen.until(/What do you want to do/);
    screen.press(KEYS.enter);
    expect(await code).toBe(130);
    expect(await keyNames(installation)).toEqual([]);
  });
}

Deno.test("58 permissions are summarized, and name and roles stay on a screen of 80 x 24", async () => {
  await using installation = await embedded(inProcess);
  const flags = ["--description", "", "--roles", "GUEST", "--permissions", "*:READ_ANY,*:UPDATE_ANY"];
  const { screen, code } = createAtTerminal(installation, flags);
  await screen.until(/\? Name/);
  screen.press(..."reader", KEYS.enter);
  const lines = belowTarget(await screen.until(/\? Create this key/)).split("\n").slice(-24);
  expect(lines.join("\n")).toContain(`\
  Name         reader
  Roles        GUEST
  Permissions  29 resources: READ_ANY; 29: UPDATE_ANY
`);
  screen.press(KEYS.ctrlC);
  await code;
});
