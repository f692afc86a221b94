/** The executable at a real terminal (tmux). The tests in `tests/cli/` cover widths, colours and every prompt. */
import { expect } from "expect";
import { buildExecutable } from "./executable.ts";
import { asProcess, type Program, withEnv } from "./program.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";
import { belowTarget } from "./terminal_host.ts";
import { denoDirectory } from "./from_sources.ts";
import { missingPrograms, testWith } from "../tools.ts";

const build = await buildExecutable();
const [missing] = missingPrograms(["tmux"]);

interface AtShell {
  /** A terminal that runs a shell in a directory that contains `service-api`. */
  readonly terminal: Terminal;
  /** The executable without a terminal, with the same store. */
  readonly program: Program;
}

/** Opens a shell with its own store. */
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

/** The screen below the last command line, with fixed text in place of ids, secrets and dates. */
function outputOf(screen: string): string {
  const lines = screen.split("\n");
  const start = lines.findLastIndex((line) => line.startsWith("$ ./") || line.startsWith("$ KEY="));
  const output = lines.slice(start + 1).join("\n");
  return (output.startsWith("Using ") ? belowTarget(output) : output).replaceAll(/key_\w+/g, "key_…").replaceAll(
    /sak_\w+/g,
    "sak_…",
  )
    .replaceAll(/\d{4}-\d\d-\d\d/g, "2026-11-20");
}

function testAtTerminal(rule: string, options: TerminalOptions, use: (shell: AtShell) => Promise<void>): void {
  if (build.kind !== "built" || missing !== undefined) return;
  Deno.test(`at a terminal: ${rule}`, () => withShell(options, build.path, use));
}

testAtTerminal(
  "a shell variable can store the secret of a key that is created with prompts",
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
    await terminal.shows(/Roles: █/);
    await terminal.press("Down", "Down", "Space", "Enter");
    await terminal.shows(/Permissions: █/);
    await terminal.type("docker:update");
    await terminal.press("Tab");
    expect(outputOf(await terminal.shows(/\(1 of \d+ selected/))).toBe(`\
✔ Name: ci deploy
✔ Description: for the pipeline
✔ Roles: VIEWER
? Permissions: docker:update█ (1 of 232 selected)
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  the one shown            ·   ·    ◆   ◆    ●   ○    ·   ·
❯ DOCKER                   ·   ·    ◆   ◆   [●]  ○    ·   ·
  DOCKER:UPDATE_ANY
  ◆ by role  ● selected  ◈ both  ○ included in ANY  ◐ some
  space to select · enter to confirm · esc to clear · ? help`);
    await terminal.press("Enter");
    await terminal.shows(/Create this key/);
    await terminal.press("y");
    expect(outputOf(await terminal.shows(/^status.*\n\$$/m))).toMatch(
      /\n✔ Create this key\? yes\nCreated API key "ci deploy" \(key_…\)\.\n[^]*\nstatus 0 with 53 characters\n\$$/,
    );
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

testAtTerminal("keys selected from a list are deleted", {}, async ({ terminal, program }) => {
  for (const name of ["ci deploy", "nightly backup", "ci test"]) {
    // deno-lint-ignore no-await-in-loop -- creates them in this order
    await program(["apikey", "--create", "--name", name, "--roles", "VIEWER", "--description", `of ${name}`]);
  }
  await terminal.type("./service-api apikey");
  await terminal.press("Enter");
  expect(outputOf(await terminal.shows(/Delete keys/))).toBe(`\
? What do you want to do?
❯ Create a key  prints its secret once
  List keys     rights and last use
  Show a key    all but its secret
  Update a key  name, rights or state
  Rotate a key  issues a new secret
  Delete keys   selected from a list
  enter to select · arrows to move · ? help`);
  await terminal.press("Up", "Enter");
  await terminal.shows(/Keys to delete/);
  await terminal.type("ci ");
  await terminal.press("Tab", "Down", "Tab");
  expect(outputOf(await terminal.shows(/\(2 of \d+ selected/))).toBe(`\
✔ What do you want to do? Delete keys
? Keys to delete: ci █ (2 of 3 selected, 2 shown)
  ◉ ci deploy       VIEWER  never used  created 2026-11-20  of ci deploy
❯ ◉ ci test         VIEWER  never used  created 2026-11-20  of ci test
  tab to select · enter to confirm · esc to clear · ? help`);
  await terminal.press("Enter");
  await terminal.shows(/\(y\/N\/e\)/);
  await terminal.press("y");
  expect(outputOf(await terminal.shows(/Successfully[^$]*\n\$$/))).toBe(`\
✔ What do you want to do? Delete keys
✔ Keys to delete: ci deploy, ci test

  Keys         ci deploy  VIEWER  never used  created 2026-11-20  of ci deploy
               ci test    VIEWER  never used  created 2026-11-20  of ci test

✔ Delete 2 keys? Their secrets stop working immediately. yes
Successfully deleted 2 API keys
  ci deploy (key_…)
  ci test (key_…)
$`);
});

testAtTerminal("a pasted name with a space filters the list and selects nothing", {}, async ({ terminal, program }) => {
  for (const name of ["ci build", "ci deploy"]) {
    // deno-lint-ignore no-await-in-loop -- creates them in this order
    await program(["apikey", "--create", "--name", name, "--roles", "VIEWER"]);
  }
  await terminal.type("./service-api apikey --delete");
  await terminal.press("Enter");
  await terminal.shows(/Keys to delete/);
  await terminal.paste(" ci\tdeploy\n");
  expect(outputOf(await terminal.shows(/deploy █/))).toBe(`\
? Keys to delete: ci deploy █ (0 of 2 selected, 1 shown)
❯ ◯ ci deploy  VIEWER  never used  created 2026-11-20
  tab to select · enter to confirm · esc to clear · ? help`);
  await terminal.press("Tab", "Enter");
  await terminal.shows(/Delete the key "ci deploy"\?/);
  await terminal.type("y");
  await terminal.shows(/Successfully deleted 1 API key/);
  const { stdout } = await program(["request", "--query", "{ apiKeys { name } }"]);
  expect(JSON.parse(stdout).data.apiKeys).toEqual([{ name: "ci build" }]);
});

testAtTerminal("Ctrl-C creates nothing and restores the terminal", {}, async ({ terminal, program }) => {
  await terminal.type("stty -a > before");
  await terminal.press("Enter");
  await terminal.type("./service-api apikey --create --name new");
  await terminal.press("Enter");
  await terminal.shows(/Description: █/);
  await terminal.press("Enter");
  await terminal.shows(/Roles: █/);
  await terminal.press("C-c");
  await terminal.shows(/Interrupted/);
  await terminal.type("echo status $?; stty -a | cmp - before && echo restored");
  await terminal.press("Enter");
  const screen = await terminal.shows(/^restored$/m);
  expect(screen).toContain("✖ Roles: cancelled\nservice-api: Interrupted. Nothing was changed.\n");
  expect(screen).toContain("\nstatus 130\n");
  expect((await program(["apikey", "--delete", "--name", "new"])).stdout).toBe("No API keys found to delete\n");
});

testAtTerminal("Ctrl-Z suspends a prompt, and fg shows it again with what was typed", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --create");
  await terminal.press("Enter");
  await terminal.shows(/Name: █/);
  await terminal.type("ci");
  await terminal.shows(/Name: ci█/);
  await terminal.press("C-z");
  await terminal.shows(/Stopped[^]*\n\$$/);
  await terminal.type("fg");
  await terminal.press("Enter");
  await terminal.shows(/^Using [^$]*\n\? Name: ci█/);
  await terminal.type(" deploy");
  await terminal.press("Enter");
  await terminal.shows(/✔ Name: ci deploy/);
  await terminal.press("C-c");
  await terminal.shows(/Interrupted/);
});

testAtTerminal("a prompt is drawn again when the window is resized", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey");
  await terminal.press("Enter");
  await terminal.shows(/to select · arrows to move · /);
  await terminal.resize(40, 15);
  await terminal.shows(/ {2}enter select · arrows move · \? help$/);
  await terminal.resize(80, 24);
  expect(await terminal.shows(/to select · arrows to move · /)).not.toContain("enter select");
});

testAtTerminal("answers can be typed ahead, but not the confirmation", { rows: 50 }, async ({ terminal, program }) => {
  await terminal.type("./service-api apikey --create");
  await terminal.press("Enter");
  await terminal.shows(/Name: █/);
  await terminal.type("ahead\rof its time\rguest\t\rme:read_o\t\ryy\r");
  expect(outputOf(await terminal.shows(/Create this key/))).toMatch(
    /^✔ Name: ahead\n✔ Description: of its time\n✔ Roles: GUEST\n✔ Permissions: ME:READ_OWN\n[^]*\? Create this key\? \(Y\/n\/e\)\n.*$/,
  );
  await terminal.press("n");
  await terminal.shows(/What do you want to do/);
  await terminal.press("Enter");
  await terminal.shows(/Nothing was created/);
  expect((await program(["apikey", "--delete", "--name", "ahead"])).stdout).toBe("No API keys found to delete\n");
});

testAtTerminal("pasted lines stay in one prompt and do not answer it", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --create --name new");
  await terminal.press("Enter");
  await terminal.shows(/Description: █/);
  await terminal.paste("one\ntwo\r\n\ny\n");
  expect(outputOf(await terminal.shows(/two +y █/))).toBe(
    "? Description: one two   y █\n  what the key is for (optional)",
  );
  await terminal.press("C-c");
  await terminal.shows(/Interrupted/);
});

testAtTerminal(
  "a thousand pasted characters appear, and need less than 5 seconds of CPU time",
  { env: { TIMEFORMAT: "CPU time: %U" } },
  async ({ terminal }) => {
    await terminal.type("time ./service-api apikey --create --name new");
    await terminal.press("Enter");
    await terminal.shows(/Description: █/);
    await terminal.paste(`${"many words ".repeat(95)}end`);
    await terminal.shows(/….*end█/s);
    await terminal.press("C-c");
    const screen = await terminal.shows(/CPU time: /);
    // Other processes do not add to this time.
    expect(Number(/CPU time: (\d+\.\d+)/.exec(screen)?.[1])).toBeLessThan(5);
  },
);

testAtTerminal(
  "every prompt of --create works in a window of 12 columns",
  { columns: 12, rows: 40 },
  async ({ terminal }) => {
    await terminal.type("./service-api apikey --create");
    await terminal.press("Enter");
    await terminal.shows(/Name: █/);
    await terminal.type("new\r");
    await terminal.shows(/Description:\s+█/);
    await terminal.press("Enter");
    await terminal.shows(/Roles: █/);
    await terminal.press("Space", "Enter");
    await terminal.shows(/ACTI/);
    await terminal.press("Enter");
    await terminal.shows(/Create\s+this/);
    await terminal.press("C-c");
    await terminal.shows(/cancelled/);
  },
);

testAtTerminal(
  "if the locale is not UTF-8, prompts are ASCII but still have colours",
  { env: { LC_ALL: "C" } },
  async ({ terminal }) => {
    await terminal.type("./service-api apikey --create --roles viewer --permissions docker:read_any --description x");
    await terminal.press("Enter");
    await terminal.shows(/Name: _/);
    await terminal.type("new");
    await terminal.press("Enter");
    const screen = await terminal.shows(/Create this key\?/);
    expect(screen).toContain("R by role  B by both");
    expect(screen).toMatch(/^[ -~\n]+$/);
    expect(await terminal.styledScreen()).toContain("\x1b[36m?");
  },
);

testAtTerminal("--help prints no error if the reader closes the pipe", {}, async ({ terminal }) => {
  await terminal.type("./service-api apikey --help | head -1");
  await terminal.press("Enter");
  expect(outputOf(await terminal.shows(/Usage[^$]*\$$/))).toBe(
    "Usage: service-api apikey --create [--name <name>] [options]\n$",
  );
});

if (build.kind !== "built" || missing !== undefined) {
  const reason = build.kind === "built"
    ? `${missing} is not installed`
    : `the executable was not built: ${build.reason}`;
  Deno.test.ignore(`the executable at a terminal (skipped: ${reason})`, () => {});
}

testAtTerminal(
  "with TERM=dumb, questions are plain lines, which the terminal itself edits",
  { env: { TERM: "dumb" }, rows: 60 },
  async ({ terminal, program }) => {
    await terminal.type("./service-api apikey --create --roles VIEWER --description test");
    await terminal.press("Enter");
    await terminal.shows(/^Name \[.*\]:$/m);
    await terminal.type("ci-deploy");
    await terminal.press("Enter");
    await terminal.shows(/contains "-"[^]*\nName:$/);
    await terminal.type("ci deployé");
    await terminal.press("BSpace", "Enter");
    await terminal.shows(/\nPermissions \[[^]*\]:$/);
    // The terminal suspends the program, because the keys are not read one by one.
    await terminal.press("C-z");
    await terminal.shows(/Stopped[^]*\n\$$/);
    await terminal.type("fg");
    await terminal.press("Enter");
    await terminal.type("vms:*, *:create_own");
    await terminal.press("Enter");
    await terminal.shows(/\nCreate this key\? \(Y\/n.*\) \[.*\]$/);
    await terminal.press("Enter");
    await terminal.shows(/^sak_.*[^]*\n\$$/m);
    const { stdout } = await program(["apikey", "show", "--name", "ci deploy", "--json"]);
    expect(JSON.parse(stdout).permissions).toHaveLength(8 + 28);
  },
);

for (const command of ["./service-api login --plain", "env -u TERM ./service-api login"]) {
  testAtTerminal(`${command} does not show the secret, and Ctrl-C restores the terminal`, {}, async ({ terminal }) => {
    await terminal.type("stty -a > before");
    await terminal.press("Enter");
    await terminal.type(`${command} --base-url http://127.0.0.1:1 --config config.yaml`);
    await terminal.press("Enter");
    await terminal.shows(/\nAPI key \[[^]*\]:$/);
    await terminal.type("top secret");
    await terminal.press("C-c");
    expect(await terminal.shows(/\nservice-api: Interrupted[^]*\n\$$/)).not.toContain("top secret");
    await terminal.type("stty -a | cmp - before && echo restored");
    await terminal.press("Enter");
    await terminal.shows(/^restored$/m);
  });
}

testWith(
  ["tmux"],
  "at a terminal, Ctrl-Z changes nothing if deno task runs the program, and Ctrl-C ends it",
  async () => {
    const project = new URL("../../", import.meta.url).pathname;
    const start = [Deno.execPath(), "task", "--quiet", "start", "apikey", "--create"];
    await using terminal = await openTerminal(["bash", "--norc", "--noprofile"], {
      cwd: project,
      env: { PS1: "$ ", DENO_DIR: await denoDirectory(), SERVICE_API_DATA_DIR: "/nonexistent" },
    });
    await terminal.shows(/^\$$/);
    await terminal.type(start.join(" "));
    await terminal.press("Enter");
    await terminal.shows(/Name: █/);
    await terminal.press("C-z");
    await terminal.type("ci");
    await terminal.shows(/Name: ci█/);
    await terminal.press("C-c");
    await terminal.shows(/Interrupted\. Nothing was changed\.\n\$$/);
  },
);
