/** `apikey --delete` at a terminal: the list of keys, the question whether they are meant, and what comes of it. */
import { expect } from "expect";
import { widthOf } from "../../../../src/cli/terminal/text_width.ts";
import { startServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { type AtTerminal, runAtTerminal, type Running, steady } from "../../../program/terminal_host.ts";
import { type KeyServer, listedKeys, startKeyServer } from "./key_server.ts";

function deleteAt({ url }: Pick<KeyServer, "url">, flags: readonly string[] = [], at: AtTerminal = {}): Running {
  return runAtTerminal(["apikey", "--delete", ...flags], { ...at, env: { SERVICE_API_URL: url, ...at.env } });
}

Deno.test("without a mode apikey asks which, then lists the keys, asks whether they are meant, and says what is gone", async () => {
  await using installation = await embedded(inProcess);
  const create = ["apikey", "--create", "--name"];
  await installation.program([...create, "ci deploy", "--roles", "VIEWER", "--description", "for the pipeline"]);
  await installation.program([...create, "部署密钥", "--roles", "VIEWER,GUEST"]);
  await installation.program([...create, "مفتاح", "--permissions", "DOCKER:READ_ANY", "--description", "two\nlines"]);
  const { host, screen, code } = runAtTerminal(["apikey"], { env: installation.env });
  expect(await screen.until(/\?/)).toBe(`\
? What is to be done?
❯ create  a key, and print its secret, once
  delete  keys, ticked in a list`);
  screen.press(KEYS.down, KEYS.enter);
  expect(steady(await screen.until(/Keys to delete/))).toBe(`\
✔ What is to be done? delete
? Keys to delete: █ (0 ticked, 3)
❯ ◯ ci deploy  VIEWER        2026-01-02  for the pipeline
  ◯ 部署密钥   VIEWER,GUEST  2026-01-02
  ◯ مفتاح                    2026-01-02  two\\u{a}lines
  space ticks · enter ends · letters filter · ctrl-a ticks all`);
  screen.press(KEYS.space, KEYS.down, KEYS.space, KEYS.enter);
  expect(await screen.until(/Delete/)).toBe(`\
✔ What is to be done? delete
✔ Keys to delete: ci deploy, 部署密钥
? Delete 2 keys? Requests with them fail at once. (y/N)`);
  screen.press("y");
  expect(await code).toBe(0);
  expect(await screen.text()).toBe(`\
✔ What is to be done? delete
✔ Keys to delete: ci deploy, 部署密钥
✔ Delete 2 keys? Requests with them fail at once. yes`);
  expect(host.stdout.text).toBe("Successfully deleted 2 API keys\n");
  expect(screen.isRestored).toBe(true);
  const { stdout } = await installation.program(["request", "--query", "{ apiKeys { name } }"]);
  expect(JSON.parse(stdout).data.apiKeys).toEqual([{ name: "مفتاح" }]);
});

Deno.test("the list is filtered by name, description, role and day", async () => {
  await using server = startKeyServer([
    ...listedKeys(["one"], { description: "for backups" }),
    ...listedKeys(["two"], { id: "2", roles: ["ADMIN"] }),
    ...listedKeys(["three"], { id: "3", createdAt: "2024-05-06T00:00:00Z" }),
  ]);
  const { screen, code } = deleteAt(server);
  await screen.until(/Keys to delete/);
  for (const [typed, name] of [["two", "two"], ["backup", "one"], ["admin", "two"], ["2024-05", "three"]]) {
    screen.press(KEYS.ctrlU, ...String(typed));
    // deno-lint-ignore no-await-in-loop -- one filter after the other
    expect(await screen.until(new RegExp(`${typed}█ \\(0 ticked, 1 of 3\\)`))).toContain(`❯ ◯ ${name} `);
  }
  screen.press(KEYS.space, KEYS.enter);
  expect(await screen.until(/Delete/)).toMatch(/\? Delete the key "three"\? Requests with it fail at once\. \(y\/N\)$/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(server.keys.map(({ name }) => name)).toEqual(["one", "two"]);
});

for (const [columns, LANG] of [[80, "C.UTF-8"], [40, "C.UTF-8"], [30, "C"], [200, "C"]] as const) {
  Deno.test(`what other servers say of keys moves no cursor and takes one line each in ${columns} columns`, async () => {
    const description = "\x1b[2J\r\nsecond line \u202e reversed ".repeat(9);
    await using server = startKeyServer(
      listedKeys(["\x1b[31mred", "两".repeat(120), "مفتاح ".repeat(40), "n".repeat(255)], { description }),
    );
    const { screen, code } = deleteAt(server, [], { columns, env: { LANG } });
    const lines = (await screen.until(/Keys to delete/)).split("\n");
    expect(lines).toHaveLength(6);
    expect(lines[1]).toContain("\\u{1b}[31mred");
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
    for (const sequence of ["\x1b[31m", "\x1b[2J", "\u202e"]) expect(screen.raw).not.toContain(sequence);
    screen.press(KEYS.ctrlA, KEYS.enter);
    await screen.until(/Delete 4/);
    screen.press("n");
    await code;
  });
}

Deno.test("a server that tells nothing but names has its keys listed by them", async () => {
  const data = { apiKeys: [{ id: "1", name: "one" }, { id: "2", name: "two" }] };
  await using server = startServer(({ body }) =>
    Response.json(body.includes("createdAt") ? { errors: [{ message: "Cannot query field" }] } : { data })
  );
  const { screen, code } = deleteAt(server);
  expect(await screen.until(/Keys to delete/)).toContain("\n❯ ◯ one\n  ◯ two\n");
  screen.press(KEYS.ctrlC);
  expect(await code).toBe(130);
});

Deno.test("nothing ticked deletes nothing: 0", async () => {
  await using server = startKeyServer(listedKeys(["one"]));
  const { host, screen, code } = deleteAt(server);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.enter);
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("No keys selected for deletion\n");
  expect(server.keys).toHaveLength(1);
});

Deno.test("where there is no key nothing is asked: 0", async () => {
  await using server = startKeyServer([]);
  const { host, screen, code } = deleteAt(server);
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("No API keys found to delete\n");
  expect(screen.raw).not.toContain("?");
});

Deno.test("Enter alone does not delete: 130, and nothing is gone", async () => {
  await using server = startKeyServer(listedKeys(["one"]));
  const { host, screen, code } = deleteAt(server);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.space, KEYS.enter);
  await screen.until(/Delete/);
  screen.press(KEYS.enter);
  expect(await code).toBe(130);
  expect(await screen.text()).toMatch(/ no\nservice-api: Nothing was deleted\.$/);
  expect(host.stdout.text).toBe("");
  expect(server.keys).toHaveLength(1);
});

Deno.test("--yes deletes what is ticked without another question", async () => {
  await using server = startKeyServer(listedKeys(["one", "two"]));
  const { screen, code } = deleteAt(server, ["--yes"]);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.space, KEYS.enter);
  expect(await code).toBe(0);
  expect(await screen.text()).toBe("✔ Keys to delete: one");
  expect(server.keys.map(({ name }) => name)).toEqual(["two"]);
});

for (const asking of ["the list", "the confirmation"] as const) {
  for (const ending of ["Ctrl-C", "SIGINT", "SIGTERM", "the end of the input"] as const) {
    Deno.test(`${ending} at ${asking}: 130, nothing is deleted, and the terminal is as it was`, async () => {
      await using server = startKeyServer(listedKeys(["one", "two"]));
      const { host, screen, code } = deleteAt(server, ["--json"]);
      await screen.until(/Keys to delete/);
      if (asking === "the confirmation") {
        screen.press(KEYS.ctrlA, KEYS.enter);
        await screen.until(/Delete 2/);
      }
      if (ending === "Ctrl-C") screen.press(KEYS.ctrlC);
      else if (ending === "the end of the input") screen.input.end();
      else host.handlers.get(ending)?.();
      expect(await code).toBe(130);
      expect(JSON.parse(host.stdout.text)).toEqual({
        deleted: 0,
        error: "Interrupted. Nothing was changed.",
        code: "INTERRUPTED",
      });
      expect(screen.isRestored).toBe(true);
      expect(server.keys).toHaveLength(2);
    });
  }
}

for (const breakage of ["--no-input", "a pipe"]) {
  Deno.test(`--delete without a name and with ${breakage} is a usage error that names --name`, async () => {
    await using server = startKeyServer(listedKeys(["one"]));
    const running = deleteAt(server, breakage === "a pipe" ? [] : [breakage]);
    if (breakage === "a pipe") running.host.stdin.isTerminal = () => false;
    expect(await running.code).toBe(2);
    expect(running.host.stderr.text).toContain("--name");
    expect(server.requests).toEqual([]);
  });
}

Deno.test("10,000 keys are listed, filtered and deleted", async () => {
  await using server = startKeyServer(listedKeys(Array.from({ length: 10_000 }, (_, index) => `key ${index}`)));
  const { host, screen, code } = deleteAt(server);
  await screen.until(/\(0 ticked, 10000\)/);
  screen.press(..."key999", KEYS.ctrlA, KEYS.ctrlU);
  await screen.until(/\(11 ticked, 10000\)/);
  screen.press(KEYS.ctrlA, KEYS.enter);
  await screen.until(/Delete 10000 keys\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Successfully deleted 10000 API keys\n");
  expect(server.keys).toEqual([]);
});
