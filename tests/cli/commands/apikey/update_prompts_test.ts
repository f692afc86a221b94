/** `apikey update` at a terminal without a change: the prompts for the change, and the confirmation. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { belowTarget, runAtTerminal } from "../../../program/terminal_host.ts";

Deno.test("update at the prompt of apikey asks for the key and for the changes, and shows both before the confirmation", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const { host, screen, code } = runAtTerminal(["apikey"], { env, rows: 60 });
  await screen.until(/What do you want to do/);
  screen.press(KEYS.down, KEYS.down, KEYS.down, KEYS.enter);
  await screen.until(/\? Key to update/);
  screen.press(KEYS.enter);
  const menu = await screen.until(/\? What do you want to change about "ci"/);
  expect(menu.slice(menu.indexOf('? What do you want to change about "ci"'))).toContain(`\
? What do you want to change about "ci"?
❯ Name         ci
  Description
  Roles        GUEST
  Permissions
  Expiry       never
  Disable      until you enable it
`);
  screen.press(KEYS.enter);
  await screen.until(/\? Name: ci█/);
  screen.press(..." 2", KEYS.enter);
  await screen.until(/❯ Done/);
  screen.press(KEYS.enter);
  expect(belowTarget(await screen.until(/\? Update this key\?/))).toMatch(
    / {2}Key +ci\n {2}Roles +GUEST\n {2}Last used +never\n\nChanges to the key "ci" \(key_\w+\):\n {2}name +"ci" → "ci 2"\n\n\? Update this key\? \(Y\/n\/e\)\n/,
  );
  screen.press("e");
  await screen.until(/Update this key\? edit\n\? What do you want to change[^]*Name +ci 2/);
  screen.press(KEYS.up, KEYS.enter);
  await screen.until(/ {2}Enable /);
  screen.press(KEYS.home, KEYS.enter);
  await screen.until(/ {2}enabled +yes → no\n {2}Using [^?]*\n\n\? Update this key\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe('Updated API key "ci 2"\n');
  expect((await program(["request", "--query", "{ apiKeys { name enabled } }"])).stdout).toContain(
    '{"name":"ci 2","enabled":false}',
  );
});

Deno.test("Esc in the menu of changes goes back to the list of keys, and asks before it discards changes", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "a", "--roles", "GUEST"]);
  await program(["apikey", "--create", "--name", "b", "--roles", "GUEST"]);
  const { screen, code } = runAtTerminal(["apikey", "update"], { env, rows: 60 });
  await screen.until(/\? Key to update/);
  screen.press(KEYS.enter);
  await screen.until(/\? What do you want to change about "a"/);
  screen.press(KEYS.escape);
  expect(await screen.until(/\? Key to update/)).toMatch(/^Using [^?✔]*\? Key to update/);
  screen.press(KEYS.down, KEYS.enter);
  await screen.until(/\? What do you want to change about "b"/);
  screen.press(KEYS.enter);
  await screen.until(/\? Name: b█/);
  screen.press("2", KEYS.enter);
  await screen.until(/❯ Done/);
  screen.press(KEYS.escape);
  await screen.until(/\? Discard the changes to the key "b"\? \(y\/N\)/);
  screen.press("n");
  await screen.until(/\? What do you want to change about "b"\?\n❯ Done .*\n {2}Name +b2/);
  screen.press(KEYS.escape);
  await screen.until(/Discard the changes to the key "b"\? no[^]*\? Discard/);
  screen.press("y");
  await screen.until(/\? Key to update/);
  screen.press(KEYS.escape);
  expect(await code).toBe(130);
});

Deno.test("if the key is named on the command line, Esc in the menu of changes cancels, and asks before it discards changes", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const { host, screen, code } = runAtTerminal(["apikey", "update", "ci"], { env, rows: 60 });
  await screen.until(/\? What do you want to change/);
  screen.press(KEYS.up, KEYS.enter);
  await screen.until(/❯ Done/);
  screen.press(KEYS.escape);
  await screen.until(/\? Discard the changes/);
  screen.press("y");
  expect(await code).toBe(130);
  expect(host.stderr.text).toContain("Nothing was changed.");
});

for (const [lifetime, shown] of [["30d", "in 30d"], ["1s", "expired \\d+s ago"]] as const) {
  Deno.test(`the menu of changes shows the expiry of a key of ${lifetime} as a distance and a day`, async () => {
    await using installation = await embedded(inProcess);
    const { program, env } = installation;
    await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--expires-in", lifetime]);
    const { host, screen, code } = runAtTerminal(["apikey", "update", "ci"], { env });
    const now = host.now();
    Object.assign(host, { now: () => lifetime === "1s" ? new Date(now.getTime() + 5000) : now });
    await screen.until(new RegExp(`Expiry +${shown} \\(\\d{4}-\\d{2}-\\d{2}\\)\\n`));
    screen.press(KEYS.escape);
    await code;
  });
}
