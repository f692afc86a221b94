/** Completions in the shells themselves, with the executable: a line is typed, Tab is pressed, the screen is read. */
import { expect } from "expect";
import { buildExecutable } from "./executable.ts";
import { asProcess, type Program, withEnv } from "./program.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { README } from "../readme.ts";
import { missingPrograms } from "../tools.ts";

interface Shell {
  readonly name: string;
  /** Starts it with the files of its home, which the command of the README has written. */
  readonly command: readonly string[];
  /** Whether it shows what the candidates mean. */
  readonly describes: boolean;
}

const SHELLS: readonly Shell[] = [
  { name: "bash", command: ["bash"], describes: false },
  { name: "zsh", command: ["zsh"], describes: true },
  { name: "fish", command: ["fish"], describes: true },
];

/** The line of the README that makes a shell complete. */
function installation(shell: string): string {
  const [, command] = new RegExp(`^\\| ${shell} +\\| \`(.*)\` +\\|$`, "m").exec(README) ?? [];
  if (command === undefined) throw new Error(`the README does not say how completions come into ${shell}`);
  return command;
}

/** A home with the program in its `bin` and keys in its `data`, in which the shells find their completions. */
async function makeHome(executable: string): Promise<string> {
  const home = await Deno.makeTempDir({ prefix: "service-api-completions-" });
  await Promise.all(["bin", "data", "empty", "certificates"].map((name) => Deno.mkdir(`${home}/${name}`)));
  await Deno.symlink(executable, `${home}/bin/service-api`);
  await Deno.writeTextFile(`${home}/certificates/our authority.pem`, "");
  await Promise.all([
    Deno.writeTextFile(`${home}/.bashrc`, "PS1='> '\n"),
    Deno.writeTextFile(`${home}/.zshrc`, "PROMPT='> '\n"),
    Deno.mkdir(`${home}/.config/fish`, { recursive: true }),
    Deno.mkdir(`${home}/.config/service-api`, { recursive: true }),
  ]);
  await Deno.writeTextFile(
    `${home}/.config/service-api/config.yaml`,
    "profiles:\n  staging:\n    timeout: 2s\n  production:\n    timeout: 3s\n",
    { mode: 0o600 },
  );
  await Deno.writeTextFile(
    `${home}/.config/fish/config.fish`,
    "function fish_prompt; echo '> '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n",
  );
  const env = environment(home);
  const program: Program = withEnv(asProcess(executable), env);
  for (const name of ["ci deploy", "Déploiement prod"]) {
    // deno-lint-ignore no-await-in-loop -- one after the other on one store
    await program(["apikey", "--create", "--name", name, "--roles", "VIEWER", "--description", "cron on db1"]);
  }
  for (const { name } of SHELLS) {
    // deno-lint-ignore no-await-in-loop -- one after the other in one home
    const { success } = await new Deno.Command("sh", { args: ["-c", installation(name)], env, clearEnv: true })
      .output();
    if (!success) throw new Error(`this does not work: ${installation(name)}`);
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

async function openShell({ command }: Shell, home: string, locale?: string): Promise<Terminal> {
  const terminal = await openTerminal(command, { env: environment(home, locale), cwd: home, columns: 100 });
  await terminal.shows(/^>$/m);
  return terminal;
}

/** A line, typed up to where Tab is pressed, and what it becomes. */
interface Press {
  readonly rule: string;
  readonly typed: string;
  readonly becomes: string;
}

const PRESSES: readonly Press[] = [
  { rule: "a command", typed: "service-api api", becomes: "service-api apikey" },
  { rule: "a flag", typed: "service-api apikey --cr", becomes: "service-api apikey --create" },
  {
    rule: "the role after a comma",
    typed: "service-api apikey --create --roles ADMIN,v",
    becomes: "service-api apikey --create --roles ADMIN,VIEWER",
  },
  {
    rule: "a resource with its colon",
    typed: "service-api apikey --create --permissions do",
    becomes: "service-api apikey --create --permissions DOCKER:",
  },
  {
    rule: "the action of a resource",
    typed: "service-api apikey --create --permissions DISK:READ_ANY,DOCKER:READ_O",
    becomes: "service-api apikey --create --permissions DISK:READ_ANY,DOCKER:READ_OWN",
  },
  {
    rule: "the value behind an equals sign",
    typed: "service-api apikey --create --permissions=DOCKER:UPDATE_A",
    becomes: "service-api apikey --create --permissions=DOCKER:UPDATE_ANY",
  },
  {
    rule: "a key name with a space",
    typed: "service-api apikey --delete --name c",
    becomes: "service-api apikey --delete --name ci\\ deploy",
  },
  {
    rule: "a key name with a space in quotation marks",
    typed: 'service-api apikey --delete --name "ci d',
    becomes: 'service-api apikey --delete --name "ci deploy"',
  },
  {
    rule: "a key name with a letter beyond ASCII",
    typed: "service-api apikey --delete --name D",
    becomes: "service-api apikey --delete --name Déploiement\\ prod",
  },
  {
    rule: "a profile",
    typed: "service-api apikey --create --profile st",
    becomes: "service-api apikey --create --profile staging",
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
  { rule: "a command after a path", typed: "~/bin/service-api ser", becomes: "~/bin/service-api serve" },
];

function testShell(shell: Shell, home: string): void {
  const { name } = shell;
  for (const { rule, typed, becomes } of PRESSES) {
    Deno.test(`${name}: Tab completes ${rule}`, async () => {
      await using terminal = await openShell(shell, home);
      await terminal.type(typed);
      await terminal.press("Tab");
      await terminal.shows(new RegExp(`^> ${RegExp.escape(becomes)}`, "m"));
    });
  }

  Deno.test(`${name}: what Tab makes of a name with a space is one argument`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --delete --data-dir ~/data --name c");
    await terminal.press("Tab");
    await terminal.shows(/--name ci\\ deploy/);
    await terminal.press("C-a");
    await terminal.type("printf '[%s]\\n' ");
    await terminal.press("Enter");
    await terminal.shows(/^\[ci deploy\]$/m);
  });

  Deno.test(`${name}: RESOURCE: goes on without a space`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --create --permissions do");
    await terminal.press("Tab");
    await terminal.shows(/DOCKER:$/m);
    await terminal.type("CREATE_A");
    await terminal.press("Tab");
    await terminal.shows(/DOCKER:CREATE_ANY$/m);
  });

  Deno.test(`${name}: Tab lists the roles that are left after a comma`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --create --roles ADMIN,");
    await terminal.press("Tab", "Tab");
    const screen = await terminal.shows(/ADMIN,CONNECT[\s\S]*ADMIN,GUEST/);
    expect(screen).not.toMatch(/ADMIN,ADMIN/);
    if (shell.describes) expect(screen).toMatch(/ADMIN,VIEWER\W+Read-only access/);
  });

  Deno.test(`${name}: a server that is away gives no name and no word of it`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --delete --base-url http://127.0.0.1:1 --name ");
    await terminal.press("Tab");
    await terminal.type("typed");
    expect(await terminal.shows(/typed/)).toBe(
      "> service-api apikey --delete --base-url http://127.0.0.1:1 --name typed",
    );
  });

  Deno.test(`${name}: pressing Tab makes no data`, async () => {
    await using terminal = await openShell(shell, home);
    await terminal.type("service-api apikey --delete --data-dir empty --name ");
    await terminal.press("Tab");
    await terminal.type("typed");
    await terminal.shows(/--name typed/);
    expect(await Array.fromAsync(Deno.readDir(`${home}/empty`))).toEqual([]);
  });

  Deno.test(`${name}: Tab completes without a locale too`, async () => {
    await using terminal = await openShell(shell, home, "C");
    await terminal.type("service-api apikey --delete --name c");
    await terminal.press("Tab");
    await terminal.shows(/--name ci\\ deploy/);
  });
}

const build = await buildExecutable();
const missing = missingPrograms(["tmux", ...SHELLS.map(({ name }) => name)]);
if (missing.includes("tmux")) {
  if (build.kind === "built") Deno.test.afterAll(build.remove);
  Deno.test.ignore("completions in the shells: not run, for want of tmux on this machine", () => {});
} else if (build.kind === "not built") {
  Deno.test.ignore(`completions in the shells: not run, for want of an executable: ${build.reason}`, () => {});
} else {
  const home = await makeHome(build.path);
  for (const shell of SHELLS) {
    if (!missing.includes(shell.name)) testShell(shell, home);
    else Deno.test.ignore(`completions in ${shell.name}: not run, for want of ${shell.name} on this machine`, () => {});
  }
  Deno.test.afterAll(async () => {
    await build.remove();
    await Deno.remove(home, { recursive: true });
  });
}
