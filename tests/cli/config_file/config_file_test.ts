/** The config file: where it is, its settings, and its errors with line and column. */
import { expect } from "expect";
import { resolvePath } from "../../../src/cli/config_file/path.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { readSettings, type Settings } from "../../../src/cli/connection/settings.ts";
import { FakeHost, type Surroundings } from "../../program/program.ts";
import { onPosix } from "../../posix.ts";
import { execute } from "../../execute.ts";
import { configHome, SILENT } from "./config_home.ts";

const testWithModes = onPosix("file modes");

async function settingsOf(config: string): Promise<Settings> {
  await using home = await configHome(config);
  return await readSettings({}, home.host(), SILENT);
}

/** The message for a usage error in the config file, with `FILE` for the file's path. Checks that no secret is printed. */
async function errorOf(config: string | Uint8Array): Promise<string> {
  await using home = await configHome(config);
  await Deno.writeTextFile(`${home.directory}/own.key`, "abc", { mode: 0o600 });
  const { code, stdout, stderr } = await home.run(["config"]);
  expect(code).toBe(2);
  expect(stdout).not.toMatch(/s[eé]cret/);
  return stderr.replace(/^service-api: /, "").trimEnd().replaceAll(home.path, "FILE");
}

const ALL = `# comment
profiles:
  default:
    base-url: https://keys.example.com
    key-file: ci.key
    key-header: X-API-Key
    headers: { X-Team: ops, X-Empty: "" }
    timeout: 1m
`;

for (
  const [what, text] of [
    ["with line feeds", ALL],
    ["with CRLF", ALL.replaceAll("\n", "\r\n")],
    ["with a byte order mark", `\ufeff${ALL}`],
    [
      "in JSON, a subset of YAML,",
      JSON.stringify({
        profiles: {
          default: {
            "base-url": "https://keys.example.com",
            "key-file": "ci.key",
            "key-header": "X-API-Key",
            headers: { "X-Team": "ops", "X-Empty": "" },
            timeout: "1m",
          },
        },
      }),
    ],
  ] as const
) {
  testWithModes(`a config file ${what} is read`, async () => {
    await using home = await configHome(text);
    await Deno.writeTextFile(`${home.directory}/ci.key`, "abc\r\n");
    const { server, headers, timeout } = await readSettings({}, home.host(), SILENT);
    expect(server).toMatchObject({ kind: "network", endpoint: new URL("https://keys.example.com/graphql") });
    expect([...headers]).toEqual([["x-team", "ops"], ["x-empty", ""], ["x-api-key", "abc"]]);
    expect(timeout).toBe(60_000);
  });
}

for (const text of ["", "# nothing\n", "profiles:\n", "profiles: {}\n", "profiles:\n  default:\n"]) {
  testWithModes(`a config file with the text ${JSON.stringify(text)} sets nothing`, async () => {
    expect((await settingsOf(text)).server).toMatchObject({ kind: "embedded" });
  });
}

for (
  const [what, text, message] of [
    [
      "an unknown setting",
      "profiles:\n  a:\n    base-ulr: x\n",
      'FILE:3:5: Unknown setting "base-ulr". Did you mean base-url?',
    ],
    [
      "an unknown setting after CRLF",
      "profiles:\r\n  a:\r\n    base-ulr: x\r\n",
      'FILE:3:5: Unknown setting "base-ulr". Did you mean base-url?',
    ],
    [
      "an unknown member after a byte order mark",
      "\ufeffprofile: 1\n",
      'FILE:1:1: Unknown member "profile". Did you mean profiles?',
    ],
    [
      "header, the name of the flag, instead of headers",
      "profiles:\n  a:\n    header: x\n",
      'FILE:3:5: Unknown setting "header". Did you mean headers?',
    ],
    [
      "several errors, of which the first is shown,",
      "profiles:\n  a:\n    wrong: x\n    timeout: 30\n  ../b: 1\n",
      /^FILE:3:5: Unknown setting "wrong"/,
    ],
    [
      "a number instead of text",
      "profiles:\n  a:\n    timeout: 30\n",
      "FILE:3:14: timeout must be text, not a number. Put it in quotes.",
    ],
    ["an empty setting", "profiles:\n  a:\n    base-url:\n", "FILE:3:14: base-url must be text, not empty."],
    ["a list instead of text", "profiles:\n  a:\n    ca-file: [a]\n", "FILE:3:14: ca-file must be text, not a list."],
    [
      "text instead of a boolean",
      "profiles:\n  a:\n    allow-http: yes\n",
      "FILE:3:17: allow-http must be true or false, not text.",
    ],
    [
      "a list instead of a mapping",
      "profiles:\n  a:\n    headers:\n      - X-A=secret\n",
      "FILE:4:7: headers must be a mapping, not a list.",
    ],
    [
      "a header that is a number",
      "profiles:\n  a:\n    headers:\n      X-A: 1\n",
      'FILE:4:12: The header "X-A" must be text, not a number. Put it in quotes.',
    ],
    [
      "a header name with a colon",
      "profiles:\n  a:\n    headers:\n      'X:A': secret\n",
      "FILE:4:7: A header name must not contain a colon.",
    ],
    ["a list of profiles", "profiles:\n  - a\n", "FILE:2:3: profiles must be a mapping, not a list."],
    ["text instead of a profile", "profiles:\n  a: b\n", "FILE:2:6: The profile a must be a mapping, not text."],
    ["text instead of a mapping", "hello\n", "FILE:1:1: The file must be a mapping, not text."],
    [
      "an invalid profile name",
      "profiles:\n  ../a: {}\n",
      "FILE:2:3: The profile name must consist of at most 64 ASCII letters, digits, dots, underscores and hyphens, and begin with a letter or digit.",
    ],
    ["a duplicate name", "profiles:\n  a: {}\n  a: {}\n", "FILE:3:3: Invalid YAML: Map keys must be unique."],
    [
      "a secret after quoted text",
      'profiles:\n  a:\n    headers:\n      X: "a" secret\n',
      "FILE:4:14: Invalid YAML: Unexpected scalar at node end.",
    ],
    [
      "a missing quote",
      "profiles:\n  a:\n    headers:\n      X: 'secret\n",
      "FILE:5:1: Invalid YAML: Missing closing 'quote.",
    ],
    [
      "an anchor",
      "profiles:\n  a: &a {}\n  b: *a\n",
      "FILE:2:9: Anchors and aliases (& and *) are not supported here. Write the value itself, and put a text that begins with & or * in quotes.",
    ],
    [
      "two documents",
      "profiles: {}\n---\nprofiles: {}\n",
      "FILE:2:1: Invalid YAML: The file has several documents.",
    ],
    [
      "a bad escape",
      'profiles: {a: {headers: {X: "\\Usecret12"}}}',
      "FILE:1:30: Invalid YAML: Invalid escape sequence.",
    ],
    ["a bad tag", "profiles: {a: {headers: {X: !secret12! b}}}", "FILE:1:29: Invalid YAML: Invalid tag."],
    ["deep nesting", "[".repeat(5000), /^FILE:1:\d+: Invalid YAML/],
  ] as const
) {
  testWithModes(
    `a config file with ${what} is a usage error with line and column, and the message repeats no value`,
    async () => {
      const error = await errorOf(text);
      if (typeof message === "string") expect(error).toBe(message);
      else expect(error).toMatch(message);
      expect(error).not.toMatch(/secret/);
    },
  );
}

for (
  const [what, members, message] of [
    ["an invalid timeout", "timeout: soon", /^FILE:3:14: timeout must be a duration .*, not "soon"\.$/],
    ["an invalid base URL", "base-url: keys.example", /^FILE:3:15: base-url must be a URL, .*, not "keys\.example"\.$/],
    [
      "a base URL without TLS",
      "base-url: http://keys.example.com",
      /^FILE:3:15: base-url would send keys unencrypted to keys\.example\.com\. .*--allow-http/,
    ],
    [
      "a missing key file",
      "key-file: /nonexistent.key",
      /^FILE:3:15: key-file: cannot read "\/nonexistent\.key": No such file or directory\.$/,
    ],
    [
      "an invalid key header",
      "key-header: a b\n    key-file: own.key",
      /^FILE:3:17: key-header must be the name of a header, not "a b"\.$/,
    ],
    ["an invalid header", "headers: { X-A: sécret }", /^FILE:3:21: headers must be 'Name: value' in visible ASCII/],
    [
      "headers that differ only in case",
      "headers: { X-A: secret, x-a: secret }",
      /^FILE:3:34: headers: the header x-a is set twice\.$/,
    ],
    ["an empty data directory", "data-dir: ''", /^FILE:3:15: data-dir is empty\. Name a directory\.$/],
    [
      "a database URL of another database",
      "database-url: mysql://user:secret@host/db",
      /^FILE:3:19: database-url must begin with postgres:\/\/ or postgresql:\/\/\. /,
    ],
  ] as const
) {
  const profile = (name: string): string => `profiles:\n  ${name}:\n    ${members}\n`;

  testWithModes(
    `a profile with ${what} is a usage error with line and column, but only if the profile is selected`,
    async () => {
      const error = await errorOf(profile("default"));
      expect(error).toMatch(message);
      expect(error).not.toMatch(/s[eé]cret/);
      expect((await settingsOf(profile("other"))).server).toMatchObject({ kind: "embedded" });
    },
  );
}

testWithModes(
  "a config file that is not UTF-8, is too long or is a directory is a usage error, and the message names the file",
  async () => {
    const utf16 = new Uint8Array([0xff, 0xfe, 0x70, 0]);
    expect(await errorOf(utf16)).toBe('The config file: cannot read "FILE": it is not UTF-8.');
    const long = `#${" ".repeat(1_000_000)}\n`;
    expect(await errorOf(long)).toBe('The config file: cannot read "FILE": it is larger than 1000000 bytes.');
    await using home = await configHome();
    await Deno.mkdir(home.path, { recursive: true });
    expect((await home.run(["config"])).stderr).toMatch(/cannot read ".*config\.yaml": it is not a file/);
  },
);

testWithModes("a config file that other users can write is rejected, except on Windows", async () => {
  for (const mode of [0o620, 0o602]) {
    // deno-lint-ignore no-await-in-loop -- one mode at a time
    await using home = await configHome("profiles:\n");
    // deno-lint-ignore no-await-in-loop -- one mode at a time
    await Deno.chmod(home.path, mode);
    // deno-lint-ignore no-await-in-loop -- one mode at a time
    expect(await home.run(["config"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        `service-api: Other users can change ${home.path}, so they could send your keys to another server. Run: ` +
        `chmod go-w ${home.path}\n`,
    });
    const windows = home.host({ env: { APPDATA: home.home } }, "windows");
    // deno-lint-ignore no-await-in-loop -- one mode at a time
    expect((await readSettings({ dataDir: "/d" }, windows, SILENT)).server.kind).toBe("embedded");
  }
});

testWithModes("a missing config file is an error only if a flag or variable names it", async () => {
  await using home = await configHome();
  const named = await home.run(["config", "--config", "/nonexistent.yaml"]);
  expect(named.stderr).toBe('service-api: --config: cannot read "/nonexistent.yaml": No such file or directory.\n');
  expect(named.code).toBe(2);
  const byVariable = await home.run(["config"], { env: { SERVICE_API_CONFIG: "/nonexistent.yaml" } });
  expect(byVariable.stderr).toMatch(/^service-api: SERVICE_API_CONFIG: cannot read/);
  expect((await home.run(["config"])).code).toBe(0);
});

testWithModes("--config wins over SERVICE_API_CONFIG, which wins over the default file of the platform", async () => {
  await using home = await configHome("profiles: { default: { timeout: 1s } }");
  const write = async (name: string, timeout: string): Promise<string> => {
    const path = `${home.home}/${name}.yaml`;
    await Deno.writeTextFile(path, `profiles: { default: { timeout: ${timeout} } }`, { mode: 0o600 });
    return path;
  };
  const config = await write("flag", "3s");
  const env = { SERVICE_API_CONFIG: await write("variable", "2s") };
  const timeout = async (flags: ServerFlags, surroundings?: Surroundings): Promise<number> =>
    (await readSettings(flags, home.host(surroundings), SILENT)).timeout;
  expect(await timeout({ config }, { env })).toBe(3000);
  expect(await timeout({}, { env })).toBe(2000);
  expect(await timeout({})).toBe(1000);
});

for (
  const [platform, env, path] of [
    ["linux", (home: string) => ({ HOME: home }), ".config/service-api/config.yaml"],
    ["linux", (home: string) => ({ XDG_CONFIG_HOME: `${home}/xdg` }), "xdg/service-api/config.yaml"],
    [
      "darwin",
      (home: string) => ({ HOME: home, XDG_CONFIG_HOME: `${home}/xdg` }),
      "Library/Application Support/service-api/config.yaml",
    ],
    ["windows", (home: string) => ({ APPDATA: `${home}/Roaming` }), "Roaming\\service-api\\config.yaml"],
  ] as const
) {
  const variables = JSON.stringify(env("~"));

  testWithModes(`on ${platform} with ${variables} the config file is ~/${path}`, async () => {
    await using home = await configHome();
    const file = `${home.home}/${path}`;
    await Deno.mkdir(file.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(file, "profiles: { default: { timeout: 7s } }", { mode: 0o600 });
    const host = Object.assign(new FakeHost([], { env: env(home.home) }), { platform });
    expect((await readSettings({ dataDir: "/data" }, host, SILENT)).timeout).toBe(7000);
  });
}

Deno.test("without a home directory there is no config file, and no error", async () => {
  const { server } = await readSettings({ dataDir: "/data" }, new FakeHost([]), SILENT);
  expect(server).toEqual({ kind: "embedded", location: { kind: "directory", path: "/data" } });
});

for (
  const [platform, written, resolved] of [
    ["linux", "keys/a.key", "/etc/service-api/keys/a.key"],
    ["linux", "../a.key", "/etc/service-api/../a.key"],
    ["linux", "/a.key", "/a.key"],
    ["linux", "~/a.key", "/home/u/a.key"],
    ["linux", "~other/a.key", "/etc/service-api/~other/a.key"],
    ["darwin", "~/a.key", "/home/u/a.key"],
    ["darwin", "keys\\a.key", "/etc/service-api/keys\\a.key"],
    ["windows", "keys\\a.key", "C:\\Users\\u\\AppData\\keys\\a.key"],
    ["windows", "keys/a.key", "C:\\Users\\u\\AppData\\keys/a.key"],
    ["windows", "d:a.key", "d:a.key"],
    ["windows", "\\a.key", "\\a.key"],
    ["windows", "/a.key", "/a.key"],
    ["windows", "~/a.key", "C:\\Users\\u/a.key"],
    ["windows", "D:\\a.key", "D:\\a.key"],
    ["windows", "\\\\server\\share\\a.key", "\\\\server\\share\\a.key"],
    ["windows", "~\\a.key", "C:\\Users\\u\\a.key"],
  ] as const
) {
  Deno.test(`on ${platform} the path ${written} in the config file means ${resolved}`, () => {
    const env = platform === "windows" ? { USERPROFILE: "C:\\Users\\u" } : { HOME: "/home/u" };
    const config = platform === "windows" ? "C:\\Users\\u\\AppData\\config.yaml" : "/etc/service-api/config.yaml";
    const host = Object.assign(new FakeHost([], { env }), { platform });
    expect(resolvePath(written, config, host)).toBe(resolved);
  });
}

Deno.test("the debug variables of the YAML parser do not make the program print the config file", async () => {
  await using home = await configHome(ALL.replace("    key-file: ci.key\n", ""));
  const [plain, debugging] = await Promise.all(
    [{}, { LOG_STREAM: "1", LOG_TOKENS: "1" }].map((env) =>
      execute(Deno.execPath(), ["run", "--quiet", "--allow-all", "--no-check", "main.ts", "config"], {
        cwd: `${import.meta.dirname}/../../..`,
        env: { ...env, SERVICE_API_CONFIG: home.path },
      })
    ),
  );
  expect(plain?.stdout).toContain("default");
  expect(debugging).toEqual(plain);
});

onPosix("named pipes")("a named pipe instead of the config file is rejected at once", async () => {
  await using home = await configHome();
  const path = `${home.home}/pipe`;
  await new Deno.Command("mkfifo", { args: [path] }).output();
  const { code, stderr } = await home.run(["config", "--config", path]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `service-api: --config: cannot read "${path}": it is not a file.\n`,
  });
});
