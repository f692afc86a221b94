/** Deleting the key in use or the last key with the role ADMIN: marks in lists, and the prompt for the name. */
import { expect } from "expect";
import { warnAboutLockout } from "../../../../src/cli/commands/apikey/delete/lockout_warning.ts";
import { startForeignServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { FakeHost, inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";
import { atTerminal, ciKeys, remove, withKeys } from "./deletion_server.ts";
import { newKey } from "../../../store/stored_key.ts";
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

const IN_USE = 'Warning: "admin" was the key in use (SERVICE_API_KEY). Its secret no longer works. Use another key.\n';
const NO_ADMIN =
  "Warning: No valid key has the role ADMIN any more. To create one without a key, run this on the machine of the " +
  "store. If a profile or a variable selects a server there, add the --data-dir or --database-url of serve: " +
  "service-api apikey --create --name 'first admin' --roles ADMIN\n";

Deno.test("a single key with a given name is deleted without a prompt; a warning says that it was in use and the last ADMIN", () =>
  withKeys([], async ({ env, names }) => {
    const outcome = await inProcess(remove("--name", "admin"), { env });
    expect(outcome).toEqual({ code: 0, stdout: "Successfully deleted 1 API key\n", stderr: `${IN_USE}${NO_ADMIN}` });
    expect(await names()).toEqual([]);
  }));

Deno.test("after the deletion of the last ADMIN in a store of this machine, the warning names the store in a command that works", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "boss", "--roles", "ADMIN"]);
  const { stderr } = await program(remove("--name", "boss"));
  expect(stderr).toBe(
    "Warning: No valid key has the role ADMIN any more. To create one, run: service-api apikey --create " +
      `--name 'first admin' --roles ADMIN --data-dir ${env["SERVICE_API_DATA_DIR"]}\n`,
  );
});

Deno.test("after the deletion of the last ADMIN in a database, the warning names the database and shows no password", async () => {
  const host = new FakeHost([]);
  const key = { id: "key_1", name: "boss" };
  const address = { host: "db", port: 5432, user: "app", password: "hidden", database: "keys", tls: undefined };
  const store = { kind: "database", address: { ...address, label: "db:5432/keys" } } as const;
  const risks = [{ key, isInUse: false, endsAdmin: true }];
  await warnAboutLockout({ keys: [key], risks }, { keySource: undefined, store }, host);
  expect(host.stderr.text).toBe(
    "Warning: No valid key has the role ADMIN any more. To create one in the database db:5432/keys, run this with the " +
      "same settings: service-api apikey --create --name 'first admin' --roles ADMIN\n",
  );
});

Deno.test("the deletion of a key with the role ADMIN has no warning while another key has it", async () => {
  await withKeys([await newKey("boss", { roles: ["ADMIN"] })], async ({ env }) => {
    const other = await inProcess(remove("--name", "boss", "--json"), { env });
    expect(other).toMatchObject({ code: 0, stderr: "" });
  });
  await withKeys([await newKey("boss", { roles: ["ADMIN"] })], async ({ env }) => {
    expect(await inProcess(remove("--name", "admin"), { env })).toMatchObject({ code: 0, stderr: IN_USE });
  });
});

Deno.test("with --yes, the deletion of several keys warns too", async () => {
  await withKeys(await ciKeys(1), async ({ env }) => {
    const { code, stderr } = await inProcess(remove("--name", "ci 1", "--name", "admin", "--yes", "--json"), { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${IN_USE}${NO_ADMIN}` });
  });
});

Deno.test("the confirmation of several keys warns about the key in use and the last ADMIN, as the one of a single key does", async () => {
  await withKeys(await ciKeys(2), async ({ env }) => {
    const { screen, code } = atTerminal(env, "--match", "*");
    await screen.until(/Keys to delete/);
    screen.press(KEYS.enter);
    expect(await screen.until(/Delete 3 keys\?/)).toContain(
      '  Warning      "admin" is the key in use.\n               Without "admin", no key has the role ADMIN.\n',
    );
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
  });
});

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
