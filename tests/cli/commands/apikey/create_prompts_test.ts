/** `apikey --create` at a terminal: the prompts, the summary and the result. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { belowTarget, stabilize } from "../../../program/terminal_host.ts";
import { answerPrompts, createAtTerminal, keyNames } from "./create_at_terminal.ts";

Deno.test("each prompt appears below the answers to the earlier ones", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, [], { rows: 14 });
  const { screen } = run;
  expect(belowTarget(await screen.until(/\? Name/))).toBe("? Name: █\n  letters, digits and spaces");
  screen.press(..."ci-");
  expect(belowTarget(await screen.until(/✖/))).toBe(`\
? Name: ci-█
  ✖ The name "ci-" contains "-". A name may contain only letters, digits and
    spaces. Did you mean "ci"?`);
  screen.press(KEYS.backspace, ..." deploy", KEYS.enter);
  expect(belowTarget(await screen.until(/\? Description/))).toBe(`\
✔ Name: ci deploy
? Description: █
  what the key is for (optional) · esc to go back`);
  screen.press(..."for tests", KEYS.enter);
  expect(belowTarget(await screen.until(/\? Roles/))).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
? Roles: █ (optional, 0 of 4 selected)
❯ ◯ ADMIN    Full access to the system
  ◯ CONNECT  Access to the connect features of the service
  ◯ VIEWER   Read-only access
  ◯ GUEST    Limited access
  space to select · enter to confirm · type to filter · esc to go back · ? help`);
  screen.press(..."viewer", KEYS.tab, KEYS.enter);
  expect(belowTarget(await screen.until(/\? Permissions/))).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
✔ Roles: VIEWER
? Permissions: █ (optional, 0 of 232 selected)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ◆   ◆    ·   ·    ·   ·
❯ ACTIVATION_CODE         [·]  ·    ◆   ◆    ·   ·    ·   ·                   ┃
  API_KEY                  ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  ARRAY                    ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  CLOUD                    ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  CONFIG                   ·   ·    ◆   ◆    ·   ·    ·   ·                   │
  24 below

  ◆ by role  ● selected  ◈ both  ○ included in ANY  ◐ some
  space to select · enter to confirm · type to filter · esc to go back · ? help`);
  screen.press(KEYS.ctrlC);
  expect(await run.code).toBe(130);
});

Deno.test("the summary shows the effective rights, and after the confirmation only the secret is on standard output", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation);
  await answerPrompts(run);
  run.screen.press("y");
  expect(await run.code).toBe(0);
  const shown = belowTarget(stabilize(await run.screen.text())).replace(/"\/.*\/data\/keys\.db"/, '"/…/keys.db"');
  expect(shown).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
✔ Roles: VIEWER
✔ Permissions: DOCKER:UPDATE_ANY

                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER         ·   ·    ◆   ◆    ●   ●    ·   ·
  the other 28   ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission

  Name         ci deploy
  Description  for tests
  Roles        VIEWER
  Permissions  DOCKER:UPDATE_ANY
  Expires      never

✔ Create this key? yes
Created API key "ci deploy" (key_0000000000000000000000).
The secret is on standard output and cannot be shown again. Store it in a
secrets manager or in a file that only you can read.
service-api: Created a new store in
"/…/keys.db".`);
  expect(run.host.stdout.text).toMatch(/^sak_\w{49}\n$/);
  expect(run.screen.raw).not.toContain("sak_");
  expect(run.screen.isRestored).toBe(true);
});

Deno.test("if standard output is the terminal too, the secret appears once, above the next steps", async () => {
  await using installation = await embedded(inProcess);
  const flags = ["--roles", "GUEST", "--permissions", "ME:READ_ANY", "--description", ""];
  const run = createAtTerminal(installation, flags, { showsOutput: true });
  await run.screen.until(/\? Name/);
  run.screen.press("n", KEYS.enter);
  await run.screen.until(/\? Create/);
  run.screen.press(KEYS.enter);
  expect(await run.code).toBe(0);
  const text = stabilize(await run.screen.text());
  expect(text).toContain(`\
✔ Create this key? yes
sak_${"0".repeat(49)}
Created API key "n" (key_0000000000000000000000).
The secret is printed above and cannot be shown again.`);
  expect(text.match(/sak_/g)).toHaveLength(1);
});

Deno.test("without a UTF-8 locale, the summary is ASCII, and it fits into 40 columns", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, [], { columns: 40, rows: 40, env: { LANG: "C" } });
  await answerPrompts(run, "ci deploy", "for the nightly build of the web site");
  const text = belowTarget(await run.screen.until(/\? Create/));
  expect(text.slice(text.indexOf("                 Cre"))).toBe(`\
                 Cre Rea Upd Del
                 a o a o a o a o
  DOCKER         . . R R P P . .
  the other 28   . . R R . . . .

  R by role  P by permission  a any
  o own

  Name         ci deploy
  Description  for the nightly build of
               the web site
  Roles        VIEWER
  Permissions  DOCKER:UPDATE_ANY
  Expires      never

? Create this key? (Y/n/e)
  e change an answer, y yes, ? help`);
  // deno-lint-ignore no-control-regex -- matches escape sequences
  expect(run.screen.raw.replaceAll(/[\x1b\n\r]/g, "")).toMatch(/^[ -~]+$/);
  run.screen.press(KEYS.ctrlC);
  await run.code;
});

Deno.test("the summary wraps a Chinese description at the width of the terminal", async () => {
  await using installation = await embedded(inProcess);
  const flags = ["--yes", "--roles", "GUEST", "--permissions", "ME:READ_ANY"];
  const run = createAtTerminal(installation, flags, { columns: 40 });
  await run.screen.until(/\? Name/);
  run.screen.press(..."部署密钥", KEYS.enter);
  await run.screen.until(/\? Description/);
  run.screen.press(..."每天晚上为网站构建和部署使用的密钥", KEYS.enter);
  expect(await run.code).toBe(0);
  expect(await run.screen.text()).toContain(`
  Name         部署密钥
  Description  每天晚上为网站构建和部署
               使用的密钥
  Roles        GUEST
`);
  expect(await keyNames(installation)).toEqual(["部署密钥"]);
});

Deno.test("the prompt rejects a description of more than 1,024 characters, until it is shorter", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, ["--yes", "--roles", "GUEST", "--permissions", "ME:READ_ANY"]);
  await run.screen.until(/\? Name/);
  run.screen.press(..."long", KEYS.enter);
  await run.screen.until(/\? Description/);
  run.screen.press(..."x".repeat(1025), KEYS.enter);
  await run.screen.until(/at most 1024/);
  run.screen.press(KEYS.backspace, KEYS.enter);
  expect(await run.code).toBe(0);
  expect(await keyNames(installation)).toEqual(["long"]);
});

for (const env of [{ FORCE_COLOR: "1" }, { NO_COLOR: "1" }]) {
  Deno.test(`prompts with ${Object.keys(env)} have ${"NO_COLOR" in env ? "no colours" : "colours"}`, async () => {
    await using installation = await embedded(inProcess);
    const run = createAtTerminal(installation, [], { env });
    await answerPrompts(run);
    run.screen.press("y");
    expect(await run.code).toBe(0);
    // deno-lint-ignore no-control-regex -- matches escape sequences
    if ("NO_COLOR" in env) expect(run.screen.raw).not.toMatch(/\x1b\[[\d;]*m/);
    else expect(run.screen.raw).toContain("\x1b[32m✔\x1b[39m \x1b[1mRoles:\x1b[22m \x1b[36mVIEWER\x1b[39m");
    expect(run.host.stdout.text).toMatch(/^sak_\w{49}\n$/);
  });
}

Deno.test("with a name and a role or permission, the command does not prompt", async () => {
  await using installation = await embedded(inProcess);
  for (const rights of [["--roles", "GUEST"], ["--permissions", "DOCKER:READ_ANY"]]) {
    const { code, screen, host } = createAtTerminal(installation, ["--name", "n", "--overwrite", ...rights]);
    // deno-lint-ignore no-await-in-loop -- both runs use the same store
    expect(await code).toBe(0);
    expect(host.stdout.text).toMatch(/^sak_\w{49}\n$/);
    expect(screen.raw).not.toContain("?");
  }
});

for (
  const [flags, missing] of [
    [[], ["Name", "Description", "Roles", "Permissions"]],
    [["--name", "n"], ["Description", "Roles", "Permissions"]],
    [["--roles", "GUEST"], ["Name", "Description", "Permissions"]],
    [["--description", "d", "--permissions", "ME:READ_ANY"], ["Name", "Roles"]],
  ] as const
) {
  Deno.test(`with ${flags.join(" ") || "no flags"} the command prompts for ${missing.join(", ")}`, async () => {
    await using installation = await embedded(inProcess);
    const { code, screen } = createAtTerminal(installation, flags);
    for (const prompt of missing) {
      // deno-lint-ignore no-await-in-loop -- one prompt at a time
      await screen.until(new RegExp(`\\? ${prompt}`));
      screen.press("m", ...(/Roles|Permissions/.test(prompt) ? [KEYS.tab] : []), KEYS.enter);
    }
    const labels = (await screen.until(/\? Create/)).matchAll(/^✔ (\w+):/gm);
    expect([...labels].map(([, label]) => label)).toEqual(missing);
    screen.press("y");
    expect(await code).toBe(0);
  });
}

Deno.test("--yes skips the confirmation", async () => {
  await using installation = await embedded(inProcess);
  const { code, screen } = createAtTerminal(installation, [
    "--yes",
    "--roles",
    "GUEST",
    "--permissions",
    "ME:READ_ANY",
  ]);
  await screen.until(/\? Name/);
  screen.press("n", KEYS.enter);
  await screen.until(/\? Description/);
  screen.press(KEYS.enter);
  expect(await code).toBe(0);
  expect(await screen.text()).not.toContain("Create this key?");
});

Deno.test("--json prints one line, even after prompts", async () => {
  await using installation = await embedded(inProcess);
  const run = createAtTerminal(installation, ["--json"]);
  await answerPrompts(run);
  run.screen.press("y");
  expect(await run.code).toBe(0);
  expect(Object.keys(JSON.parse(run.host.stdout.text))).toEqual(["key", "name", "id"]);
});
