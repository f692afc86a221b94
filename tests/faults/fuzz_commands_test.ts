/** Random values for every flag, variable and file that a command parses. */
import { expect } from "expect";
import fc from "fast-check";
import { parseDatabaseUrl } from "../../src/cli/settings/database_url.ts";
import { Failure } from "../../src/apikey/failure.ts";
import { FakeHost, inProcess } from "../program/program.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { holdsForAll, hostileText } from "./fuzz.ts";

const IN_SHORT = 60;
const IN_FULL = 1_000;

/** A server that refuses connections: no value makes a command change anything. */
const NOWHERE = { SERVICE_API_URL: "http://127.0.0.1:1", SERVICE_API_KEY: "sak_hidden_hidden_hidden" };

/** A word that is secret where it is part of a value. */
const SECRET = "hiddenhidden";

type Environment = Readonly<Record<string, string>>;

/** Runs a command. Any result is right except an unexpected error, and output that shows a secret or moves the cursor. */
async function expectNoCrash(args: readonly string[], env: Environment): Promise<void> {
  const { code, stdout, stderr } = await inProcess(args, { env });
  expect([0, 1, 2, 3, 4]).toContain(code);
  expect(stdout + stderr).not.toMatch(/Unexpected error|sak_hidden|hiddenhidden/);
  expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}]/u);
  if (args.includes("--json")) {
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^[^\n]+\n$/), stderr: "" });
    expect(JSON.parse(stdout)).toBeInstanceOf(Object);
  }
}

const create = (...flags: readonly string[]): readonly string[] => ["apikey", "--create", "--json", ...flags];

/** The values that commands parse, each with a command line. */
const COMMANDS: readonly (readonly [string, (value: string) => readonly string[]])[] = [
  ["names", (value) => create("--roles", "GUEST", `--name=${value}`)],
  ["names of keys to delete", (value) => ["apikey", "--delete", "--json", `--name=${value}`]],
  ["patterns of keys to delete", (value) => ["apikey", "--delete", "--json", `--match=${value}`]],
  ["durations without use", (value) => ["apikey", "--delete", "--json", `--unused=${value}`]],
  ["roles", (value) => create("--name", "a", `--roles=${value}`)],
  ["permissions", (value) => create("--name", "a", `--permissions=${value}`)],
  ["descriptions", (value) => create("--name", "a", "--roles", "GUEST", `--description=${value}`)],
  ["durations until the expiry", (value) => create("--name", "a", "--roles", "GUEST", `--expires-in=${value}`)],
  ["times of expiry", (value) => create("--name", "a", "--roles", "GUEST", `--expires-at=${value}`)],
  ["grace periods", (value) => ["apikey", "rotate", "a", "--json", `--grace=${value}`]],
  ["changes to keys", (value) => [
    ...["apikey", "update", "--json", `--id=${value}`, `--rename=${value}`, `--description=${value}`],
    ...[`--add-roles=${value}`, `--permissions=${value}`],
  ]],
  ["permissions to verify", (value) => ["apikey", "verify", "--json", `--can=${value}`]],
  ["durations", (value) => create("--name", "a", "--roles", "GUEST", `--timeout=${value}`)],
  ["headers", (value) => create("--name", "a", "--roles", "GUEST", `--header=${value}`)],
  ["names of key headers", (value) => create("--name", "a", "--roles", "GUEST", `--key-header=${value}`)],
  ["base URLs", (value) => ["config", "--json", `--base-url=${value}`]],
  ["JSON bodies", (value) => ["request", "--json", `--body=${value.replace(/^[@-]/, "")}`]],
  ["variables", (value) => ["request", "--json", "--query={a}", `--variables=${value.replace(/^[@-]/, "")}`]],
  ["sizes, counts and networks", (value) => [
    ...["serve", "--port", "65536", `--max-body=${value}`, `--max-depth=${value}`, `--trust-proxy=${value}`],
    ...[`--audit-retention=${value}`, `--host=${value}`],
  ]],
  ["documents", (value) => ["needs", "--json", "--", value.replace(/^[@-]/, "")]],
  ["profile names", (value) => ["config", "--json", `--profile=${value}`]],
  ["names of resources", (value) => ["resource", "add", "--json", `--description=${value}`, "--", value]],
  ["ids of events", (value) => ["audit", `--after=${value}`]],
];

for (const [what, commandLine] of COMMANDS) {
  Deno.test(`no value crashes the parser of ${what}`, () =>
    holdsForAll(what, hostileText(), IN_SHORT, IN_FULL, (value) => expectNoCrash(commandLine(value), NOWHERE)));
}

Deno.test("no command line crashes the program", () => {
  const words = fc.constantFrom(
    ...("apikey request resource add list remove config login logout audit completions help serve update rotate verify --create --delete --name --roles --permissions " +
      "--json --help --version -- - --query --body --bogus -x").split(" "),
  );
  const lines = fc.array(fc.oneof({ weight: 3, arbitrary: words }, hostileText()), { maxLength: 7 });
  // `serve` would start a server, and commands without `--json` may print help.
  return holdsForAll("command lines", lines.filter((line) => line[0] !== "serve"), IN_SHORT, IN_FULL, async (args) => {
    const { code, stdout, stderr } = await inProcess(args, { env: NOWHERE });
    expect([0, 1, 2, 3, 4]).toContain(code);
    expect(stdout + stderr).not.toMatch(/Unexpected error|sak_hidden/);
  });
});

Deno.test("completion answers every command line with words and a directive", () => {
  const words = fc.constantFrom(
    "",
    ...("apikey request resource serve help completions --roles --permissions --name --key-file --data-dir ADMIN, DOCKER: " +
      "--timeout= --roles=v -- -").split(" "),
  );
  const lines = fc.array(fc.oneof({ weight: 3, arbitrary: words }, hostileText()), { maxLength: 6 });
  return holdsForAll("completions", lines, IN_SHORT, IN_FULL, async (line) => {
    const { code, stdout, stderr } = await inProcess(["__complete", "--", ...line], { env: NOWHERE });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/(^|\n):(space|nospace|files\t.*|directories\t.*)\n$/s);
  });
});

Deno.test("no config file crashes the program, and no message shows a value of it", () => {
  const keys = fc.constantFrom(
    ..."profiles default base-url key-file headers timeout allow-http key a <<".split(" "),
  );
  const values = fc.oneof(
    fc.constantFrom(...`|*a|&a|!!binary x|!!js/function x|[|{a: |~|0o7|2026-01-01|"${SECRET}|>`.split("|"), "|"),
    hostileText(),
  );
  const lines = fc.tuple(fc.nat(4), keys, values).map(([depth, key, value]) => `${"  ".repeat(depth)}${key}: ${value}`);
  const files = fc.oneof(
    fc.array(lines, { maxLength: 10 }).map((all) => all.join("\n")),
    hostileText(),
    nestedAliases(),
  );
  return inTemporaryDirectory((directory) =>
    holdsForAll("config files", files, IN_SHORT, IN_FULL, async (text) => {
      const file = `${directory}/config.yaml`;
      await Deno.writeTextFile(file, text, { mode: 0o600 });
      await expectNoCrash(create("--name", "a", "--roles", "GUEST"), { ...NOWHERE, SERVICE_API_CONFIG: file });
    })
  );
});

/** YAML whose aliases expand to a billion values. */
function nestedAliases(): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: 30 }).map((depth) =>
    Array.from({ length: depth }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i === 0 ? 0 : 9)}]`).join("\n")
  );
}

Deno.test("no schema file crashes the program", () => {
  const sdl = fc.array(
    fc.constantFrom(
      ...('type Query { a : [ Int ] ! } interface I union U = | enum E input @usePermissions ( action : "READ_ANY" , ' +
        'resource: "LOGS" ) extend schema query """ # & implements { "__schema": null } [').split(" "),
    ),
    { maxLength: 30 },
  ).map((words) => words.join(" "));
  return inTemporaryDirectory((directory) =>
    holdsForAll("schema files", fc.oneof(sdl, hostileText()), IN_SHORT, IN_FULL, async (text) => {
      await Deno.writeTextFile(`${directory}/schema`, text);
      await expectNoCrash(["needs", "{ a }", "--json", "--schema", `${directory}/schema`], NOWHERE);
    })
  );
});

Deno.test("no key and no file of a key crashes a command, and no output shows it", () =>
  inTemporaryDirectory((directory) => {
    const keys = hostileText().map((text) => `${SECRET}${text}`);
    return holdsForAll("keys", keys, IN_SHORT, IN_FULL, async (key) => {
      const file = `${directory}/key`;
      await Deno.writeTextFile(file, key, { mode: 0o600 });
      const command = create("--name", "a", "--roles", "GUEST");
      await expectNoCrash(command, { ...NOWHERE, SERVICE_API_KEY: key });
      await expectNoCrash([...command, "--key-file", file], { ...NOWHERE, SERVICE_API_KEY: "" });
      await expectNoCrash([...command, "--ca-file", file], { SERVICE_API_URL: "https://127.0.0.1:1" });
    });
  }));

Deno.test("no database URL crashes its parser, and no message shows its password", () => {
  const hosts = fc.constantFrom("localhost", "[::1]", "", "%2Ftmp", "127.0.0.1:99999", "a b");
  const urls = fc.tuple(fc.constantFrom("user", "", "a%zz"), hostileText(), hosts, hostileText())
    .map(([user, password, host, rest]) => `postgres://${user}:${SECRET}${password}@${host}/${rest}`);
  return holdsForAll("database URLs", fc.oneof(urls, hostileText()), IN_SHORT, IN_FULL, async (value) => {
    try {
      const { label } = await parseDatabaseUrl({ name: "--database-url", value }, new FakeHost([]));
      expect(label).not.toContain(SECRET);
    } catch (error) {
      expect(error).toBeInstanceOf(Failure);
      expect(error).toMatchObject({ code: "USAGE", message: expect.not.stringContaining(SECRET) });
    }
  });
});
