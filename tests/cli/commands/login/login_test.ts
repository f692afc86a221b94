/** `login` and `logout`: what they store, remove and keep. */
import { expect } from "expect";
import { KEYS, Screen } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";
import { relative } from "node:path";
import { login, type LoginFlags } from "../../../../src/cli/commands/login/login.ts";
import { stageFile } from "../../../../src/cli/config_file/private_file.ts";
import type { TextOptions } from "../../../../src/cli/prompts/options.ts";
import type { Prompts } from "../../../../src/cli/prompts/prompts.ts";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";
import { onPosix } from "../../../posix.ts";
import { type ConfigHome, configHome, SILENT } from "../../config_file/config_home.ts";
import { filesIn, SECRET, startKeyServer } from "./key_server.ts";

const testWithModes = onPosix("file modes");

async function modeOf(path: string): Promise<string | undefined> {
  return ((await Deno.stat(path)).mode ?? 0).toString(8).slice(-3);
}

async function logIn(home: ConfigHome, server: TestServer, ...args: readonly string[]): ReturnType<ConfigHome["run"]> {
  return await home.run(["login", "--base-url", server.url, "--key-file", "-", ...args], { stdin: `${SECRET}\n` });
}

testWithModes(
  "if the server accepts the key, login stores a profile, and the key in a file that only the user can read",
  async () => {
    await using home = await configHome();
    await using server = startKeyServer();
    expect(await logIn(home, server)).toEqual({
      code: 0,
      stdout: `Logged in to ${server.url} as "ci admin" (key_1).\n`,
      stderr: "",
    });
    expect(await filesIn(home.directory)).toEqual({
      "config.yaml": `profiles:\n  default:\n    base-url: ${server.url}\n    key-file: keys/default.key\n`,
      "keys/default.key": `${SECRET}\n`,
    });
    expect(await modeOf(home.path)).toBe("600");
    expect(await modeOf(home.directory)).toBe("700");
    expect(await modeOf(`${home.directory}/keys`)).toBe("700");
    expect(await modeOf(`${home.directory}/keys/default.key`)).toBe("600");

    expect((await home.run(["request", "--query", "{ me { id } }"])).code).toBe(0);
  },
);

testWithModes("login with a key that the server rejects stores nothing", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  await logIn(home, server);
  const before = await filesIn(home.home);
  const args = ["login", "--base-url", server.url, "--key-file", "-"];
  const { code, stdout } = await home.run(args, { stdin: "rejected" });
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(await filesIn(home.home)).toEqual(before);
});

/** Starts a server that accepts one key, alone in the header x-api-key, and takes any other request for a browser's. */
function startHeaderServer(secret = SECRET): TestServer {
  return startServer(({ headers }) => {
    const isKnown = headers.get("x-api-key") === secret;
    if (isKnown) return Response.json({ data: { me: { id: "key_1", name: "ci admin" } } });
    const message = headers.has("x-api-key") ? "API key validation failed" : "Invalid CSRF token";
    return Response.json({ errors: [{ message, extensions: { code: "UNAUTHENTICATED" } }] }, { status: 401 });
  });
}

testWithModes("if the server refuses a bearer token, login tries the header x-api-key and stores it", async () => {
  await using home = await configHome();
  await using server = startHeaderServer();
  expect(await logIn(home, server)).toEqual({
    code: 0,
    stdout: `Logged in to ${server.url} as "ci admin" (key_1). The server expects the key in the header x-api-key.\n`,
    stderr: "",
  });
  expect(await Deno.readTextFile(home.path)).toBe(
    `profiles:\n  default:\n    base-url: ${server.url}\n    key-file: keys/default.key\n    key-header: x-api-key\n`,
  );
  expect((await home.run(["request", "--query", "{ me { id } }"])).code).toBe(0);
});

testWithModes(
  "login with a key that the server refuses in both headers stores nothing, and advises no header",
  async () => {
    await using home = await configHome();
    await using server = startHeaderServer("another-secret");
    const { code, stdout, stderr } = await logIn(home, server);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toBe(
      "service-api: API key validation failed. Check that it is the whole key, and a key of this server.\n",
    );
    expect(stderr).not.toContain("--key-header");
    expect(await filesIn(home.home)).toEqual({});
  },
);

testWithModes(
  "login tries no other header if --key-header is given, or if the server asks for a bearer token",
  async () => {
    await using home = await configHome();
    await using other = startHeaderServer();
    expect((await logIn(home, other, "--key-header", "authorization")).code).toBe(3);
    expect((await logIn(home, other, "--key-header", "x-key")).code).toBe(3);
    await using challenging = startServer(() =>
      new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } })
    );
    expect((await logIn(home, challenging)).code).toBe(3);
    const sent = [...other.requests, ...challenging.requests].map(({ headers }) => headers.has("x-api-key"));
    expect(sent).toEqual([false, false, false]);
  },
);

testWithModes("the id and the name that the server reports cannot control the terminal", async () => {
  await using home = await configHome();
  const me = { id: "key\u001b[2J\u202e1", name: "ci\u009badmin" };
  await using server = startServer(() => Response.json({ data: { me } }));
  expect((await logIn(home, server)).stdout).toBe(
    `Logged in to ${server.url} as "ci\\u{9b}admin" (key\\u{1b}[2J\\u{202e}1).\n`,
  );
});

testWithModes("login prints no key name if the server does not report it", async () => {
  await using home = await configHome();
  await using server = startServer(({ body }) =>
    body.includes("apiKeys")
      ? Response.json({ data: { apiKeys: [] } })
      : Response.json({ errors: [{ message: 'Cannot query field "me".' }] }, { status: 400 })
  );
  expect(await logIn(home, server)).toMatchObject({ code: 0, stdout: `Logged in to ${server.url}.\n` });
});

testWithModes(
  "login keeps comments, other profiles, other settings and the mode of the file",
  async () => {
    await using server = startKeyServer();
    const text = `# Ours.
profiles:
  # The big one.
  default:
    timeout: 1m # it is slow
    base-url: ${server.url} # at home
    key-file: mine.key

  staging:
    base-url: 'https://staging.example'
`;
    await using home = await configHome(text);
    await Deno.chmod(home.path, 0o640);
    expect((await logIn(home, server)).code).toBe(0);
    expect((await filesIn(home.directory))["config.yaml"]).toBe(text.replace("mine.key", "keys/default.key"));
    expect(await modeOf(home.path)).toBe("640");
  },
);

testWithModes("a config file with headers is readable only by its owner after login", async () => {
  await using server = startKeyServer();
  await using home = await configHome("profiles:\n  other:\n    timeout: 1m\n");
  await Deno.chmod(home.path, 0o644);
  expect((await logIn(home, server, "--header", "X-Token: abc")).code).toBe(0);
  expect(await modeOf(home.path)).toBe("600");
});

for (const command of ["login", "logout"]) {
  testWithModes(`${command} removes the temporary files of a login that was killed`, async () => {
    await using server = startKeyServer();
    await using home = await configHome();
    await logIn(home, server);
    const stored = Object.keys(await filesIn(home.directory)).sort();
    const paths = [home.path, `${home.directory}/keys/default.key`, `${home.directory}/keys/other.key`];
    // A staged file that is never committed is what a killed process leaves.
    await Promise.all(paths.map((path) => stageFile(path, "secret", 0o600, home.host())));
    expect(Object.values(await filesIn(home.directory)).filter((text) => text === "secret")).toHaveLength(3);
    expect((await (command === "login" ? logIn(home, server) : home.run(["logout"]))).code).toBe(0);
    const expected = command === "login" ? stored : ["config.yaml"];
    expect(Object.keys(await filesIn(home.directory)).sort()).toEqual(expected);
  });
}

testWithModes("login keeps CRLF line ends, and keeps a config file that is a symbolic link", async () => {
  await using server = startKeyServer();
  await using home = await configHome();
  const target = `${home.home}/dotfiles.yaml`;
  await Deno.mkdir(home.directory, { recursive: true });
  await Deno.writeTextFile(target, "# Ours.\r\nprofiles:\r\n  a:\r\n    timeout: 1m\r\n", { mode: 0o600 });
  await Deno.symlink(target, home.path);
  expect((await logIn(home, server, "--profile", "b")).code).toBe(0);
  expect((await Deno.lstat(home.path)).isSymlink).toBe(true);
  expect(await Deno.readTextFile(target)).toBe(
    `# Ours.\r\nprofiles:\r\n  a:\r\n    timeout: 1m\r\n  b:\r\n    base-url: ${server.url}\r\n` +
      "    key-file: keys/b.key\r\n",
  );
  expect(await Deno.readTextFile(`${home.directory}/keys/b.key`)).toBe(`${SECRET}\n`);
});

for (
  const [what, text, after] of [
    ["with only comments", "# Ours.\n", "# Ours.\n"],
    ["without profiles", "profiles: # none yet\n", "# none yet\n"],
    ["with an empty mapping", "profiles: {}\n", ""],
  ] as const
) {
  testWithModes(`login adds a valid profile to a config file ${what}`, async () => {
    await using server = startKeyServer();
    await using home = await configHome(text);
    expect((await logIn(home, server)).code).toBe(0);
    const written = await Deno.readTextFile(home.path);
    expect(written).toContain(after.trim());
    expect(written).toContain(`  default:\n    base-url: ${server.url}\n    key-file: keys/default.key\n`);
    expect((await home.run(["request", "--query", "{ me { id } }"])).code).toBe(0);
  });
}

testWithModes("login does not change a config file with an invalid line, and says what to do", async () => {
  const text = "profiles:\n  staging:\n    timeout: 30\n";
  await using home = await configHome(text);
  const args = ["login", "--base-url", "http://127.0.0.1:9", "--key-file", "-"];
  const { code, stderr } = await home.run(args, { stdin: SECRET });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      `service-api: ${home.path}:3:14: timeout must be text, not a number. Put it in quotes. login does not change ` +
      "a file with an error. Correct this line, or use another file with --config.\n",
  });
  expect(await Deno.readTextFile(home.path)).toBe(text);
});

testWithModes("login stores --key-header, --header, --allow-http and the absolute path of --ca-file", async () => {
  await using server = startKeyServer();
  await using home = await configHome();
  await Deno.writeTextFile(`${home.home}/ca.pem`, "-----BEGIN CERTIFICATE-----\n");
  const pem = relative(Deno.cwd(), `${home.home}/ca.pem`);
  const flags = ["--key-header", "X-API-Key", "--header", "X-Team: ops", "--ca-file", pem, "--allow-http"];
  expect((await logIn(home, server, ...flags)).code).toBe(0);
  expect(await Deno.readTextFile(home.path)).toBe(`profiles:
  default:
    base-url: ${server.url}
    key-file: keys/default.key
    key-header: X-API-Key
    headers:
      X-Team: ops
    ca-file: ${Deno.cwd()}/${pem}
    allow-http: true
`);
  expect(Object.fromEntries(server.requests[0]?.headers ?? [])).toMatchObject({ "x-api-key": SECRET, "x-team": "ops" });
});

testWithModes("login to another server removes the settings for the old server, and does not send them", async () => {
  await using server = startKeyServer();
  const text = `profiles:
  default:
    base-url: https://old.example
    key-file: keys/default.key
    headers: { X-Old: hidden }
    allow-http: true
    timeout: 1m
`;
  await using home = await configHome(text);
  expect((await logIn(home, server)).code).toBe(0);
  expect(await Deno.readTextFile(home.path)).toBe(
    `profiles:\n  default:\n    base-url: ${server.url}\n    key-file: keys/default.key\n    timeout: 1m\n`,
  );
  expect(JSON.stringify(server.requests.map(({ headers }) => [...headers]))).not.toMatch(/hidden/);
});

testWithModes("a second login replaces the server and the key, and says so", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  await using later = startKeyServer("new-secret");
  await logIn(home, server);
  const args = ["login", "--base-url", later.url, "--key-file", "-"];
  expect(await home.run(args, { stdin: "new-secret" })).toEqual({
    code: 0,
    stdout:
      `Logged in to ${later.url} as "ci admin" (key_1). The key of the profile was replaced. Profile "default": ${server.url} is now ${later.url}.\n`,
    stderr: "",
  });
  expect(await filesIn(home.directory)).toEqual({
    "config.yaml": `profiles:\n  default:\n    base-url: ${later.url}\n    key-file: keys/default.key\n`,
    "keys/default.key": "new-secret\n",
  });
});

testWithModes("login creates the file that --config names", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  const config = `${home.home}/new/mine.yaml`;
  expect((await logIn(home, server, "--config", config, "--profile", "a")).code).toBe(0);
  expect(Object.keys(await filesIn(`${home.home}/new`)).toSorted()).toEqual(["keys/a.key", "mine.yaml"]);
  const args = ["request", "--config", config, "--profile", "a", "--query", "{ me { id } }"];
  expect((await home.run(args)).code).toBe(0);
});

for (
  const [what, args, env, message] of [
    [
      "without a server",
      ["--key-file", "-"],
      {},
      "login needs a server and cannot prompt for it here. Use --base-url.",
    ],
    [
      "without a key",
      ["--base-url", "https://a.example"],
      {},
      "login needs a key and cannot prompt for it here. Use --key-file <file>, or --key-file - to read standard input.",
    ],
    [
      "without a home directory",
      [],
      { HOME: "" },
      "Could not find your home directory, so there is no default config file. Use --config or SERVICE_API_CONFIG.",
    ],
    [
      "with an invalid profile name",
      ["--profile", "../a"],
      {},
      "--profile must consist of at most 64 ASCII letters, digits, dots, underscores and hyphens, and begin with a letter or digit.",
    ],
    [
      "with a profile name that differs from another only in case",
      ["--profile", "Staging"],
      {},
      "--profile: Staging differs from the existing profile staging only in case.",
    ],
  ] as const
) {
  testWithModes(`login ${what} is a usage error`, async () => {
    await using home = await configHome("profiles: { staging: {} }");
    const { code, stdout, stderr } = await home.run(["login", ...args], { env, stdin: SECRET });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(`service-api: ${message}\n`);
  });
}

testWithModes("login warns about variables that override the stored profile", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  const args = ["login", "--base-url", server.url, "--key-file", "-"];
  const env = { SERVICE_API_URL: "https://other.example", SERVICE_API_KEY: "hidden" };
  const { code, stderr } = await home.run(args, { stdin: SECRET, env });
  expect(code).toBe(0);
  expect(stderr).toBe(
    "SERVICE_API_URL is set and overrides the stored profile. Unset it to use the profile.\n" +
      "SERVICE_API_KEY is set and overrides the stored profile. Unset it to use the profile.\n",
  );
  const store = await home.run(args, { stdin: SECRET, env: { SERVICE_API_DATA_DIR: "/d" } });
  expect(store.stderr).toMatch(/^SERVICE_API_DATA_DIR is set and overrides/);
});

testWithModes("login reads the server and the key from variables", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  const env = { SERVICE_API_URL: `${server.url}/graphql`, SERVICE_API_KEY: SECRET };
  expect(await home.run(["login"], { env })).toMatchObject({ code: 0, stderr: "" });
  expect(await Deno.readTextFile(home.path)).toContain(`base-url: ${server.url}\n`);
});

testWithModes("if the server rejects the key of a variable or a profile, login says where this key is", async () => {
  await using server = startKeyServer();
  await using home = await configHome(`profiles:\n  prod: { base-url: "${server.url}", key-file: own.key }\n`);
  await Deno.writeTextFile(`${home.directory}/own.key`, "wrong", { mode: 0o600 });
  const logInWith = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
    (await home.run(["login", "--base-url", server.url, ...args], { env })).stderr;
  const rest = "Check that it is the whole key, and a key of this server.\n";
  expect(await logInWith([], { SERVICE_API_KEY: "wrong" })).toContain(`The key comes from SERVICE_API_KEY. ${rest}`);
  expect(await logInWith([], { SERVICE_API_KEY_FILE: `${home.directory}/own.key` }))
    .toContain(`The key comes from SERVICE_API_KEY_FILE. ${rest}`);
  expect(await logInWith(["--profile", "prod"], {})).toContain(`The key comes from profile "prod". ${rest}`);
});

testWithModes(
  "at a terminal, login says first that it uses the key of a variable, and asks for a key if the server rejects it",
  async () => {
    await using server = startKeyServer();
    await using home = await configHome();
    const { host, screen, code } = runAtTerminal(["login"], { env: { HOME: home.home, SERVICE_API_KEY: "wrong" } });
    expect((await screen.until(/Server of/)).replaceAll("\n", " ")).toMatch(
      /^login uses the key from SERVICE_API_KEY\. To enter another key, unset this variable\. \? Server of/,
    );
    screen.press(...server.url, KEYS.enter);
    expect((await screen.until(/API key: █/)).replaceAll(/\s+/g, " ")).toContain(
      "No such key. The key comes from SERVICE_API_KEY. Check that it is the whole key, and a key of this server. " +
        "Enter another key.",
    );
    screen.press(SECRET, KEYS.enter);
    expect(await code).toBe(0);
    expect(await filesIn(home.directory)).toMatchObject({ "keys/default.key": `${SECRET}\n` });
    expect(host.stderr.text).toContain("SERVICE_API_KEY is set and overrides the stored profile.");
  },
);

/** Prompts that return prepared answers. `asked` records the options of each prompt. */
function preparedPrompts(answers: { readonly text: string; readonly secret: string }): {
  readonly prompts: Prompts;
  readonly asked: (TextOptions & { readonly kind: string })[];
} {
  const asked: (TextOptions & { readonly kind: string })[] = [];
  const unexpected = (): never => {
    throw new Error("unexpected prompt");
  };
  const answer = (kind: "text" | "secret") => (options: TextOptions): Promise<string> => {
    asked.push({ kind, ...options });
    options.check?.(answers[kind]);
    return Promise.resolve(answers[kind]);
  };
  return {
    asked,
    prompts: {
      text: answer("text"),
      secret: answer("secret"),
      confirm: unexpected,
      selectOne: unexpected,
      searchOne: unexpected,
      select: unexpected,
      permissions: unexpected,
    },
  };
}

async function atTerminal(home: ConfigHome, flags: LoginFlags, prompts: Prompts): Promise<string> {
  const terminal = { isTerminal: () => true };
  const host = home.host({ env: { NO_COLOR: "1" } });
  Object.assign(host.stdin, terminal);
  Object.assign(host.stderr, terminal);
  Object.assign(host, { openTerminal: () => Promise.resolve(new Screen()) });
  await login(flags, host, SILENT, () => Promise.resolve(prompts));
  return host.stdout.text + host.stderr.text;
}

testWithModes("at a terminal login prompts for the server and then for the key", async () => {
  await using home = await configHome("profiles: { default: { base-url: 'https://old.example' } }");
  await using server = startKeyServer();
  const { prompts, asked } = preparedPrompts({ text: server.url, secret: ` ${SECRET} ` });
  const output = await atTerminal(home, {}, prompts);
  expect(asked.map(({ kind, initial }) => [kind, initial])).toEqual([
    ["text", "https://old.example"],
    ["secret", undefined],
  ]);
  expect(output.replaceAll("\n", " ")).toContain(
    `Logged in to ${server.url} as "ci admin" (key_1). Profile "default": https://old.example is now ${server.url}. `,
  );
  expect(await Deno.readTextFile(`${home.directory}/keys/default.key`)).toBe(`${SECRET}\n`);
});

testWithModes(
  "at a terminal login prompts only for missing values, and never with --no-input",
  async () => {
    await using home = await configHome();
    await using server = startKeyServer();
    const { prompts, asked } = preparedPrompts({ text: "none", secret: SECRET });
    await atTerminal(home, { baseUrl: server.url }, prompts);
    expect(asked.map(({ kind }) => kind)).toEqual(["secret"]);
    const other = { baseUrl: "https://other.example", input: false };
    await expect(atTerminal(home, other, prompts)).rejects.toThrow(/Use --key-file/);
  },
);

for (
  const [what, text, secret, message] of [
    ["a server without TLS", "http://keys.example.com", SECRET, /unencrypted to keys\.example\.com/],
    [
      "a key of two words",
      "https://keys.example.com",
      "two words",
      /^The key must contain exactly one word/,
    ],
  ] as const
) {
  testWithModes(`login rejects ${what} at the prompt`, async () => {
    await using home = await configHome();
    const { prompts } = preparedPrompts({ text, secret });
    await expect(atTerminal(home, {}, prompts)).rejects.toThrow(message);
    expect(await filesIn(home.home)).toEqual({});
  });
}

testWithModes(
  "logout removes the key and keeps the server, so that the embedded server is not used instead",
  async () => {
    await using home = await configHome();
    await using server = startKeyServer();
    await logIn(home, server);
    expect(await home.run(["logout"])).toEqual({
      code: 0,
      stdout: `Logged out of ${server.url}. Profile default keeps this URL.\n`,
      stderr: "",
    });
    expect(await filesIn(home.directory)).toEqual({
      "config.yaml": `profiles:\n  default:\n    base-url: ${server.url}\n`,
    });
    const { code, stderr } = await home.run(["request", "--query", "{ me { id } }", "--json"]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" });

    expect(await home.run(["logout"])).toEqual({
      code: 0,
      stdout: "Not logged in: profile default has no key.\n",
      stderr: "",
    });
  },
);

testWithModes("logout says if the profile 'default' does not exist", async () => {
  await using home = await configHome();
  expect(await home.run(["logout"])).toEqual({
    code: 0,
    stdout: 'Not logged in: there is no profile "default".\n',
    stderr: "",
  });
});

testWithModes("if the profile 'default' does not exist, logout names the profiles that exist", async () => {
  await using home = await configHome("profiles: { a: {}, b: {} }");
  expect((await home.run(["logout"])).stdout).toBe(
    `Not logged in: there is no profile "default". "${home.path}" has the profiles a and b: add --profile a.\n`,
  );
});

testWithModes("logout does not remove a key file that login did not write", async () => {
  await using home = await configHome("profiles:\n  default:\n    key-file: mine.key\n");
  await Deno.writeTextFile(`${home.directory}/mine.key`, SECRET);
  const { code, stderr } = await home.run(["logout"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    `service-api: ${home.path}:3:15: key-file is "${home.directory}/mine.key", which login did not write. Remove this ` +
      "file yourself.\n",
  );
  expect(await Deno.readTextFile(`${home.directory}/mine.key`)).toBe(SECRET);
});

testWithModes("logout warns if a variable still contains a key", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  await logIn(home, server);
  expect((await home.run(["logout"], { env: { SERVICE_API_KEY: SECRET } })).stderr).toBe(
    "SERVICE_API_KEY is still set: unset it too.\n",
  );
});

testWithModes("login and logout never print the key, not even in the debug log", async () => {
  await using home = await configHome();
  await using server = startKeyServer();
  const env = { LOG_LEVEL: "debug" };
  const args = ["login", "--base-url", server.url, "--key-file", "-"];
  const runs = [
    await home.run(args, { stdin: SECRET, env }),
    await home.run(args, { stdin: `${SECRET}x`, env }),
    await home.run(args, { stdin: `${SECRET} two`, env }),
    await home.run(["config"], { env }),
    await home.run(["logout"], { env }),
  ];
  expect(runs.map(({ code }) => code)).toEqual([0, 3, 2, 0, 0]);
  expect(runs.map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain(SECRET.slice(0, 20));
});

testWithModes("concurrent logins keep each other's changes, and so do concurrent logouts", async () => {
  await using server = startServer(() => Response.json({ data: { me: { id: "1", name: "me" } } }));
  await using home = await configHome();
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
  await Promise.all(names.map((name) => logIn(home, server, "--profile", name)));
  const text = await Deno.readTextFile(home.path);
  expect(names.filter((name) => !text.includes(`key-file: keys/${name}.key`))).toEqual([]);
  await Promise.all(names.map((name) => home.run(["logout", "--profile", name])));
  expect(await Deno.readTextFile(home.path)).not.toContain("key-file");
  expect(Object.keys(await filesIn(home.directory))).toEqual(["config.yaml"]);
});

testWithModes(
  "login asks again for a key that the server rejects, at most three times, and hides what is typed meanwhile",
  async () => {
    await using server = startKeyServer();
    for (const [last, expected] of [[SECRET, 0], ["wrong-3", 3]] as const) {
      // deno-lint-ignore no-await-in-loop -- one run at a time
      await using home = await configHome();
      const { host, screen, code } = runAtTerminal(["login", "--base-url", server.url], { env: { HOME: home.home } });
      const hiding: boolean[] = [];
      Object.assign(host, {
        hideTyping: () => {
          hiding.push(true);
          return () => hiding.push(false);
        },
      });
      // deno-lint-ignore no-await-in-loop -- one step at a time
      expect(await screen.until(/API key/)).toBe(
        `The key for ${server.url} (--base-url) will be stored as profile\n"default".\n? API key: █`,
      );
      screen.press("wrong-1", KEYS.enter);
      // deno-lint-ignore no-await-in-loop -- one step at a time
      await screen.until(/2 more times[^]*API key: █/);
      screen.press("wrong-2", KEYS.enter);
      // deno-lint-ignore no-await-in-loop -- one step at a time
      await screen.until(/1 more time\.[^]*API key: █/);
      screen.press(last, KEYS.enter);
      // deno-lint-ignore no-await-in-loop -- one step at a time
      expect(await code).toBe(expected);
      expect(hiding).toEqual([true, false, true, false, true, false]);
      expect(host.stderr.text).not.toMatch(/wrong|service-api login/);
      // deno-lint-ignore no-await-in-loop -- one step at a time
      expect(Object.keys(await filesIn(home.directory))).toHaveLength(expected === 0 ? 2 : 0);
    }
  },
);

const OFFLINE = "http://127.0.0.1:1";

for (const key of ["y", KEYS.enter]) {
  const isStored = key === "y";
  const what = isStored ? "if the user agrees" : "only if the user agrees";
  testWithModes(`if the server cannot be reached, login stores the key without a check ${what}`, async () => {
    await using home = await configHome();
    const args = ["login", "--profile", "prod", "--base-url", OFFLINE];
    const { host, screen, code } = runAtTerminal(args, { env: { HOME: home.home } });
    await screen.until(/API key/);
    screen.press(SECRET, KEYS.enter);
    expect(await screen.until(/without a check\? \(y\/N\)/)).toMatch(/127\.0\.0\.1:1/);
    expect(await filesIn(home.directory)).toEqual({});
    screen.press(key);
    expect(await code).toBe(isStored ? 0 : 4);
    if (isStored) {
      expect(host.stdout.text).toBe(`Stored the profile "prod" for ${OFFLINE}. The key was not checked.\n`);
      expect(await filesIn(home.directory)).toEqual({
        "config.yaml": `profiles:\n  prod:\n    base-url: ${OFFLINE}\n    key-file: keys/prod.key\n`,
        "keys/prod.key": `${SECRET}\n`,
      });
    } else {
      expect(await screen.text()).toMatch(/Nothing was stored\. Log in again when the server is available\.$/);
      expect(await filesIn(home.directory)).toEqual({});
    }
  });
}

testWithModes(
  "if the server cannot be reached, login without prompts stores nothing and says which file to edit",
  async () => {
    await using home = await configHome();
    const { code, stderr } = await home.run(["login", "--base-url", OFFLINE, "--key-file", "-"], { stdin: SECRET });
    expect(code).toBe(4);
    expect(stderr).toContain(
      `Nothing was stored. To store a profile without a check, edit "${home.path}"; service-api config --help describes it.`,
    );
    expect(await filesIn(home.directory)).toEqual({});
  },
);

testWithModes("login takes a server without a scheme, with --base-url and at the prompt", async () => {
  await using server = startKeyServer();
  const host = new URL(server.url).host;
  await using home = await configHome();
  const args = ["login", "--base-url", host, "--key-file", "-"];
  expect((await home.run(args, { stdin: SECRET })).stdout).toContain(`Logged in to ${server.url} as`);
  const { prompts } = preparedPrompts({ text: host, secret: SECRET });
  expect(await atTerminal(home, {}, prompts)).toContain(`Logged in to ${server.url} as`);
});

/** What login writes to standard error if a server reports `me`: in a pipe, and at a terminal. */
async function logInAs(
  me: Readonly<Record<string, unknown>>,
): Promise<{ readonly piped: string; readonly shown: string }> {
  await using server = startServer(() =>
    Response.json({ data: { me: { id: "key_1", name: "ci", rights: [], ...me } } })
  );
  await using home = await configHome();
  const piped = (await logIn(home, server)).stderr;
  const { prompts } = preparedPrompts({ text: server.url, secret: SECRET });
  const shown = await atTerminal(home, {}, prompts);
  return { piped, shown: shown.replace(/^Logged in to .*\nThe key for .*\n/, "") };
}

testWithModes("at a terminal, login shows what the key may do and until when", async () => {
  const resources = ["DISK", "DOCKER", "FLASH", "INFO", "LOGS", "ME", "VMS"];
  const permissions = [
    ...resources.map((resource) => ({ resource, actions: ["READ_ANY"] })),
    { resource: "VMS", actions: ["UPDATE_ANY"] },
  ];
  expect(await logInAs({ roles: ["GUEST"], permissions, expiresAt: "2000-01-01T00:00:00Z" })).toEqual({
    piped: "",
    shown: expect.stringMatching(
      /^ {2}Roles {8}GUEST\n {2}Permissions {2}READ_ANY on 7 resources, VMS:UPDATE_ANY\n {2}Expires {6}\d+y ago \(2000-01-01T00:00:00Z\)\n$/,
    ),
  });
});

testWithModes("login warns if the key has the role ADMIN, also in a pipe", async () => {
  const warning = `Warning: this key has the role ADMIN. Any program that runs as you can read it,
and can then create, change and delete every key. For daily work, create a key
with fewer rights (service-api apikey create) and log in with it.
`;
  expect(await logInAs({ roles: ["ADMIN"], permissions: [], expiresAt: null })).toEqual({
    piped: warning.trimEnd().replaceAll("\n", " ") + "\n",
    shown: `  Roles        ADMIN\n${warning}`,
  });
});

testWithModes("the key that the user types at the prompt of login is never on the screen", async () => {
  await using server = startServer(() => Response.json({ data: { me: { id: "key_1", name: "ci admin" } } }));
  await using home = await configHome();
  const { host, screen, code } = runAtTerminal(["login"], { env: { HOME: home.home } });
  expect(await screen.until(/Server/)).toBe(
    '? Server of profile "default": █\n  for example https://keys.example.com or localhost:4000',
  );
  screen.press(..."host");
  expect(await screen.until(/host█/)).toContain("for example");
  screen.press(KEYS.enter);
  await screen.until(/must be a URL/);
  screen.press(KEYS.ctrlU, ...server.url, KEYS.enter);
  await screen.until(/API key/);
  screen.press(SECRET, KEYS.enter);
  expect(await code).toBe(0);
  const target = `The key for ${server.url} will be stored as profile "default".`;
  expect(await screen.text()).toBe(`✔ Server of profile "default": ${server.url}\n${target}\n✔ API key: (not shown)`);
  expect(host.stdout.text).toBe(`Logged in to ${server.url} as "ci admin" (key_1).\n`);
  expect(screen.raw + host.stderr.text).not.toContain(SECRET);
  expect(await filesIn(home.directory)).toMatchObject({ "keys/default.key": `${SECRET}\n` });
});
