/** Completions of the executable in real shells. The tests type a line, press Tab and read the screen. */
import { expect } from "expect";
import { listedKeys, startKeyServer } from "../cli/commands/apikey/key_server.ts";
import { buildExecutable } from "./executable.ts";
import { asProcess, type Program, withEnv } from "./program.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { command } from "../execute.ts";
import { missingPrograms } from "../tools.ts";

interface Shell {
  readonly name: string;
  /** Starts the shell, which reads its configuration from the home directory. */
  readonly command: readonly string[];
  /** Whether the shell shows descriptions. */
  readonly describes: boolean;
}

const SHELLS: readonly Shell[] = [
  { name: "bash", command: ["bash"], describes: false },
  { name: "zsh", command: ["zsh"], describes: true },
  { name: "fish", command: ["fish"], describes: true },
];

/** The commands in the help that install the completion script for a shell. */
function installCommands(shell: string, help: string): string {
  const [, first, rest] = new RegExp(`^  ${shell} +(.*)\\n((?: {14}.*\\n)*)`, "m").exec(help) ?? [];
  if (first === undefined) throw new Error(`the help does not say how to install the script for ${shell}`);
  return `${first}\n${rest}`;
}

/** Creates a home directory with the executable, keys, shell configurations and installed completion scripts. */
async function makeHome(executable: string): Promise<string> {
  const home = await Deno.makeTempDir({ prefix: "service-api-completions-" });
  await Promise.all(["bin", "data", "certificates"].map((name) => Deno.mkdir(`${home}/${name}`)));
  await Deno.symlink(executable, `${home}/bin/service-api`);
  await Deno.writeTextFile(`${home}/certificates/our authority.pem`, "");
  await Promise.all([
    Deno.writeTextFile(`${home}/.bashrc`, "PS1='> '\n"),
    Deno.writeTextFile(`${home}/.zshrc`, "PROMPT='> '\n"),
    Deno.mkdir(`${home}/.config/fish`, { recursive: true }),
  ]);
  await Deno.writeTextFile(
    `${home}/.config/fish/config.fish`,
    "function fish_prompt; echo '> '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n",
  );
  const env = environment(home);
  const program: Program = withEnv(asProcess(executable), env);
  for (const name of ["ci deploy", "Déploiement prod"]) {
    // deno-lint-ignore no-await-in-loop -- one key at a time in one store
    await program(["apikey", "--create", "--name", name, "--roles", "VIEWER", "--description", "cron on db1"]);
  }
  const { stdout: help } = await program(["completions", "--help"]);
  for (const { name } of SHELLS) {
    const commands = installCommands(name, help);
    // deno-lint-ignore no-await-in-loop -- one shell at a time
    await command("sh", ["-c", commands], { env, clearEnv: true });
  }
  return home;
}

function environment(home: string, locale = "C.UTF-8"): Readonly<Record<string, string>> {
  return {
    HOME: home,
    PATH: `${home}/bin:${Deno.env.get("PATH")}`,
    LC_ALL: locale,
    SERVICE_API_DATA_DIR: `${home}/data`,
  };
}

async function openShell({ command: program }: Shell, home: string, locale?: string): Promise<Terminal> {
  const terminal = await openTerminal(program, { env: environment(home, locale), cwd: home, columns: 100 });
  await terminal.shows(/^>$/m);
  return terminal;
}

/**
 * Presses keys until the screen matches. Names and ids of keys are offered only if the store answers within 1 s, which a
 * busy machine may miss. A user would press Tab again.
 */
async function fetches(terminal: Terminal, pattern: RegExp, ...keys: readonly string[]): Promise<string> {
  await terminal.press(...keys);
  return await terminal.shows(pattern, ...keys);
}

/** A typed line, and the same line after Tab is pressed. */
interface Press {
  readonly rule: string;
  readonly typed: string;
  readonly becomes: string;
  /** Whether the completion comes from the store. */
  readonly isFetched?: true;
}

const PRESSES: readonly Press[] = [
  { rule: "a flag", typed: "service-api apikey --cr", becomes: "service-api apikey --create" },
  {
    rule: "the role after a comma",
    typed: "service-api apikey --create --roles ADMIN,v",
    becomes: "service-api apikey --create --roles ADMIN,VIEWER",
  },
  {
    rule: "the action of a resource",
    typed: "service-api apikey --create --permissions DISK:READ_ANY,DOCKER:READ_O",
    becomes: "service-api apikey --create --permissions DISK:READ_ANY,DOCKER:READ_OWN",
  },
  {
    rule: "a value after an equals sign",
    typed: "service-api apikey --create --permissions=DOCKER:UPDATE_A",
    becomes: "service-api apikey --create --permissions=DOCKER:UPDATE_ANY",
  },
  {
    rule: "a key name with a space",
    typed: "service-api apikey --delete --name c",
    becomes: "service-api apikey --delete --name ci\\ deploy",
    isFetched: true,
  },
  {
    rule: "a key name with a space in quotation marks",
    typed: 'service-api apikey --delete --name "ci d',
    becomes: 'service-api apikey --delete --name "ci deploy"',
    isFetched: true,
  },
  {
    rule: "a key name with a non-ASCII letter",
    typed: "service-api apikey --delete --name D",
    becomes: "service-api apikey --delete --name Déploiement\\ prod",
    isFetched: true,
  },
  {
    rule: "the action of a wildcard",
    typed: "service-api apikey --create --permissions DISK:READ_ANY,\\*:READ_A",
    becomes: "service-api apikey --create --permissions DISK:READ_ANY,\\*:READ_ANY",
  },
  {
    rule: "the order of a list",
    typed: "service-api apikey list --sort ex",
    becomes: "service-api apikey list --sort expires",
  },
  {
    rule: "a file with a space",
    typed: "service-api apikey --ca-file certificates/o",
    becomes: "service-api apikey --ca-file certificates/our\\ authority.pem",
  },
  {
    rule: "a directory",
    typed: "service-api serve --data-dir cert",
    becomes: "service-api serve --data-dir certificates/",
  },
  {
    rule: "a command after the path of the program",
    typed: "~/bin/service-api ser",
    becomes: "~/bin/service-api serve",
  },
];

function testShell(shell: Shell, home: string): void {
  const { name } = shell;
  for (const { rule, typed, becomes, isFetched } of PRESSES) {
    Deno.test(`${name}: Tab completes ${rule}`, async () => {
      await using terminal = await openShell(shell, home);
      await terminal.type(typed);
      const completed = new RegExp(`^> ${RegExp.escape(becomes)}`, "m");
      if (isFetched) return void await fetches(terminal, completed, "Tab");
      await terminal.press("Tab");
      await terminal.shows(completed);
    });
  }

  Deno.test(`${name}: a completed key name with a space is one argument`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --delete --data-dir ~/data --name c");
    await fetches(terminal, /--name ci\\ deploy/, "Tab");
    await terminal.press("C-a");
    await terminal.type("printf '[%s]\\n' ");
    await terminal.press("Enter");
    await terminal.shows(/^\[ci deploy\]$/m);
  });

  Deno.test(`${name}: a completed key name with a quotation mark is one argument`, async () => {
    await using server = startKeyServer(listedKeys(["it's old"]));
    await using terminal = await openShell(shell, home);
    await terminal.type(`service-api apikey --delete --base-url ${server.url} --name i`);
    await fetches(terminal, /--name \S*it\S+s\b/, "Tab");
    await terminal.press("C-a");
    await terminal.type("printf '[%s]\\n' ");
    await terminal.press("Enter");
    await terminal.shows(/^\[it's old\]$/m);
  });

  Deno.test(`${name}: Tab adds no space after RESOURCE:`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --create --permissions do");
    await terminal.press("Tab");
    await terminal.shows(/DOCKER:$/m);
    await terminal.type("CREATE_A");
    await terminal.press("Tab");
    await terminal.shows(/DOCKER:CREATE_ANY$/m);
  });

  Deno.test(`${name}: Tab lists the other roles after a role and a comma`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --create --roles ADMIN,");
    await terminal.press("Tab", "Tab");
    const screen = await terminal.shows(/ADMIN,CONNECT[\s\S]*ADMIN,GUEST/);
    expect(screen).not.toMatch(/ADMIN,ADMIN/);
    if (shell.describes) expect(screen).toMatch(/ADMIN,VIEWER\W+Read-only access/);
  });

  Deno.test(`${name}: Tab lists the ids of keys`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey show --id key_");
    const screen = await fetches(terminal, /key_\w{22}[\s\S]*key_\w{22}/, "Tab", "Tab");
    if (shell.describes) {
      for (const described of ["ci deploy", "Déploiement prod"]) expect(screen).toContain(described);
    }
  });

  Deno.test(`${name}: Tab offers no key names and prints no message if the server is unreachable`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --delete --base-url http://127.0.0.1:1 --name ");
    await terminal.press("Tab");
    await terminal.type("typed");
    expect(await terminal.shows(/typed/)).toBe(
      "> service-api apikey --delete --base-url http://127.0.0.1:1 --name typed",
    );
  });

  Deno.test(`${name}: Tab completes without a UTF-8 locale`, async () => {
    await using terminal = await openShell(shell, home, "C");
    await terminal.type("service-api apikey --delete --name c");
    await fetches(terminal, /--name ci\\ deploy/, "Tab");
  });
}

const build = await buildExecutable();
const missing = missingPrograms(["tmux", ...SHELLS.map(({ name }) => name)]);
if (missing.includes("tmux")) {
  Deno.test.ignore("completions in the shells (skipped: tmux is not installed)", () => {});
} else if (build.kind === "not built") {
  Deno.test.ignore(`completions in the shells (skipped: the executable was not built: ${build.reason})`, () => {});
} else {
  const home = await makeHome(build.path);
  for (const shell of SHELLS) {
    if (!missing.includes(shell.name)) testShell(shell, home);
    else Deno.test.ignore(`completions in ${shell.name} (skipped: ${shell.name} is not installed)`, () => {});
  }
  Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));
}
