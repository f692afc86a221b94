/** `apikey --create` at a terminal: taken names, a declined confirmation, interruptions. */
import { expect } from "expect";
import { startServer } from "../../../client/foreign_server.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { belowTarget, runAtTerminal } from "../../../program/terminal_host.ts";
import { answerPrompts, createAtTerminal, keyNames } from "./create_at_terminal.ts";

const CREATE_TAKEN = ["apikey", "--create", "--name", "taken", "--roles", "GUEST"] as const;

/** Flags that give every value of the key except its name. */
const ALL_BUT_NAME = ["--description", "", "--roles", "GUEST", "--permissions", "ME:READ_ANY"] as const;

Deno.test("if the user declines the confirmation, the command creates nothing and exits with 130", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation);
  await answerPrompts(run);
  run.screen.press("n");
  const screen = await run.screen.until(/What do you want to do/);
  expect(screen.slice(screen.indexOf("✔ Create"))).toBe(`\
✔ Create this key? no
? Nothing was created. What do you want to do?
  Change name         ci deploy
  Change description  for tests
  Change roles        VIEWER
  Change permissions  DOCKER:UPDATE_ANY
  Change expiry       never
❯ Quit
  enter to select · arrows to move · esc to go back · ? help`);
  run.screen.press(KEYS.enter);
  expect(await run.code).toBe(130);
  expect(await run.screen.text()).toMatch(/\? Quit\nservice-api: Nothing was created\.$/);
  expect(run.host.stdout.text).toBe("");
  expect(await keyNames(installation)).toEqual([]);
});

Deno.test("if the name is taken and the user declines to replace the key, the command prompts for another name", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE_TAKEN);
  const { screen, code } = createAtTerminal(installation, ALL_BUT_NAME);
  await screen.until(/\? Name/);
  screen.press(..." taken ", KEYS.enter);
  expect(belowTarget(await screen.until(/Replace it/))).toBe(`\
✔ Name: taken

  Key          taken
  Roles        GUEST
  Last used    never

? A key named "taken" already exists. Replace it and revoke its secret? (y/N)
  y for yes · n for no · esc to go back · enter for no · ? help`);
  screen.press(KEYS.enter);
  await screen.until(/\? Name/);
  screen.press(KEYS.ctrlU, ..."free", KEYS.enter);
  await screen.until(/\? Create this key\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(await keyNames(installation)).toEqual(["taken", "free"]);
});

Deno.test("if the user answers yes to both prompts, the command replaces the key and prints a new secret", async () => {
  await using installation = await embedded(inProcess);
  const before = await installation.program(CREATE_TAKEN);
  const { screen, code, host } = createAtTerminal(installation, ALL_BUT_NAME);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it/);
  screen.press("y");
  await screen.until(/\? Create this key and replace the existing key\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).not.toBe(before.stdout);
  expect(await keyNames(installation)).toEqual(["taken"]);
});

Deno.test("if the user agrees to the replacement but declines the confirmation, the old key still works", async () => {
  await using installation = await embedded(inProcess);
  const before = await installation.program(CREATE_TAKEN);
  const { screen, code } = createAtTerminal(installation, ALL_BUT_NAME);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it/);
  screen.press("y");
  await screen.until(/\? Create this key and/);
  screen.press("n");
  await screen.until(/What do you want to do/);
  screen.press(KEYS.enter);
  expect(await code).toBe(130);
  const env = { SERVICE_API_KEY: before.stdout.trim() };
  expect((await installation.program(["request", "--query", "{ me { name } }"], { env })).code).toBe(0);
});

Deno.test("--yes does not skip the prompt about replacing a key", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE_TAKEN);
  const { screen, code } = createAtTerminal(installation, ["--yes", ...ALL_BUT_NAME]);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it/);
  screen.press("y");
  expect(await code).toBe(0);
});

Deno.test("--overwrite skips the prompt about replacing a key, but not the confirmation, which describes that key", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE_TAKEN);
  const { screen, code } = createAtTerminal(installation, ["--overwrite", ...ALL_BUT_NAME]);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  const shown = await screen.until(/\? Create this key and replace the existing key\?/);
  expect(shown).not.toContain("exists");
  expect(shown).toContain("\n  Replaces     the key with GUEST, never used; its secret stops working\n");
  screen.press("y");
  expect(await code).toBe(0);
});

Deno.test("if --name is taken and the user declines to replace the key, the command fails with ALREADY_EXISTS and exits with 1", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE_TAKEN);
  const { screen, code, host } = createAtTerminal(installation, ["--name", "taken"]);
  await screen.until(/Replace it/);
  screen.press("n");
  expect(await code).toBe(1);
  expect(host.stderr.text).toMatch(/A key named "taken" already exists; add --overwrite or choose\nanother name\.\n$/);
});

Deno.test("if the caller is not allowed to read keys, create reports a taken name only after the confirmation", async () => {
  await using installation = await overHttp();
  const creator = await installation.program(
    ["apikey", "--create", "--name", "creator", "--permissions", "API_KEY:CREATE_ANY"],
  );
  const flags = ["--description", "", "--permissions", "API_KEY:CREATE_OWN"];
  const { screen, code } = createAtTerminal(installation, flags, {
    env: { SERVICE_API_KEY: creator.stdout.trim() },
  });
  await screen.until(/\? Name/);
  screen.press(..."admin", KEYS.enter);
  await screen.until(/\? Roles/);
  screen.press(KEYS.enter);
  expect(await screen.until(/\? Create/)).not.toContain("exists");
  screen.press("y");
  expect(await code).toBe(1);
  expect(await screen.text()).toContain('A key named "admin" already exists');
  expect(await keyNames(installation)).toEqual(["admin", "creator"]);
});

const PROMPTS = [
  ["Name", []],
  ["Description", ["n", KEYS.enter]],
  ["Roles", [KEYS.enter]],
  ["Permissions", [KEYS.space, KEYS.enter]],
  ["Create", [KEYS.enter]],
] as const;

for (const [index, [last]] of PROMPTS.entries()) {
  Deno.test(`on Ctrl-C at the prompt ${last}, the command creates nothing and exits with 130`, async () => {
    await using installation = await embedded(inProcess);
    const { screen, code, host } = createAtTerminal(installation);
    for (const [prompt, keys] of PROMPTS.slice(0, index + 1)) {
      screen.press(...keys);
      // deno-lint-ignore no-await-in-loop -- one prompt at a time
      await screen.until(new RegExp(`\\? ${prompt}`));
    }
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
    expect(await screen.text()).toMatch(/\nservice-api: Interrupted\. Nothing was changed\.$/);
    expect(screen.isRestored).toBe(true);
    expect(host.stdout.text).toBe("");
    expect([...host.handlers]).toEqual([]);
    expect(await keyNames(installation)).toEqual([]);
  });
}

Deno.test("on SIGINT during the look-up of the name, the command exits with 130", async () => {
  const requested = Promise.withResolvers<void>();
  const response = Promise.withResolvers<Response>();
  await using server = startServer(() => {
    requested.resolve();
    return response.promise;
  });
  const { screen, code, host } = runAtTerminal(["apikey", "--create"], { env: { SERVICE_API_URL: server.url } });
  await screen.until(/\? Name/);
  screen.press("n", KEYS.enter);
  await requested.promise;
  expect(await screen.until(/Waiting/)).toMatch(
    /^✔ Name: n\n[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Waiting for http:\/\/127\.0\.0\.1:\d+ \(SERVICE_API_URL\) · Ctrl-C stops$/m,
  );
  host.handlers.get("SIGINT")?.();
  expect(await code).toBe(130);
  expect(screen.isRestored).toBe(true);
  response.resolve(new Response());
});

Deno.test("if the existing key is the key in use and the last ADMIN, the confirmation of --overwrite warns and defaults to no", async () => {
  await using installation = await overHttp();
  const { env } = installation;
  const args = ["apikey", "--create", "--overwrite", "--name", "admin", "--description", ""];
  const { screen, code } = runAtTerminal(args, { env });
  await screen.until(/\? Roles/);
  screen.press(..."GUEST", KEYS.tab, KEYS.enter);
  await screen.until(/\? Permissions/);
  screen.press(KEYS.enter);
  expect(await screen.until(/\? Create this key and replace the key in use\? \(y\/N\/e\)/)).toContain(
    "\n  Replaces     the key with ADMIN, used now; its secret stops working\n" +
      "  Warning      The existing key is the key in use.\n               Without it, no key has the role ADMIN.\n",
  );
  screen.press(KEYS.ctrlC);
  expect(await code).toBe(130);
});

Deno.test("with --overwrite and a name that no key has, the confirmation does not speak of a replacement", async () => {
  await using installation = await embedded(inProcess);
  const { screen, code } = createAtTerminal(installation, ["--overwrite", ...ALL_BUT_NAME]);
  await screen.until(/\? Name/);
  screen.press(..."free", KEYS.enter);
  await screen.until(/\? Create this key\? \(/);
  screen.press("y");
  expect(await code).toBe(0);
});
