/** `apikey --create` at a terminal: what is asked, what it looks like, and what comes of each answer. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { answerAll, createAt, namesIn } from "./creating.ts";
import { steady } from "../../../program/terminal_host.ts";

Deno.test("each question of --create stands alone under the answers before it", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation, [], { rows: 14 });
  const { screen } = running;
  expect(await screen.until(/\? Name/)).toBe("? Name: █\n  letters, digits and spaces");
  screen.press(..."ci-");
  expect(await screen.until(/✖/)).toBe(`\
? Name: ci-█
  ✖ The name "ci-" contains "-". A name may contain only letters, digits and spaces.`);
  screen.press(KEYS.backspace, ..." deploy", KEYS.enter);
  expect(await screen.until(/\? Description/)).toBe(`\
✔ Name: ci deploy
? Description: █
  what the key is for; may be empty`);
  screen.press(..."for tests", KEYS.enter);
  expect(await screen.until(/\? Roles/)).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
? Roles: █ (0 ticked, 4)
❯ ◯ ADMIN    Full access to the system
  ◯ CONNECT  Access to the connect features of the service
  ◯ VIEWER   Read-only access
  ◯ GUEST    Limited access
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  screen.press(..."viewer", KEYS.space, KEYS.enter);
  expect(await screen.until(/\? Permissions/)).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
✔ Roles: VIEWER
? Permissions: █ (0 ticked, 29)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ·   ·    ·   ·    ·   ·
❯ ACTIVATION_CODE         [·]  ·    ◆   ◆    ·   ·    ·   ·
  API_KEY                  ·   ·    ◆   ◆    ·   ·    ·   ·
  ARRAY                    ·   ·    ◆   ◆    ·   ·    ·   ·
  CLOUD                    ·   ·    ◆   ◆    ·   ·    ·   ·
  CONFIG                   ·   ·    ◆   ◆    ·   ·    ·   ·
  CONNECT                  ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● ticked  ◈ both  ○ in ANY
  space ticks · enter ends · arrows move · letters filter`);
  screen.press(KEYS.ctrlC);
  expect(await running.code).toBe(130);
});

Deno.test("the summary shows the effective rights, and after a yes the secret is alone on standard output", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation);
  await answerAll(running);
  running.screen.press("y");
  expect(await running.code).toBe(0);
  expect(steady(await running.screen.text())).toBe(`\
✔ Name: ci deploy
✔ Description: for tests
✔ Roles: VIEWER
✔ Permissions: DOCKER:UPDATE_ANY

  Name         ci deploy
  Description  for tests
  Roles        VIEWER
  Permissions  DOCKER:UPDATE_ANY

                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER         ·   ·    ◆   ◆    ●   ●    ·   ·
  the other 28   ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission

✔ Create this key? yes
Created API key "ci deploy" (key_0000000000000000000000).
Its secret is on standard output and is not shown again: keep it in a secrets
manager, or in a file that only you can read.`);
  expect(running.host.stdout.text).toMatch(/^sak_\w{49}\n$/);
  expect(running.screen.raw).not.toContain("sak_");
  expect(running.screen.isRestored).toBe(true);
});

Deno.test("where standard output is the terminal too, the secret stands above what is said of it, once", async () => {
  await using installation = await embedded(inProcess);
  const given = ["--roles", "GUEST", "--permissions", "ME:READ_ANY", "--description", ""];
  const running = createAt(installation, given, { showsOutput: true });
  await running.screen.until(/\? Name/);
  running.screen.press("n", KEYS.enter);
  await running.screen.until(/\? Create/);
  running.screen.press(KEYS.enter);
  expect(await running.code).toBe(0);
  const text = steady(await running.screen.text());
  expect(text).toContain(`\
✔ Create this key? yes
sak_${"0".repeat(49)}
Created API key "n" (key_0000000000000000000000).
Its secret is above and is not shown again`);
  expect(text.match(/sak_/g)).toHaveLength(1);
});

Deno.test("in 40 columns and ASCII the summary fits the width", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation, [], { columns: 40, rows: 40, env: { LANG: "C" } });
  await answerAll(running, "ci deploy", "for the nightly build of the web site");
  const text = await running.screen.until(/\? Create/);
  expect(text.slice(text.indexOf("  Name "))).toBe(`\
  Name         ci deploy
  Description  for the nightly build of
               the web site
  Roles        VIEWER
  Permissions  DOCKER:UPDATE_ANY

                 Cre Rea Upd Del
                 a o a o a o a o
  DOCKER         . . R R P P . .
  the other 28   . . R R . . . .

  R by role  P by permission  a any
  o own

? Create this key? (Y/n)`);
  // deno-lint-ignore no-control-regex -- escape sequences are made of them
  expect(running.screen.raw.replaceAll(/[\x1b\n\r]/g, "")).toMatch(/^[ -~]+$/);
  running.screen.press("n");
  await running.code;
});

Deno.test("a description and a name in Chinese are wrapped in the summary by their width", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation, ["--roles", "GUEST", "--permissions", "ME:READ_ANY"], { columns: 40 });
  await running.screen.until(/\? Name/);
  running.screen.press(..."部署密钥", KEYS.enter);
  await running.screen.until(/\? Description/);
  running.screen.press(..."每天晚上为网站构建和部署使用的密钥", KEYS.enter);
  const text = await running.screen.until(/\? Create/);
  expect(text).toContain(`
  Name         部署密钥
  Description  每天晚上为网站构建和部署
               使用的密钥
  Roles        GUEST
`);
  running.screen.press("y");
  expect(await running.code).toBe(0);
  expect(await namesIn(installation)).toEqual(["部署密钥"]);
});

Deno.test("with FORCE_COLOR=1 questions are coloured, and the secret on standard output is not", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation, [], { env: { FORCE_COLOR: "1" } });
  await answerAll(running);
  running.screen.press("y");
  expect(await running.code).toBe(0);
  const { raw } = running.screen;
  expect(raw).toContain("\x1b[36m?\x1b[39m \x1b[1mName:\x1b[22m █");
  expect(raw).toContain("\x1b[32m✔\x1b[39m \x1b[1mRoles:\x1b[22m \x1b[36mVIEWER\x1b[39m");
  expect(raw).toContain("\x1b[36m◆\x1b[39m");
  expect(raw).toContain("\x1b[32m●\x1b[39m");
  expect(running.host.stdout.text).toMatch(/^sak_\w{49}\n$/);
});

Deno.test("with NO_COLOR nothing is coloured", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation);
  await answerAll(running);
  running.screen.press("y");
  await running.code;
  // deno-lint-ignore no-control-regex -- escape sequences are made of them
  expect(running.screen.raw).not.toMatch(/\x1b\[[\d;]*m/);
});

Deno.test("a name and a role or a permission given: nothing is asked at a terminal", async () => {
  await using installation = await embedded(inProcess);
  for (const rights of [["--roles", "GUEST"], ["--permissions", "DOCKER:READ_ANY"]]) {
    const { code, screen, host } = createAt(installation, ["--name", "n", "--overwrite", ...rights]);
    // deno-lint-ignore no-await-in-loop -- one after the other on one store
    expect(await code).toBe(0);
    expect(host.stdout.text).toMatch(/^sak_\w{49}\n$/);
    expect(screen.raw).not.toContain("?");
  }
});

for (
  const [flags, asked] of [
    [[], ["Name", "Description", "Roles", "Permissions"]],
    [["--name", "n"], ["Description", "Roles", "Permissions"]],
    [["--roles", "GUEST"], ["Name", "Description", "Permissions"]],
    [["--permissions", "ME:READ_ANY"], ["Name", "Description", "Roles"]],
    [["--description", "d", "--permissions", "ME:READ_ANY"], ["Name", "Roles"]],
    [["--description", "d", "--roles", "GUEST", "--permissions", "ME:READ_ANY"], ["Name"]],
    [["--name", "n", "--description", "d"], ["Roles", "Permissions"]],
  ] as const
) {
  Deno.test(`with ${flags.join(" ") || "no flags"} what is asked is ${asked.join(", ")}`, async () => {
    await using installation = await embedded(inProcess);
    const { code, screen } = createAt(installation, flags);
    for (const question of asked) {
      // deno-lint-ignore no-await-in-loop -- one question after the other
      await screen.until(new RegExp(`\\? ${question}`));
      screen.press("m", ...(/Roles|Permissions/.test(question) ? [KEYS.space] : []), KEYS.enter);
    }
    const labels = (await screen.until(/\? Create/)).matchAll(/^✔ (\w+):/gm);
    expect([...labels].map(([, label]) => label)).toEqual(asked);
    screen.press("y");
    expect(await code).toBe(0);
  });
}

Deno.test("--yes answers the last question", async () => {
  await using installation = await embedded(inProcess);
  const { code, screen } = createAt(installation, ["--yes", "--roles", "GUEST", "--permissions", "ME:READ_ANY"]);
  await screen.until(/\? Name/);
  screen.press("n", KEYS.enter);
  await screen.until(/\? Description/);
  screen.press(KEYS.enter);
  expect(await code).toBe(0);
  expect(await screen.text()).not.toContain("Create this key?");
});

Deno.test("--json prints its one line whether questions were asked or not", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation, ["--json"]);
  await answerAll(running);
  running.screen.press("y");
  expect(await running.code).toBe(0);
  expect(Object.keys(JSON.parse(running.host.stdout.text))).toEqual(["key", "name", "id"]);
});
