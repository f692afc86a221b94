/** `config`: its output, and the secrets that it masks. */
import { expect } from "expect";
import { makeSecret, maskSecret, SECRET_BYTES, secretTail } from "../../../src/apikey/secret.ts";
import { onPosix } from "../../posix.ts";
import { run } from "../../../src/cli/program.ts";
import { inProcess } from "../../program/program.ts";
import { TerminalHost } from "../../program/terminal_host.ts";
import { configHome } from "../config_file/config_home.ts";

const testWithModes = onPosix("file modes");

const SECRET = makeSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
const MASK = maskSecret(secretTail(SECRET));

const CONFIG = `profiles:
  staging:
    base-url: https://keys.example.com
    headers:
      X-Team: secret-team
`;

/**
 * The rows with ` | ` between columns, whose widths vary, and with `FILE` for the path of the config file. After a long
 * value, a row continues on the next line.
 */
function rowsIn(stdout: string, path: string): readonly string[] {
  return stdout.replaceAll(path, "FILE").replaceAll(/\n {2,}/g, "  ").trimEnd().split("\n").map((line) =>
    line.replaceAll(/ {2,}/g, " | ")
  );
}

/** The output without the list of profiles. */
function settingsIn(stdout: string): string {
  return stdout.replace(/\n\n.*/s, "\n");
}

testWithModes("config prints every setting, its value and its source", async () => {
  await using home = await configHome(CONFIG);
  const env = { SERVICE_API_KEY: SECRET, LOG_LEVEL: "error" };
  const { code, stdout, stderr } = await home.run(["config", "--profile", "staging", "--timeout", "5s"], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(rowsIn(settingsIn(stdout), home.path)).toEqual([
    "config-file | FILE | default",
    "profile | staging | --profile",
    "base-url | https://keys.example.com | FILE:3:15",
    `key | ${MASK} | SERVICE_API_KEY`,
    "key-file | - | default",
    "key-header | Authorization | default",
    "headers.X-Team | … | FILE:5:15",
    "allow-http | false | default",
    "ca-file | - | default",
    "timeout | 5s | --timeout",
    "max-response-size | 64MB | default",
    "data-dir | - | default",
    "database-url | - | default",
    "log-level | error | LOG_LEVEL",
    "plain | false | default",
  ]);
});

Deno.test("config aligns its columns", async () => {
  await using home = await configHome();
  const { stdout } = await home.run(["config", "--data-dir", "/d", "--timeout", "5s"]);
  expect(stdout).toBe([
    "config-file        -              default",
    "profile            -              default",
    "base-url           -              default",
    "key                -              default",
    "key-file           -              default",
    "key-header         Authorization  default",
    "headers            -              default",
    "allow-http         false          default",
    "ca-file            -              default",
    "timeout            5s             --timeout",
    "max-response-size  64MB           default",
    "data-dir           /d             --data-dir",
    "database-url       -              default",
    "log-level          warn           default",
    "plain              false          default",
    "",
  ].join("\n"));
});

for (
  const [env, row] of [
    [{ SERVICE_API_PLAIN: "1", TERM: "dumb" }, "true           SERVICE_API_PLAIN"],
    [{ SERVICE_API_PLAIN: "0", TERM: "dumb" }, "true           TERM"],
    [{ TERM: "" }, "true           default"],
  ] as const
) {
  Deno.test(`config says that prompts are plain with ${JSON.stringify(env)}`, async () => {
    await using home = await configHome();
    const { stdout } = await home.run(["config"], { env });
    expect(stdout).toContain(`\nplain              ${row}\n`);
  });
}

Deno.test("config puts the source of a long value on the next line, in its column", async () => {
  await using home = await configHome();
  const path = `/${"d".repeat(60)}`;
  const { stdout } = await home.run(["config", "--data-dir", path]);
  expect(stdout).toContain(`
max-response-size  64MB           default
data-dir           ${path}
                                  --data-dir
database-url       -              default
`);
});

for (
  const [columns, lines] of [
    [80, [
      "profile            -              default",
      "data-dir           /srv/keys/of/the/ops/team/in/the/house/on/the/hill",
      "                   SERVICE_API_DATA_DIR",
    ]],
    [40, [
      "profile            -      default",
      "key-header         Authorization",
      "                   default",
      "data-dir",
      "  /srv/keys/of/the/ops/team/in/the/house/on/the/hill",
      "  SERVICE_API_DATA_DIR",
    ]],
  ] as const
) {
  Deno.test(`in a terminal of ${columns} columns, config puts what does not fit on lines of its own`, async () => {
    const env = { SERVICE_API_DATA_DIR: "/srv/keys/of/the/ops/team/in/the/house/on/the/hill" };
    const host = new TerminalHost(["config"], { columns, env, showsOutput: true });
    expect(await run(host)).toBe(0);
    expect(host.stdout.text.split("\n")).toEqual(expect.arrayContaining([...lines]));
  });
}

testWithModes("config --json prints the same settings on one line", async () => {
  await using home = await configHome(CONFIG);
  const args = ["config", "--json", "--profile", "staging", "--allow-http"];
  const { code, stdout } = await home.run(args, { env: { SERVICE_API_KEY: SECRET } });
  expect(code).toBe(0);
  expect(stdout.indexOf("\n")).toBe(stdout.length - 1);
  const byDefault = (name: string, value: string | null): object => ({ name, value, source: "default", from: null });
  expect(JSON.parse(stdout)).toEqual({
    settings: [
      byDefault("config-file", home.path),
      { name: "profile", value: "staging", source: "flag", from: "--profile" },
      { name: "base-url", value: "https://keys.example.com", source: "file", from: `${home.path}:3:15` },
      { name: "key", value: MASK, source: "variable", from: "SERVICE_API_KEY" },
      byDefault("key-file", null),
      byDefault("key-header", "Authorization"),
      { name: "headers.X-Team", value: "…", source: "file", from: `${home.path}:5:15` },
      { name: "allow-http", value: "true", source: "flag", from: "--allow-http" },
      byDefault("ca-file", null),
      byDefault("timeout", "30s"),
      byDefault("max-response-size", "64MB"),
      byDefault("data-dir", null),
      byDefault("database-url", null),
      byDefault("log-level", "warn"),
      byDefault("plain", "false"),
    ],
  });
});

testWithModes("config shows which settings of the profile are ignored, and why", async () => {
  await using home = await configHome(`${CONFIG}    key-file: /nonexistent.key\n`);
  const args = ["config", "--profile", "staging", "--base-url", "https://other.example"];
  expect(rowsIn(settingsIn((await home.run(args)).stdout), home.path).slice(-2)).toEqual([
    "key-file | /nonexistent.key | FILE:6:15 (ignored: --base-url selects another server)",
    "headers.X-Team | … | FILE:5:15 (ignored: --base-url selects another server)",
  ]);
  const { stdout } = await home.run([...args, "--json"]);
  expect(JSON.parse(stdout).settings.at(-1)).toEqual({
    name: "headers.X-Team",
    value: "…",
    source: "file",
    from: `${home.path}:5:15`,
    ignored: "--base-url selects another server",
  });
});

Deno.test("config shows a server that is ignored because of a store, and a store that is ignored because of a server", async () => {
  await using home = await configHome();
  const local = await home.run(["config", "--data-dir", "/d"], { env: { SERVICE_API_URL: "https://user:hidden@a" } });
  expect(local.stdout).toMatch(/^base-url +… +SERVICE_API_URL \(ignored: --data-dir selects a store\)$/m);
  const env = {
    SERVICE_API_URL: "https://a.example",
    SERVICE_API_DATABASE_URL: "postgres://app:hidden@localhost/keys",
  };
  const remote = await home.run(["config"], { env });
  expect(remote.stdout).toMatch(
    /^database-url +postgres:\/\/app:…@localhost\/keys +SERVICE_API_DATABASE_URL \(ignored: SERVICE_API_URL selects a server\)$/m,
  );
  expect(local.stdout + remote.stdout).not.toMatch(/hidden/);
});

for (
  const [url, masked] of [
    ["postgres://app:hidden@localhost/keys?sslmode=disable", "postgres://app:…@localhost/keys?sslmode=disable"],
    ["postgres://app:hidden@/keys?host=/run/postgresql", "postgres://app:…@/keys?host=/run/postgresql"],
    ["postgres://app:h@dden@localhost/keys", "postgres://app:…@localhost/keys"],
    ["postgres://app@localhost/keys", "postgres://app@localhost/keys"],
    ["postgres://app@localhost/keys?password=hidden", "…"],
    ["postgres://app:12/hidden@localhost/keys", "…"],
  ] as const
) {
  Deno.test(`config prints the database URL ${url} as ${masked}`, async () => {
    // SERVICE_API_URL wins, so config masks the database URL but does not validate it.
    const env = { SERVICE_API_URL: "https://a.example", SERVICE_API_DATABASE_URL: url };
    const { stdout } = await inProcess(["config", "--json"], { env });
    expect(JSON.parse(stdout).settings.at(-1)).toMatchObject({ name: "database-url", value: masked });
  });
}

Deno.test("config does not read standard input, contacts no server and opens no store", async () => {
  await using home = await configHome();
  const { code, stdout } = await home.run(["config", "--key-file", "-", "--base-url", "http://127.0.0.1:9"], {
    stdin: SECRET,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^key +… +--key-file$/m);
  expect((await home.run(["config", "--data-dir", `${home.home}/data`])).code).toBe(0);
  await expect(Deno.stat(`${home.home}/data`)).rejects.toThrow(Deno.errors.NotFound);
});

testWithModes("config prints no secret, in text, JSON or the debug log", async () => {
  await using home = await configHome(
    `${CONFIG}    key-file: own.key\n    database-url: postgres://u:hidden@localhost/d\n`,
  );
  await Deno.writeTextFile(`${home.directory}/own.key`, SECRET);
  const env = { LOG_LEVEL: "debug", SERVICE_API_DATABASE_URL: "postgres://u:hidden@localhost/d?sslmode=disable" };
  const header = ["--header", "X-Token: hidden-token"];
  const runs = await Promise.all(
    [[], ["--json"], ["--base-url", "https://other.example"], ["--database-url", "postgres://u:hidden@localhost/d"]]
      .map((args) => home.run(["config", "--profile", "staging", ...header, ...args], { env })),
  );
  for (const { code, stdout, stderr } of runs) {
    expect(code).toBe(0);
    expect(stdout).toContain("X-Team");
    expect(stdout + stderr).not.toMatch(/hidden|secret-team/);
    expect(stdout + stderr).not.toContain(SECRET);
  }
});

Deno.test("config escapes invisible characters in a value", async () => {
  await using home = await configHome();
  const { stdout } = await home.run(["config", "--data-dir", "/a\u202eb\u001b[2J"]);
  expect(stdout).toMatch(/\/a\\u\{202e\}b\\u\{1b\}\[2J/);
});

const PROFILES = `profiles:
  prod: { base-url: "https://keys.example.com" }
  odd: { base-url: "https://user:hidden@keys.example" }
  database: { database-url: "postgres://app:hidden@localhost/keys" }
  directory: { data-dir: /srv/keys }
  empty:
`;

testWithModes(
  "config lists the profiles of the config file with their servers, and marks the selected one",
  async () => {
    await using home = await configHome(PROFILES);
    const { stdout } = await home.run(["config", "--profile", "prod"]);
    expect(stdout.slice(stdout.indexOf("\n\n"))).toBe(`

Profiles (* selected):
* prod       https://keys.example.com
  odd        …
  database   postgres://app:…@localhost/keys
  directory  /srv/keys
  empty      the local store
To select a profile, add --profile NAME. To make it the default, set SERVICE_API_PROFILE.
`);
  },
);

testWithModes(
  "if a line of the config file is not valid, config prints all other settings and then the error",
  async () => {
    await using home = await configHome(`${CONFIG}    timeout: 30\n`);
    const { code, stdout, stderr } = await home.run(["config"], { env: { SERVICE_API_URL: "https://other.example" } });
    expect(code).toBe(2);
    expect(stderr).toBe(`service-api: ${home.path}:6:14: timeout must be text, not a number. Put it in quotes.\n`);
    expect(rowsIn(stdout, home.path)).toEqual(expect.arrayContaining([
      "config-file | FILE | default",
      "base-url | https://other.example | SERVICE_API_URL",
      "The config file has an error, so its settings are not shown.",
    ]));
  },
);

for (
  const [what, args, message] of [
    ["a server and a store", ["--base-url", "https://a", "--data-dir", "/d"], /Use only one of them/],
  ] as const
) {
  Deno.test(`config rejects ${what} with a usage error`, async () => {
    await using home = await configHome();
    const { code, stdout, stderr } = await home.run(["config", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(JSON.parse((await home.run(["config", "--json", ...args])).stdout)).toMatchObject({ code: "USAGE" });
  });
}

for (
  const [what, args, row, message] of [
    ["an invalid timeout", ["--timeout", "soon"], "timeout | soon | --timeout", /--timeout must be a duration/],
    [
      "a missing key file",
      ["--key-file", "/nonexistent.key"],
      "key-file | /nonexistent.key | --key-file",
      /--key-file: cannot read/,
    ],
    ["a URL with a password", ["--base-url", "https://a:hidden@b"], "base-url | … | --base-url", /--base-url must/],
    ["a header without a colon", ["--header", "hidden"], "headers | … | --header", /--header must be 'Name: value'/],
  ] as const
) {
  Deno.test(`with ${what}, config prints all settings without secrets, and then the error`, async () => {
    await using home = await configHome();
    const { code, stdout, stderr } = await home.run(["config", ...args]);
    expect(code).toBe(2);
    expect(rowsIn(stdout, home.path)).toContain(row);
    expect(stderr).toMatch(message);
    expect(stdout + stderr).not.toContain("hidden");
    expect(JSON.parse((await home.run(["config", "--json", ...args])).stdout)).toMatchObject({ code: "USAGE" });
  });
}
