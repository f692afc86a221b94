/** The executable at a real terminal: keys are pressed, the screen is read. */
import { expect } from "expect";
import { stripVTControlCharacters } from "node:util";
import { buildExecutable } from "./executable.ts";
import { asProcess, type Program, withEnv } from "./program.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";
import { missingPrograms } from "../tools.ts";

const build = await buildExecutable();
const [missing] = missingPrograms(["tmux"]);

interface AtShell {
  /** A shell at the terminal, in which the executable is `./service-api`. */
  readonly terminal: Terminal;
  /** The executable without a terminal, over the same store. */
  readonly program: Program;
}

/** A shell with a store of its own, and the executable in its directory. */
async function withShell(
  { env = {}, ...options }: TerminalOptions,
  executable: string,
  use: (shell: AtShell) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-shell-" });
  try {
    await Deno.symlink(executable, `${directory}/service-api`);
    const store = { SERVICE_API_DATA_DIR: `${directory}/data` };
    await using terminal = await openTerminal(["bash", "--norc", "--noprofile"], {
      ...options,
      cwd: directory,
      env: { ...store, PS1: "$ ", ...env },
    });
    await terminal.shows(/^\$$/);
    await use({ terminal, program: withEnv(asProcess(executable), store) });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** What is below the last command line on the screen, without what differs from run to run. */
function answer(screen: string): string {
  const lines = screen.split("\n");
  const start = lines.findLastIndex((line) => line.startsWith("$ ./") || line.startsWith("$ KEY="));
  return lines.slice(start + 1).join("\n").replaceAll(/key_\w+/g, "key_…").replaceAll(/sak_\w+/g, "sak_…")
    .replaceAll(/\d{4}-\d\d-\d\d/g, "2026-11-20");
}

function testAtTerminal(rule: string, options: TerminalOptions, use: (shell: AtShell) => Promise<void>): void {
  if (build.kind !== "built" || missing !== undefined) return;
  Deno.test(`at a terminal: ${rule}`, () => withShell(options, build.path, use));
}

testAtTerminal(
  "a key is created by hand, with its secret in a variable",
  { rows: 50 },
  async ({ terminal, program }) => {
    await terminal.type('KEY=$(./service-api apikey --create); echo "status $? with ${#KEY} characters"');
    await terminal.press("Enter");
    await terminal.shows(/Name: █/);
    await terminal.type("ci-");
    await terminal.shows(/contains "-"/);
    await terminal.press("BSpace");
    await terminal.type(" deploy");
    await terminal.press("Enter");
    await terminal.shows(/Description: █/);
    await terminal.type("for the pipeline");
    await terminal.press("Enter");
    expect(answer(await terminal.shows(/enter ends/))).toBe(`\
✔ Name: ci deploy
✔ Description: for the pipeline
? Roles: █ (0 ticked, 4)
❯ ◯ ADMIN    Full access to the system
  ◯ CONNECT  Access to the connect features of the service
  ◯ VIEWER   Read-only access
  ◯ GUEST    Limited access
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
    await terminal.press("Down", "Down", "Space", "Enter");
    await terminal.shows(/Permissions: █/);
    await terminal.type("docker:update");
    await terminal.press("Space");
    expect(answer(await terminal.shows(/1 ticked/))).toBe(`\
✔ Name: ci deploy
✔ Description: for the pipeline
✔ Roles: VIEWER
? Permissions: docker:update█ (1 ticked, 1 of 29)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  every resource           ·   ·    ·   ·    ●   ·    ·   ·
❯ DOCKER                   ·   ·    ◆   ◆   [●]  ○    ·   ·
  DOCKER:UPDATE_ANY
  ◆ by role  ● ticked  ◈ both  ○ in ANY
  space ticks · enter ends · arrows move · letters filter`);
    await terminal.press("Enter");
    await terminal.shows(/Create this key/);
    await terminal.press("y");
    expect(answer(await terminal.shows(/^status.*\n\$$/m))).toBe(`\
✔ Name: ci deploy
✔ Description: for the pipeline
✔ Roles: VIEWER
✔ Permissions: DOCKER:UPDATE_ANY

  Name         ci deploy
  Description  for the pipeline
  Roles        VIEWER
  Permissions  DOCKER:UPDATE_ANY

                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER         ·   ·    ◆   ◆    ●   ●    ·   ·
  the other 28   ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission

✔ Create this key? yes
Created API key "ci deploy" (key_…).
Its secret is on standard output and is not shown again: keep it in a secrets
manager, or in a file that only you can read.
status 0 with 53 characters
$`);
    const { stdout } = await program([
      "request",
      "--query",
      "{ apiKeys { name description roles permissions { resource actions } } }",
    ]);
    expect(JSON.parse(stdout).data.apiKeys).toEqual([{
      name: "ci deploy",
      description: "for the pipeline",
      roles: ["VIEWER"],
      permissions: [{ resource: "DOCKER", actions: ["UPDATE_ANY"] }],
    }]);
  },
);

testAtTerminal("keys are ticked in a list and deleted", {}, async ({ terminal, program }) => {
  for (const name of ["ci deploy", "nightly backup", "ci test"]) {
    // deno-lint-ignore no-await-in-loop -- in this order
    await program(["apikey", "--create", "--name", name, "--roles", "VIEWER", "--description", `of ${name}`]);
  }
  await terminal.type("./service-api apikey");
  await terminal.press("Enter");
  expect(answer(await terminal.shows(/delete /))).toBe(`\
? What is to be done?
❯ create  a key, and print its secret, once
  delete  keys, ticked in a list`);
  await terminal.press("Down", "Enter");
  await terminal.shows(/Keys to delete/);
  await terminal.type("ci");
  await terminal.press("Space", "Down", "Space");
  expect(answer(await terminal.shows(/2 ticked/))).toBe(`\
✔ What is to be done? delete
? Keys to delete: ci█ (2 ticked, 2 of 3)
  ◉ ci deploy       VIEWER  2026-11-20  of ci deploy
❯ ◉ ci test         VIEWER  2026-11-20  of ci test
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  await terminal.press("Enter");
  await terminal.shows(/\(y\/N\)/);
  await terminal.press("y");
  expect(answer(await terminal.shows(/Successfully.*\n\$$/))).toBe(`\
✔ What is to be done? delete
✔ Keys to delete: ci deploy, ci test
✔ Delete 2 keys? Requests with them fail at once. yes
Successfully deleted 2 API keys
$`);
});

testAtTerminal("Ctrl-C leaves everything as it was, the terminal too", {}, async ({ terminal, program }) => {
  await terminal.type("stty -a > before");
  await terminal.press("Enter");
  await terminal.type("./service-api apikey --create --name new");
  await terminal.press("Enter");
  await terminal.shows(/Description: █/);
  await terminal.press("Enter");
  await terminal.shows(/Roles: █/);
  await terminal.press("C-z", "Space", "C-c");
  await terminal.shows(/Interrupted/);
  await terminal.type("echo status $?; stty -a | cmp - before && echo restored");
  await terminal.press("Enter");
  const screen = await terminal.shows(/^restored$/m);
  expect(screen).toContain("✖ Roles: cancelled\nservice-api: Interrupted. Nothing was changed.\n");
  expect(screen).toContain("\nstatus 130\n");
  expect((await program(["apikey", "--delete", "--name", "new"])).stdout).toBe("No API keys found to delete\n");
});

testAtTerminal("answers may be typed ahead, but not the last one", { rows: 50 }, async ({ terminal, program }) => {
  await terminal.type("./service-api apikey --create");
  await terminal.press("Enter");
  await terminal.shows(/Name: █/);
  await terminal.type("ahead\rof its time\rguest \rme:read_o \ryy\r");
  expect(answer(await terminal.shows(/Create this key/))).toBe(`\
✔ Name: ahead
✔ Description: of its time
✔ Roles: GUEST
✔ Permissions: ME:READ_OWN

  Name         ahead
  Description  of its time
  Roles        GUEST
  Permissions  ME:READ_OWN

        CREATE   READ     UPDATE   DELETE
        ANY OWN  ANY OWN  ANY OWN  ANY OWN
  ME     ·   ·    ·   ◈    ·   ·    ·   ·

  ◈ by both

? Create this key? (Y/n)`);
  await terminal.press("n");
  await terminal.shows(/Nothing was created/);
  expect((await program(["apikey", "--delete", "--name", "ahead"])).stdout).toBe("No API keys found to delete\n");
});

testAtTerminal("a paste of several lines answers no more than it is pasted into", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --create --name new");
  await terminal.press("Enter");
  await terminal.shows(/Description: █/);
  await terminal.paste("one\ntwo\r\n\ny\n");
  expect(answer(await terminal.shows(/two +y █/))).toBe(
    "? Description: one two   y █\n  what the key is for; may be empty",
  );
  await terminal.press("C-c");
  await terminal.shows(/Interrupted/);
});

testAtTerminal("a paste of a thousand characters is there at once", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --create --name new");
  await terminal.press("Enter");
  await terminal.shows(/Description: █/);
  const start = performance.now();
  await terminal.paste(`${"many words ".repeat(95)}end`);
  await terminal.shows(/….*end█/s);
  expect(performance.now() - start).toBeLessThan(5000);
});

for (const columns of [12, 20]) {
  testAtTerminal(
    `in a window of ${columns} columns every question still works`,
    { columns, rows: 40 },
    async (shell) => {
      const { terminal } = shell;
      await terminal.type("./service-api apikey --create");
      await terminal.press("Enter");
      await terminal.shows(/Name: █/);
      await terminal.type("new\r");
      await terminal.shows(/Description:\s+█/);
      await terminal.press("Enter");
      await terminal.shows(/Roles: █/);
      await terminal.press("Space", "Enter");
      await terminal.shows(/DOCK/);
      await terminal.press("Enter");
      await terminal.shows(/Create\s+this/);
      await terminal.press("C-c");
      await terminal.shows(/cancelled/);
    },
  );
}

const SUMMARY =
  "./service-api apikey --create --roles viewer --permissions docker:read_any,disk:update_own --description x";

async function showSummary({ terminal }: AtShell): Promise<string> {
  await terminal.type(SUMMARY);
  await terminal.press("Enter");
  await terminal.shows(/Name: /);
  await terminal.type("new");
  await terminal.press("Enter");
  const screen = await terminal.shows(/Create this key\?/);
  return screen.slice(screen.indexOf("\n\n") + 2).replace(/^.*Name: new\n\n/s, "");
}

testAtTerminal("at 40 columns the summary fits", { columns: 40, rows: 30 }, async (shell) => {
  expect(await showSummary(shell)).toBe(`\
  Name         new
  Description  x
  Roles        VIEWER
  Permissions  DOCKER:READ_ANY,
               DISK:UPDATE_OWN

                 Cre Rea Upd Del
                 a o a o a o a o
  DISK           · · ◆ ◆ · ● · ·
  DOCKER         · · ◈ ◈ · · · ·
  the other 27   · · ◆ ◆ · · · ·

  ◆ by role  ● by permission  ◈ by both
  a any  o own

? Create this key? (Y/n)`);
});

testAtTerminal("at 200 columns the summary is no wider than it has to be", { columns: 200 }, async (shell) => {
  expect(await showSummary(shell)).toBe(`\
  Name         new
  Description  x
  Roles        VIEWER
  Permissions  DOCKER:READ_ANY, DISK:UPDATE_OWN

                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DISK           ·   ·    ◆   ◆    ·   ●    ·   ·
  DOCKER         ·   ·    ◈   ◈    ·   ·    ·   ·
  the other 27   ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission  ◈ by both

? Create this key? (Y/n)`);
});

testAtTerminal("where the locale is not UTF-8 everything is ASCII", { env: { LC_ALL: "C" } }, async (shell) => {
  const screen = await showSummary(shell);
  expect(screen).toBe(`\
  Name         new
  Description  x
  Roles        VIEWER
  Permissions  DOCKER:READ_ANY, DISK:UPDATE_OWN

                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DISK           .   .    R   R    .   P    .   .
  DOCKER         .   .    B   B    .   .    .   .
  the other 27   .   .    R   R    .   .    .   .

  R by role  P by permission  B by both

? Create this key? (Y/n)`);
});

testAtTerminal("there are colours", {}, async (shell) => {
  await showSummary(shell);
  expect(await shell.terminal.styledScreen()).toContain("\x1b[32m✔");
});

for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
  testAtTerminal(`there are no colours with ${JSON.stringify(env)}`, { env }, async (shell) => {
    await showSummary(shell);
    const styled = await shell.terminal.styledScreen();
    expect(stripVTControlCharacters(styled)).toBe(styled);
  });
}

testAtTerminal("a closed pipe ends the help quietly", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --help | head -1");
  await terminal.press("Enter");
  expect(answer(await terminal.shows(/Usage[^$]*\$$/))).toBe("Usage: service-api apikey [--create | --delete]\n$");
});

if (build.kind === "built") Deno.test.afterAll(build.remove);
if (build.kind !== "built" || missing !== undefined) {
  const want = build.kind === "built" ? `${missing} on this machine` : `an executable: ${build.reason}`;
  Deno.test.ignore(`at a terminal: not run, for want of ${want}`, () => {});
}
