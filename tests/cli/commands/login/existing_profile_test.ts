/** `login` with a profile that exists: what it keeps, and when it sends the key of the profile. */
import { expect } from "expect";
import { startServer } from "../../../client/foreign_server.ts";
import { onPosix } from "../../../posix.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";
import { type ConfigHome, configHome } from "../../config_file/config_home.ts";
import { filesIn, SECRET, startKeyServer } from "./key_server.ts";

const testWithModes = onPosix("file modes");

/** A profile that login did not write, with a comment and a key file of the user. */
function handwritten(url: string): string {
  return `profiles:\n  default:\n    base-url: ${url}/ # ours\n    key-file: mine.key\n    timeout: 1m\n`;
}

async function homeWithProfile(url: string): Promise<ConfigHome> {
  const home = await configHome(handwritten(url));
  await Deno.writeTextFile(`${home.directory}/mine.key`, SECRET, { mode: 0o600 });
  return home;
}

testWithModes(
  "login with only --key-file, or in a script with only a variable, keeps the server of the profile",
  async () => {
    await using server = startKeyServer();
    await using home = await homeWithProfile(server.url);
    await Deno.writeTextFile(`${home.directory}/mine.key`, "old");
    expect(await home.run(["login", "--key-file", "-"], { stdin: SECRET })).toEqual({
      code: 0,
      stdout: `Logged in to ${server.url} as "ci admin" (key_1). The key of the profile was replaced.\n`,
      stderr: "",
    });
    expect(await filesIn(home.directory)).toEqual({
      "config.yaml": handwritten(server.url).replace("mine.key", "keys/default.key"),
      "keys/default.key": `${SECRET}\n`,
      "mine.key": "old",
    });
    expect((await home.run(["login"], { env: { SERVICE_API_KEY: SECRET } })).code).toBe(0);
  },
);

testWithModes("login with only --base-url keeps the key if the server is the same", async () => {
  await using server = startKeyServer();
  await using home = await homeWithProfile(server.url);
  const before = await filesIn(home.directory);
  expect(await home.run(["login", "--base-url", server.url])).toEqual({
    code: 0,
    stdout: `Logged in to ${server.url} as "ci admin" (key_1). The profile keeps its key.\n`,
    stderr: "",
  });
  expect(await filesIn(home.directory)).toEqual(before);
});

testWithModes("login with only the --base-url of another server sends the key nowhere, and says why", async () => {
  await using server = startKeyServer();
  await using home = await homeWithProfile("https://old.example");
  const before = await filesIn(home.directory);
  expect(await home.run(["login", "--base-url", server.url])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      `service-api: login needs a key for ${server.url}. It does not send the key of profile "default" to another ` +
      "server. Use --key-file <file>, or --key-file - to read standard input. To keep the key, edit base-url in " +
      `${home.path}:3:15.\n`,
  });
  expect(server.requests).toEqual([]);
  expect(await filesIn(home.directory)).toEqual(before);
});

testWithModes("login without a server and a key says that one of them is enough if the profile exists", async () => {
  await using home = await homeWithProfile("https://old.example");
  const { code, stderr } = await home.run(["login"]);
  expect(code).toBe(2);
  expect(stderr).toContain("Use --base-url, --key-file or both.");
});

testWithModes("at the prompts of login, Enter keeps the server and the key of the profile", async () => {
  await using server = startKeyServer();
  await using home = await homeWithProfile(server.url);
  const before = await filesIn(home.directory);
  const { host, screen, code } = runAtTerminal(["login"], { env: { HOME: home.home } });
  expect(await screen.until(/Server/)).toContain(`? Server of profile "default": ${server.url}/█`);
  screen.press(KEYS.enter);
  expect(await screen.until(/API key/)).toContain("? API key: █\n  Enter keeps the current key");
  screen.press(KEYS.enter);
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe(`Logged in to ${server.url} as "ci admin" (key_1). The profile keeps its key.\n`);
  expect(await filesIn(home.directory)).toEqual(before);
});

testWithModes(
  "the user can go back from the key to the server, which keeps its text, and nothing is sent meanwhile",
  async () => {
    await using server = startKeyServer();
    await using home = await homeWithProfile("https://old.example");
    const { screen, code } = runAtTerminal(["login"], { env: { HOME: home.home } });
    await screen.until(/Server of/);
    screen.press(KEYS.ctrlU, ..."https://wrong.example", KEYS.enter);
    await screen.until(/Send the current key to wrong.example/);
    screen.press("n");
    await screen.until(/API key: █\n.*esc to go back/);
    screen.press(KEYS.shiftTab);
    expect(await screen.until(/Server of.*wrong.example█/)).not.toContain("API key");
    screen.press(KEYS.ctrlU, ...server.url, KEYS.enter);
    await screen.until(/\(y\/N\)/);
    screen.press(KEYS.shiftTab);
    await screen.until(/Server of.*█/);
    screen.press(KEYS.enter);
    await screen.until(/\(y\/N\)/);
    expect(server.requests).toEqual([]);
    screen.press("y");
    expect(await code).toBe(0);
  },
);

testWithModes("if the server refuses the key of the profile, Enter no longer keeps it", async () => {
  await using server = startKeyServer();
  await using home = await homeWithProfile(server.url);
  await Deno.writeTextFile(`${home.directory}/mine.key`, "revoked");
  const { screen, code } = runAtTerminal(["login", "--base-url", server.url], { env: { HOME: home.home } });
  await screen.until(/Enter keeps/);
  screen.press(KEYS.enter);
  expect(await screen.until(/2 more times[^]*API key: █/)).not.toContain("Enter keeps");
  screen.press(SECRET, KEYS.enter);
  expect(await code).toBe(0);
  expect(await filesIn(home.directory)).toMatchObject({ "keys/default.key": `${SECRET}\n` });
});

for (const [answer, sends] of [["y", true], [KEYS.enter, false]] as const) {
  const what = sends ? "sends the key of the profile" : "asks for another key";
  testWithModes(`if the user changes the server and ${sends ? "agrees" : "declines"}, login ${what}`, async () => {
    await using server = startKeyServer();
    await using home = await homeWithProfile("https://old.example");
    const { screen, code } = runAtTerminal(["login", "--base-url", server.url], { env: { HOME: home.home } });
    await screen.until(/\(y\/N\)/);
    expect(server.requests).toEqual([]);
    screen.press(answer);
    if (!sends) {
      expect(await screen.until(/API key/)).not.toContain("Enter keeps");
      screen.press(SECRET, KEYS.enter);
    }
    expect(await code).toBe(0);
    expect(await screen.text()).toContain(
      `Send the current key to ${new URL(server.url).host}? ${sends ? "yes" : "no"}`,
    );
    const config = handwritten(server.url).replace("/ #", " #");
    expect((await filesIn(home.directory))["config.yaml"]).toBe(
      sends ? config : config.replace("mine.key", "keys/default.key"),
    );
  });
}

testWithModes(
  "if another process changes the profile meanwhile, login stores nothing that the profile keeps",
  async () => {
    await using home = await homeWithProfile("https://old.example");
    await using server = startServer(async () => {
      await Deno.writeTextFile(home.path, handwritten("https://new.example"));
      return Response.json({ data: { me: { id: "key_1", name: "ci admin" } } });
    });
    await Deno.writeTextFile(home.path, handwritten(server.url));
    const { code, stderr } = await home.run(["login", "--key-file", "-"], { stdin: SECRET });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'service-api: Another login or logout changed the profile "default" meanwhile. Run the same command again.\n',
    });
    expect(await filesIn(home.directory)).toEqual({
      "config.yaml": handwritten("https://new.example"),
      "mine.key": SECRET,
    });
  },
);

/** Two profiles whose names were changed by hand: `default` to `old`, and `staging` to `default`. */
function renamed(url: string, keyFile: string): string {
  return `profiles:\n  old:\n    base-url: ${url}\n    key-file: ${keyFile}\n  default:\n    base-url: ${url}\n`;
}

for (const place of ["keys/default.key", "./keys/../keys/default.key", "its full path", "its name in capitals"]) {
  testWithModes(`login does not overwrite the key file that another profile names with ${place}`, async () => {
    await using server = startKeyServer();
    await using home = await configHome();
    const path = `${home.directory}/keys/default.key`;
    const keyFile = { "its full path": path, "its name in capitals": "keys/DEFAULT.key" }[place] ?? place;
    await Deno.mkdir(`${home.directory}/keys`, { recursive: true });
    await Deno.writeTextFile(home.path, renamed(server.url, keyFile), { mode: 0o600 });
    const owns = place !== "its name in capitals";
    if (owns) await Deno.writeTextFile(path, "the key of old\n");
    expect((await home.run(["login", "--key-file", "-"], { stdin: SECRET })).code).toBe(0);
    const files = await filesIn(home.directory);
    expect(files["config.yaml"]).toBe(`${renamed(server.url, keyFile)}    key-file: keys/default-2.key\n`);
    expect(files["keys/default-2.key"]).toBe(`${SECRET}\n`);
    expect(files["keys/default.key"]).toBe(owns ? "the key of old\n" : undefined);
  });
}

testWithModes("login does not overwrite a key file that no profile of the config file names", async () => {
  await using server = startKeyServer();
  await using home = await configHome(`profiles:\n  default:\n    base-url: ${server.url}\n`);
  await Deno.mkdir(`${home.directory}/keys`);
  await Promise.all(
    ["default", "default-2"].map((name) =>
      Deno.writeTextFile(`${home.directory}/keys/${name}.key`, "another config file uses it\n")
    ),
  );
  expect((await home.run(["login", "--key-file", "-"], { stdin: SECRET })).code).toBe(0);
  expect(await filesIn(`${home.directory}/keys`)).toEqual({
    "default.key": "another config file uses it\n",
    "default-2.key": "another config file uses it\n",
    "default-3.key": `${SECRET}\n`,
  });
});

testWithModes("login replaces the key of a renamed profile, and logout removes it", async () => {
  await using server = startKeyServer();
  const text = `profiles:\n  default:\n    base-url: ${server.url}\n    key-file: keys/staging.key\n`;
  await using home = await configHome(text);
  await Deno.mkdir(`${home.directory}/keys`);
  await Deno.writeTextFile(`${home.directory}/keys/staging.key`, "old\n");
  expect((await home.run(["login", "--key-file", "-"], { stdin: SECRET })).code).toBe(0);
  expect(await filesIn(home.directory)).toEqual({ "config.yaml": text, "keys/staging.key": `${SECRET}\n` });
  expect(await home.run(["logout"])).toEqual({
    code: 0,
    stdout: `Logged out of ${server.url}. Profile default keeps this URL.\n`,
    stderr: "",
  });
  expect(await filesIn(home.directory)).toEqual({ "config.yaml": text.replace(/ {4}key-file.*\n/, "") });
});

testWithModes("logout keeps a key file that another profile uses, and says so", async () => {
  const url = "https://keys.example.com";
  const text = `${renamed(url, "keys/default.key")}    key-file: keys/default.key\n`;
  await using home = await configHome(text);
  await Deno.mkdir(`${home.directory}/keys`);
  const path = `${home.directory}/keys/default.key`;
  await Deno.writeTextFile(path, SECRET);
  expect((await home.run(["logout"])).stdout).toBe(
    `Logged out of ${url}. Profile default keeps this URL. The file "${path}" remains, because it is also the ` +
      "key-file of profile old.\n",
  );
  expect(await filesIn(home.directory)).toEqual({
    "config.yaml": renamed(url, "keys/default.key"),
    "keys/default.key": SECRET,
  });
});

testWithModes("login refuses to send keys unencrypted before it prompts for one", async () => {
  await using home = await configHome();
  const { host, screen, code } = runAtTerminal(["login", "--base-url", "http://keys.example.com"], {
    env: { HOME: home.home },
  });
  expect(await code).toBe(2);
  expect(host.stderr.text).toContain("would send keys unencrypted to keys.example.com");
  expect(await screen.text()).not.toContain("API key");
});
