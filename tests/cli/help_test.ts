/** The help pages, and the messages for invalid command lines. */
import { expect } from "expect";
import { stripVTControlCharacters } from "node:util";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import { ROLES } from "../../src/apikey/role.ts";
import { EXIT_CODES } from "../../src/cli/exit_code.ts";
import { SUBCOMMANDS } from "../../src/cli/commands/apikey/subcommands.ts";
import { run } from "../../src/cli/program.ts";
import { FakeHost, inProcess } from "../program/program.ts";

const { stdout: PROGRAM_HELP } = await inProcess(["--help"]);
const COMMANDS = [
  ...[...PROGRAM_HELP.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = ""]) => [name]),
  ...SUBCOMMANDS.map(([name]) => ["apikey", name]),
  ...["add", "list", "remove"].map((name) => ["resource", name]),
];

Deno.test("the help of the program lists every command", () => {
  expect(COMMANDS).toEqual(expect.arrayContaining([["apikey"], ["request"], ["serve"], ["audit"]]));
});

for (const args of [["--help"], ...COMMANDS.map((command) => [...command, "--help"])]) {
  Deno.test(`service-api ${args.join(" ")} fits into 80 columns and explains the exit status`, async () => {
    const { code, stdout, stderr } = await inProcess(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(
      args.length > 1 ? /\nExit status: 0 success[^\n]*\n[^\n]*130 interrupted\.\n$/ : /\nExit status/,
    );
  });
}

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

Deno.test("service-api --help lists the code of every failure with its exit status", () => {
  let status = "";
  const listed = [...PROGRAM_HELP.matchAll(/^(?: {2}[ \d]{3}| {5}) {2}([A-Z_]+) {2,}\S/gm)].map(([line, code]) => {
    status = /^ +(\d+)/.exec(line)?.[1] ?? status;
    return [code, Number(status)];
  });
  expect(Object.fromEntries(listed)).toEqual(EXIT_CODES);
});

Deno.test("apikey --help lists roles, resources, actions, rights, results, codes, examples and variables", async () => {
  const { stdout } = await inProcess(["apikey", "--help"]);
  const words = new Set(stdout.split(/[\s,]+/));
  expect([...ROLES, ...RESOURCES, ...ACTIONS].filter((word) => !words.has(word))).toEqual([]);
  const titles = stdout.match(/^\S.*(?=:$)/gm);
  expect(titles).toEqual(expect.arrayContaining(["Name", "Roles", "Rights", "Prompting", "Results", "Examples"]));
  expect(stdout).toContain("[SERVICE_API_URL]");
  const codes = [...stdout.matchAll(/^ {2}([A-Z_]+) +(\d+) {2}\S/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(Object.fromEntries(codes)).toEqual(EXIT_CODES);
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
    [["help", "confg"], /Unknown command "confg"\. Did you mean service-api config\?/],
    [["-v"], /Did you mean --version\?/],
    [["ls"], /Unknown command "ls"\. Did you mean service-api apikey list\?/],
    [["list"], /Did you mean service-api apikey list\?/],
    [["rm", "ci"], /Did you mean service-api apikey delete\?/],
    [["revoke", "ci"], /Did you mean service-api apikey delete\?/],
    [["new", "ci"], /Did you mean service-api apikey create\?/],
    [["whoami"], /Did you mean service-api apikey verify\?/],
    [["key"], /Did you mean service-api apikey\?/],
    [["token"], /Did you mean service-api apikey\?/],
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
    [["apikey", "list", "ci"], /Unexpected argument "ci"\. To select keys by name, use --match\./],
    [
      ["apikey", "verify", "ci"],
      /Unexpected argument "ci"\. The key to verify comes from --key-file or SERVICE_API_KEY\./,
    ],
    [["completions", "bash", "extra"], /Unexpected argument "extra"/],
    [["apikey", "--crate"], /Unknown option "--crate"\. Did you mean --create\? See service-api apikey --help\.$/],
    [["apikey", "--role=ADMIN"], /Unknown option "--role"\. Did you mean --roles\?/],
    [["needs"], /The argument <document> is missing\. See service-api needs --help\.$/],
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
