/** Deleting the key in use or the last key with the role ADMIN: marks in lists, and the prompt for the name. */
import { expect } from "expect";
import { startForeignServer } from "../../../client/foreign_server.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";
import { atTerminal, ciKeys, remove, withKeys } from "./deletion_server.ts";
import { listedKeys, startKeyServer } from "./key_server.ts";

Deno.test("a list of matching keys marks the key in use and the last ADMIN, which is deleted after the user typed its name", async () => {
  await withKeys(await ciKeys(1), async ({ env, names }) => {
    const { host, screen, code } = atTerminal(env, "--match", "*");
    expect(await screen.until(/Keys to delete/)).toContain(
      "❯ ◉ admin [in use, last ADMIN]  ADMIN  used now    created 2026-02-03\n",
    );
    screen.press(KEYS.enter);
    await screen.until(/Delete 2 keys\?/);
    screen.press("y");
    await screen.until(/"admin" is the key in use\. Without it, no key has the role ADMIN\./);
    screen.press(..."admin", KEYS.enter);
    expect(await code).toBe(0);
    expect(host.stdout.text).toBe("Successfully deleted 2 API keys\n");
    expect(await names()).toEqual([]);
  });
});

Deno.test("without a terminal, the key in use or the last ADMIN among several keys is deleted only with --yes", async () => {
  await withKeys(await ciKeys(1), async ({ env, names }) => {
    const flags = ["--name", "admin", "--name", "ci 1"];
    const refused = await inProcess(remove(...flags, "--json"), { env });
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.stdout)).toEqual({
      deleted: 0,
      error:
        '"admin" is the key in use. Without it, no key has the role ADMIN. To delete it without a prompt, add --yes.',
      code: "USAGE",
    });
    expect(await names()).toHaveLength(2);
    const { code, stdout } = await inProcess(remove(...flags, "--yes"), { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Successfully deleted 2 API keys\n" });
    expect(await names()).toEqual([]);
  });
});

Deno.test("at a terminal, the key in use among several keys is deleted only after the user typed its name", async () => {
  await withKeys(await ciKeys(1), async ({ env, names }) => {
    const { screen, code } = atTerminal(env, "--name", "admin", "--name", "ci 1");
    await screen.until(/"admin" is the key in use\./);
    screen.press(..."admin", KEYS.enter);
    expect(await code).toBe(0);
    expect(await names()).toEqual([]);
  });
});

Deno.test("on a server with only the published schema, the last ADMIN among several keys is deleted only with --yes", async () => {
  await using server = startForeignServer([
    { id: "1", name: "boss", key: "secret", roles: ["ADMIN"] },
    { id: "2", name: "other", key: "secret" },
  ]);
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" };
  const flags = ["--name", "boss", "--name", "other"];
  const refused = await inProcess(remove(...flags), { env });
  expect(refused).toEqual({
    code: 2,
    stdout: "",
    stderr: 'service-api: Without "boss", no key has the role ADMIN. To delete it without a prompt, add --yes.\n',
  });
  expect(server.keys).toHaveLength(2);
  expect((await inProcess(remove(...flags, "--yes"), { env })).code).toBe(0);
  expect(server.keys).toEqual([]);
});

Deno.test("on a server that does not report which key is in use, several keys are deleted without a prompt", async () => {
  await using server = startKeyServer(listedKeys(["one", "two"]));
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" };
  const { code, stdout } = await inProcess(remove("--id", "1", "--id", "2"), { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Successfully deleted 2 API keys\n" });
});

Deno.test("if the user chose deletion at the prompt, the key in use is deleted only after the user typed its name", () =>
  withKeys([], async ({ env, names }) => {
    const { screen, code } = runAtTerminal(["apikey", "--name", "admin"], { env, columns: 100 });
    await screen.until(/What do you want to do/);
    screen.press(KEYS.up, KEYS.enter);
    await screen.until(/Delete the key "admin"\?/);
    screen.press("y");
    await screen.until(/"admin" is the key in use\./);
    screen.press(..."admin", KEYS.enter);
    expect(await code).toBe(0);
    expect(await names()).toEqual([]);
  }));

Deno.test("a single key with a given name is deleted without a prompt and with two requests, even if it is the key in use", () =>
  withKeys([], async ({ env, names, requests }) => {
    const { host, code } = atTerminal(env, "--name", "admin");
    expect(await code).toBe(0);
    expect(host.stdout.text).toBe("Successfully deleted 1 API key\n");
    expect(await names()).toEqual([]);
    expect(requests).toEqual(["other", "delete"]);
  }));

Deno.test("the list of keys marks the key in use, which is deleted only after the user typed its name", () =>
  withKeys([], async ({ env, names }) => {
    const { screen, code } = atTerminal(env);
    expect(await screen.until(/Keys to delete/)).toContain(
      "❯ ◯ admin [in use, last ADMIN]  ADMIN  used now  created 2026-02-03\n",
    );
    screen.press(KEYS.space, KEYS.enter);
    await screen.until(/Delete the key "admin"\?/);
    screen.press("y");
    await screen.until(/"admin" is the key in use\./);
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
    expect(await names()).toEqual(["admin"]);
  }));
