/** The help pages, and the messages for invalid command lines. */
import { expect } from "expect";
import { stripVTControlCharacters } from "node:util";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import { ROLES } from "../../src/apikey/role.ts";
import deno from "../../deno.json" with { type: "json" };
import { MOST_USED_FLAGS } from "../../src/cli/help/most_used_flags.ts";
import { COMMANDS as PROGRAM_COMMANDS } from "../../src/cli/help/program_help.ts";
import { TOPICS } from "../../src/cli/help/topic_names.ts";
import { type SettingDeclaration, SETTINGS } from "../../src/cli/settings/table.ts";
import { EXIT_CODES } from "../../src/cli/exit_code.ts";
import { SUBCOMMANDS } from "../../src/cli/commands/apikey/subcommands.ts";
import { run } from "../../src/cli/program.ts";
import { FakeHost, inProcess } from "../program/program.ts";

const { stdout: PROGRAM_HELP } = await inProcess(["--help"]);
const COMMANDS = [
  ...PROGRAM_COMMANDS.map(([name]) => [name]),
  ...SUBCOMMANDS.map(([name]) => ["apikey", name]),
  ...["add", "list", "remove"].map((name) => ["resource", name]),
  ["store", "copy"],
];

Deno.test("the help of the program lists every command", () => {
  expect(COMMANDS).toEqual(expect.arrayContaining([["apikey"], ["request"], ["serve"], ["audit"]]));
  for (const [name, summary] of PROGRAM_COMMANDS) {
    expect(PROGRAM_HELP).toMatch(new RegExp(`^  ${name} +${summary}$`, "m"));
  }
});

for (const command of [[], ...COMMANDS]) {
  const name = ["service-api", ...command].join(" ");

  Deno.test(`${name} -h fits on a screen of 80 columns and 24 rows, and has two examples`, async () => {
    const { code, stdout, stderr } = await inProcess([...command, "-h"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    // The prompt of the shell is below the page.
    expect(lines.length).toBeLessThan(24);
    expect(stdout).toMatch(/^Usage: service-api/);
    const [, examples = ""] = /\nExamples:\n([^]*?)\n\n/.exec(stdout) ?? [];
    expect(examples.match(/service-api /g)).toHaveLength(2);
    expect(lines.at(-1)).toContain(`Everything else: ${name} --help`);
  });

  Deno.test(`${name} --help fits into 80 columns, and has examples, flags, server settings and the exit status in this order`, async () => {
    const { code, stdout, stderr } = await inProcess([...command, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    const titles = ["\nExamples:\n", "\n  -h, --help", "\nServer settings:\n", "\nExit status: 0 success"];
    const positions = titles.map((title) => stdout.indexOf(title)).filter((position) => position >= 0);
    expect(positions.length).toBeGreaterThan(2);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(stdout).toMatch(/130 interrupted\.\n$/);
  });
}

Deno.test("every flag in the table of most used flags is a flag of its command", async () => {
  const pages = await Promise.all(COMMANDS.map(async (command) => {
    const { stdout } = await inProcess([...command, "--help"]);
    return [["service-api", ...command].join(" "), stdout] as const;
  }));
  for (const [name, flags] of MOST_USED_FLAGS) {
    const page = new Map(pages).get(name) ?? "";
    expect([name, flags.filter((flag) => !new RegExp(`^ {2}${flag}\\b`, "m").test(page))]).toEqual([name, []]);
  }
});

Deno.test("a most used flag has one line, even if its description in --help is longer", async () => {
  const { stdout } = await inProcess(["serve", "-h"]);
  expect(stdout).toMatch(/^ {2}--tls-cert <pem> +PEM file with the certificate chain; enables HTTPS$/m);
  expect(stdout).not.toContain("[SERVICE_API_");
});

for (const command of COMMANDS) {
  Deno.test(`service-api ${command.join(" ")} --help breaks the descriptions of options only where the next word does not fit`, async () => {
    const { stdout } = await inProcess([...command, "--help"]);
    const column = /^ {2}-h, --help +/m.exec(stdout)?.[0].length ?? NaN;
    const indent = " ".repeat(column);
    const lines = stdout.split("\n");
    const isShort = (line: string, index: number): boolean => {
      const next = lines[index + 1] ?? "";
      const [word = ""] = next.slice(column).split(" ");
      // The variable begins a new line.
      return /^ {2}(-| {10})/.test(line) && next.startsWith(indent) && /^[^ []/.test(word) &&
        `${line} ${word}`.length <= 80;
    };
    expect(lines.filter(isShort)).toEqual([]);
  });
}

Deno.test("service-api help topics lists the topics, and service-api --help does so too", async () => {
  const { code, stdout } = await inProcess(["help", "topics"]);
  expect(code).toBe(0);
  for (const [name, summary] of TOPICS) {
    const line = new RegExp(`^  ${name} +${summary}$`, "m");
    expect(stdout).toMatch(line);
    expect(PROGRAM_HELP).toMatch(line);
  }
});

for (const [topic, summary] of TOPICS) {
  Deno.test(`service-api help ${topic} fits into 80 columns`, async () => {
    const { code, stdout, stderr } = await inProcess(["help", topic]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`${topic}: ${summary}\n\n`);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
}

Deno.test("service-api help exit-codes lists the code of every failure with its exit status", async () => {
  const { stdout } = await inProcess(["help", "exit-codes"]);
  let status = "";
  const listed = [...stdout.matchAll(/^(?: {2}[ \d]{3}| {5}) {2}([A-Z_]+) {2,}\S/gm)].map(([line, code]) => {
    status = /^ +(\d+)/.exec(line)?.[1] ?? status;
    return [code, Number(status)];
  });
  expect(Object.fromEntries(listed)).toEqual(EXIT_CODES);
});

Deno.test("service-api help rights lists the roles, resources and actions on one screen", async () => {
  const { stdout } = await inProcess(["help", "rights"]);
  const words = new Set(stdout.split(/[\s,]+/));
  expect([...ROLES, ...RESOURCES, ...ACTIONS].filter((word) => !words.has(word))).toEqual([]);
  expect(stdout.match(/^\S.*(?=:$)/gm)).toEqual(["Roles", "Resources", "Actions"]);
  expect(stdout).toContain("\n  VIEWER   READ_ANY on every resource\n");
  const lines = stdout.trimEnd().split("\n");
  expect(lines.length).toBeLessThan(24);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

Deno.test("service-api help settings lists the flag and the variable of every setting, and shows a config file", async () => {
  const { stdout } = await inProcess(["help", "settings"]);
  for (const { option, variable = "" } of Object.values<SettingDeclaration>(SETTINGS)) {
    expect(stdout).toContain(`  ${option}`);
    expect(stdout).toContain(variable);
  }
  expect(stdout).toContain("\n  profiles:\n");
});

Deno.test("service-api help environment lists every variable that the program may read for users", async () => {
  const { stdout } = await inProcess(["help", "environment"]);
  const [, list = ""] = /--allow-env=(\S+)/.exec(deno.tasks.start.command) ?? [];
  const variables = list.split(",").filter((name) => !OF_LIBRARIES.test(name) && name === name.toUpperCase());
  expect(variables).toContain("SERVICE_API_URL");
  expect(variables.filter((name) => !new RegExp(`\\b${name}\\b`).test(stdout))).toEqual([]);
});

/** Variables that a library reads at start, and that are not for users. */
const OF_LIBRARIES = /^(NODE_ENV|LOG_STREAM|LOG_TOKENS|OTEL_DENO|DENO_.*|PGBINARY|PGSSL.*|PGCLIENT.*|PGREPLICATION)$/;

Deno.test("service-api help json shows a result of every command that has --json", async () => {
  const { stdout } = await inProcess(["help", "json"]);
  const members = [
    "key",
    "deleted",
    "failed",
    "keys",
    "active",
    "created",
    "permissions",
    "resources",
    "auditEvents",
    "events",
  ];
  expect(members.filter((member) => !stdout.includes(`{"${member}":`) && !stdout.includes(`"${member}"`))).toEqual([]);
});

Deno.test("apikey --help lists roles, resources, actions, rights, results, examples and variables", async () => {
  const { stdout } = await inProcess(["apikey", "--help"]);
  const words = new Set(stdout.split(/[\s,]+/));
  expect([...ROLES, ...RESOURCES, ...ACTIONS].filter((word) => !words.has(word))).toEqual([]);
  const titles = stdout.match(/^\S.*(?=:$)/gm);
  expect(titles).toEqual(expect.arrayContaining(["Name", "Roles", "Rights", "Prompting", "Results", "Examples"]));
  expect(SUBCOMMANDS.filter(([name]) => !new RegExp(`^  ${name} {3}`, "m").test(stdout))).toEqual([]);
  expect(stdout).toContain("[SERVICE_API_URL]");
});

Deno.test("without a command, service-api prints the short help on standard error", async () => {
  const { stdout: short } = await inProcess(["-h"]);
  expect(await inProcess([])).toEqual({ code: 2, stdout: "", stderr: short });
});

Deno.test("the titles in the help are bold only at a terminal", async () => {
  const host = new FakeHost(["--help"]);
  host.stdout.isTerminal = () => true;
  await run(host);
  expect(host.stdout.text).toContain("\x1b[1mCommands:\x1b[22m\n");
  expect(stripVTControlCharacters(host.stdout.text)).toBe(PROGRAM_HELP);
  expect(PROGRAM_HELP).not.toContain("\x1b");
});

for (
  const [args, message] of [
    [["--create"], /Did you mean service-api apikey --create\? See service-api --help\.$/],
    [["create"], /Did you mean service-api apikey --create\?/],
    [["apikeys"], /Unknown command "apikeys"\. Did you mean service-api apikey\?/],
    [["apikey", "creat"], /^service-api: Unexpected argument "creat"\. Did you mean service-api apikey create\?/],
    [["apikey", "--create", "delete"], /Unexpected argument "delete"\. Did you mean --delete\?/],
    [["apikey", "create", "--delete"], /Unknown option "--delete"\..* See service-api apikey create --help\.$/],
    [
      ["apikey", "--create", "--name", "ci", "deploy"],
      /Unexpected argument "deploy"\. Quote a value that contains spaces\./,
    ],
    [
      ["apikey", "--create", "ci five"],
      /"ci five"\. Write --name 'ci five', or use service-api apikey create 'ci five'\. /,
    ],
    [["apikey", "--delete", "ci"], /Write --name ci, or use service-api apikey delete ci\. /],
    [["apikey", "--delete", "--name", "ci", "ci five"], /Unexpected argument "ci five"\. See service-api/],
    [["apikey", "--rotate", "ci"], /Unknown option "--rotate"\. Did you mean service-api apikey rotate\? /],
    [["apikey", "list", "--never-used"], /Unknown option "--never-used"\. --unused 90d includes keys that were never/],
    [["help", "confg"], /There is no help for "confg"\. Did you mean service-api help config\?/],
    [["help", "exitcodes"], /There is no help for "exitcodes"\. Did you mean service-api help exit-codes\?/],
    [["help", "frobnicate"], /There is no help for "frobnicate"\. The topics are exit-codes, .*, environment\. See/],
    [["environment"], /Did you mean service-api help environment\?/],
    [["keys", "--help"], /Unknown command "keys"\. Did you mean service-api apikey\? See service-api --help\.$/],
    [["xyzzy"], /Unknown command "xyzzy"\. The commands are apikey, /],
    [["-v"], /Did you mean --version\?/],
    [["ls"], /Unknown command "ls"\. Did you mean service-api apikey list\?/],
    [["list"], /Did you mean service-api apikey list\?/],
    [["rm", "ci"], /Did you mean service-api apikey delete\?/],
    [["revoke", "ci"], /Did you mean service-api apikey delete\?/],
    [["new", "ci"], /Did you mean service-api apikey create\?/],
    [["whoami"], /Did you mean service-api apikey verify\?/],
    [["profile", "list"], /Did you mean service-api config\?/],
    [["key"], /Did you mean service-api apikey\?/],
    [["token"], /Did you mean service-api apikey\?/],
    [["versoin"], /Did you mean service-api --version\?/],
    [["remvoe", "ci"], /Did you mean service-api apikey delete\?/],
    [["version"], /Did you mean service-api --version\?/],
    [["rotaet", "ci"], /Did you mean service-api apikey rotate\?/],
    [["frobnicate"], /"frobnicate"\. The commands are apikey, request, .*, completions\. See service-api --help\.$/],
    [["apikey", "ls"], /Did you mean service-api apikey list\?/],
    [["apikey", "disable", "ci"], /Did you mean service-api apikey update <name> --disable\?/],
    [["apikey", "request"], /Did you mean service-api request\?/],
    [["apikey", "lst", "--role", "ADMIN"], /Unexpected argument "lst"\. Did you mean service-api apikey list\?/],
    [["resource", "frobnicate"], /The commands of resource are add, list, remove\. See service-api resource --help\.$/],
    [["apikey", "frobnicate"], /"frobnicate"\. The commands of apikey are create, delete, .*, apply\. See/],
    [["apikey", "--frobnicate"], /Unknown option "--frobnicate"\. See service-api apikey --help\.$/],
    [["login", "staging"], /Unexpected argument "staging"\. Did you mean --profile staging\?/],
    [["audit", "ci deploy"], /Unexpected argument "ci deploy"\. To print only the events of one key, use --key\./],
    [["apikey", "update", "ci", "--new-name", "cd"], /Unknown option "--new-name"\. Did you mean --rename\?/],
    [["apikey", "rotate", "ci", "--grace-period", "1h"], /Unknown option "--grace-period"\. Did you mean --grace\?/],
    [["store", "copy", "--to", "x"], /Unknown option "--to"\. Did you mean --database-url or --data-dir\?/],
    [
      ["apikey", "update", "ci", "--name", "cd"],
      /The name was given twice\..* The flag for the new name is --rename\./,
    ],
    [["logout", "staging"], /Did you mean --profile staging\? See/],
    [["config", "staging"], /Did you mean --profile staging\? See/],
    [["login", "http://127.0.0.1:23400"], /"\. Did you mean --base-url http:\/\/127\.0\.0\.1:23400\? See/],
    [["login", "localhost"], /Did you mean --base-url localhost\? See/],
    [["logout", "http://127.0.0.1:23400"], /"\. To select a profile, use --profile\. See/],
    [["login", "staging", "http://127.0.0.1:23400"], /"staging"\. To select a profile, use --profile\. See/],
    [["config", "use", "staging"], /"use"\. config only prints .* To use another profile by default, set SERVICE_API/],
    [["config", "set", "profile", "staging"], /"set"\. config only prints .* by default, set SERVICE_API_PROFILE/],
    [["config", "profile", "staging"], /"profile"\. config only prints .* by default, set SERVICE_API_PROFILE/],
    [["config", "default"], /"default"\. config only prints .* by default, set SERVICE_API_PROFILE/],
    [["profile", "use", "staging"], /Did you mean service-api config\? To use another profile by default, set/],
    [["apikey", "list", "ci"], /Unexpected argument "ci"\. To select keys by name, use --match\./],
    [
      ["apikey", "verify", "ci"],
      /Unexpected argument "ci"\. The key to verify comes from --key-file or SERVICE_API_KEY\./,
    ],
    [["store", "copy", "old"], /Unexpected argument "old"\. The store to copy comes from --from\./],
    [["migrate"], /Did you mean service-api store copy\?/],
    [["completions", "bash", "extra"], /Unexpected argument "extra"/],
    [["apikey", "--crate"], /Unknown option "--crate"\. Did you mean --create\? See service-api apikey --help\.$/],
    [["apikey", "--role=ADMIN"], /Unknown option "--role"\. Did you mean --roles\?/],
    [
      ["needs"],
      /The argument <document> is missing\. Pass a GraphQL document, @file, or - .*\. See service-api needs --help\.$/,
    ],
    [
      ["needs", "--query", "{ me { id } }"],
      /Unknown option "--query"\. Write the document without a flag: .* needs '\{/,
    ],
    [["serve", "--prot", "1"], /Unknown option "--prot"\. Did you mean --port\?/],
    [["apikey", "--create", "--name"], /--name <name> needs a value\. See service-api apikey --help\.$/],
  ] as const
) {
  Deno.test(`service-api ${args.join(" ")} is a usage error, and the message helps to correct it`, async () => {
    const { code, stdout, stderr } = await inProcess(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trimEnd()).toMatch(message);
  });
}

Deno.test("service-api help with a subcommand prints the help of the subcommand", async () => {
  expect(await inProcess(["help", "apikey", "create"])).toEqual(await inProcess(["apikey", "create", "--help"]));
  expect(await inProcess(["help", "resource", "add"])).toEqual(await inProcess(["resource", "add", "--help"]));
  expect(await inProcess(["help", "serve"])).toEqual(await inProcess(["serve", "--help"]));
  expect(await inProcess(["help"])).toEqual(await inProcess(["--help"]));
});

for (
  const [args, flag] of [
    [["apikey", "--create", "--description", "a", "--description", "b"], "--description"],
    [["apikey", "list", "--role", "ADMIN", "--role", "GUEST"], "--role"],
    [["apikey", "rotate", "ci", "--grace", "1h", "--grace", "2h"], "--grace"],
    [["serve", "--port", "1", "--port=2"], "--port"],
    [["config", "--profile", "a", "--profile", "b"], "--profile"],
  ] as const
) {
  Deno.test(`service-api ${args.join(" ")} is refused, because ${flag} takes one value`, async () => {
    expect(await inProcess(args)).toEqual({
      code: 2,
      stdout: "",
      stderr: `service-api: ${flag} was given twice. Use it only once.\n`,
    });
  });
}
