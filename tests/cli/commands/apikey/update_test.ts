/** `apikey update`: invalid command lines, the changes shown, prompts, lockouts, and other servers. */
import { expect } from "expect";
import { Failure } from "../../../../src/apikey/failure.ts";
import { makeSecret } from "../../../../src/apikey/secret.ts";
import { run } from "../../../../src/cli/program.ts";
import { startForeignServer, startServer } from "../../../client/foreign_server.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import { FakeHost, inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";

const UPDATE = ["apikey", "update"];

for (
  const [rule, args, message] of [
    ["no change", ["ci"], /^Nothing to change\. Add a flag, for example --add-roles\. /],
    ["no name and no terminal", ["--enable"], /^apikey update needs a name or --id if it cannot prompt\.$/],
    ["--enable and --disable", ["ci", "--enable", "--disable"], /^Use either --enable or --disable, not both\.$/],
    [
      "two expiries",
      ["ci", "--expires-in", "1d", "--no-expiry"],
      /^Use either --no-expiry or --expires-in, not both\.$/,
    ],
    ["--roles and --add-roles", ["ci", "--roles", "GUEST", "--add-roles", "VIEWER"], /^--roles replaces all roles\. /],
    [
      "a role to add and to remove",
      ["ci", "--add-roles", "guest", "--remove-roles", "GUEST"],
      /^GUEST is in both --add-roles and --remove-roles\.$/,
    ],
  ] as const
) {
  Deno.test(`apikey update with ${rule} is a usage error`, async () => {
    const outcome = await inProcess([...UPDATE, ...args, "--json"], { env: { SERVICE_API_URL: "http://127.0.0.1:1" } });
    expect(outcome.code).toBe(2);
    expect(JSON.parse(outcome.stdout)).toEqual({ code: "USAGE", error: expect.stringMatching(message) });
  });
}

Deno.test("update shows the values before and after on standard error, and what is already so is not a change", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "VIEWER", "--permissions", "DOCKER:READ_ANY"]);
  const flags = ["--rename", "ci 2", "--description", "a\tb", "--add-roles", "GUEST", "--permissions", "LOGS:READ_ANY"];
  const { stderr } = await program([...UPDATE, "ci", ...flags, "--expires-at", "2200-01-01T00:00:00Z", "--disable"]);
  expect(stderr.replace(/key_\w+/, "ID")).toBe(`\
Changes to the key "ci" (ID):
  name         "ci" → "ci 2"
  description  none → "a\\u{9}b"
  roles        VIEWER → VIEWER, GUEST
  permissions  1 → 1: +LOGS:READ_ANY -DOCKER:READ_ANY
  expires      never → 2200-01-01T00:00:00.000Z
  enabled      yes → no
`);
  const same = await program([...UPDATE, "ci 2", ...flags.slice(2, 4), "--add-roles", "VIEWER", "--disable"]);
  expect(same).toEqual({ code: 0, stdout: 'Nothing to change about API key "ci 2"\n', stderr: "" });
  const cleared = await program([...UPDATE, "ci 2", "--description", "", "--no-expiry", "--json"]);
  expect(JSON.parse(cleared.stdout)).toMatchObject({ description: null, expiresAt: null, enabled: false });
  expect(cleared.stderr).toBe("");
});

Deno.test("at a terminal, update breaks a long list of permissions between permissions", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const { host, code } = runAtTerminal([...UPDATE, "ci", "--add-permissions", "API_KEY:*"], { env });
  expect(await code).toBe(0);
  expect(host.stderr.text).toContain(`
  permissions  0 → 8: +API_KEY:CREATE_ANY +API_KEY:CREATE_OWN +API_KEY:READ_ANY
               +API_KEY:READ_OWN +API_KEY:UPDATE_ANY +API_KEY:UPDATE_OWN
               +API_KEY:DELETE_ANY +API_KEY:DELETE_OWN
`);
});

Deno.test("update masks a secret in the changes that it shows", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const { stderr } = await program([...UPDATE, "ci", "--description", makeSecret(new Uint8Array(32))]);
  expect(stderr).toContain('  description  none → "sak_…"\n');
});

Deno.test("without a terminal, an update of the key in use or of the last ADMIN key that takes rights away needs --yes", async () => {
  await using installation = await overHttp();
  const { program } = installation;
  const refused = await program([...UPDATE, "admin", "--roles", "VIEWER", "--json"]);
  expect(refused.code).toBe(2);
  expect(JSON.parse(refused.stdout)).toEqual({
    code: "USAGE",
    error:
      '"admin" is the key in use. Without it, no key has the role ADMIN. To update it without a prompt, add --yes.',
  });
  expect((await program([...UPDATE, "admin", "--add-roles", "VIEWER"])).code).toBe(0);
  await program(["apikey", "--create", "--name", "other", "--roles", "ADMIN"]);
  const second = await program([...UPDATE, "other", "--roles", "VIEWER"]);
  expect(second.code).toBe(0);
  const { code, stdout, stderr } = await program([...UPDATE, "admin", "--disable", "--yes", "--json"]);
  expect({ code, enabled: JSON.parse(stdout).enabled }).toEqual({ code: 0, enabled: false });
  expect(stderr).toMatch(
    /^Warning: "admin" was the key in use .*\nWarning: No valid key has the role ADMIN any more\./m,
  );
});

Deno.test("with --yes, an update warns if no valid key has the role ADMIN any more, and not while another key has it", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  await program(["apikey", "--create", "--name", "boss", "--roles", "ADMIN"]);
  await program(["apikey", "--create", "--name", "deputy", "--roles", "ADMIN"]);
  expect((await program([...UPDATE, "deputy", "--roles", "VIEWER", "--yes"])).stderr).not.toContain("Warning");
  const { stderr } = await program([...UPDATE, "boss", "--disable", "--yes"]);
  expect(stderr).toMatch(/\nWarning: No valid key has the role ADMIN any more\. .* --data-dir \S+\n$/);
});

Deno.test("at a terminal, such an update asks for the name of the key", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "boss", "--roles", "ADMIN"]);
  const { screen, code } = runAtTerminal([...UPDATE, "boss", "--disable"], { env });
  expect(await screen.until(/type its name/)).toContain('Without "boss", no key has the role ADMIN.');
  screen.press(..."bos", KEYS.enter);
  await screen.until(/Type "boss", or press Ctrl-C/);
  screen.press("s", KEYS.enter);
  expect(await code).toBe(0);
  expect((await program(["request", "--query", "{ apiKeys { enabled } }"])).stdout).toContain("false");
});

Deno.test("at a terminal, update without a name lists the keys to select from, and asks for confirmation", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci build", "--roles", "GUEST"]);
  await program(["apikey", "--create", "--name", "ci deploy", "--roles", "GUEST"]);
  const { host, screen, code } = runAtTerminal([...UPDATE, "--add-roles", "VIEWER"], { env });
  await screen.until(/Key to update/);
  screen.press(KEYS.down, KEYS.enter);
  expect(await screen.until(/Update this key\?/)).toContain("  roles        GUEST → GUEST, VIEWER\n");
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe('Updated API key "ci deploy"\n');
});

Deno.test("on a server that replaces lists, update sends all roles and permissions, merged", async () => {
  const permissions = [{ resource: "DOCKER", actions: ["READ_ANY"] }];
  await using server = startForeignServer([{ id: "1", name: "ci", key: "old", roles: ["GUEST"], permissions }], {
    update: (key) => key,
  });
  const program = (flags: readonly string[]): ReturnType<typeof inProcess> =>
    inProcess([...UPDATE, "ci", ...flags, "--json"], { env: { SERVICE_API_URL: server.url } });
  const { code, stdout } = await program(["--add-roles", "VIEWER"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    id: "1",
    roles: ["GUEST", "VIEWER"],
    permissions: ["DOCKER:READ_ANY"],
    enabled: null,
  });
  expect(server.keys).toMatchObject([{ name: "ci", roles: ["GUEST", "VIEWER"], permissions }]);
  await program(["--rename", "ci 2"]);
  expect(server.keys).toMatchObject([{ name: "ci 2", roles: ["GUEST", "VIEWER"], permissions }]);
});

Deno.test("on such a server, update fails if the answer shows that another caller changed the key at the same time", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci", key: "old" }], {
    update: (key) => ({ ...key, name: "renamed by another caller" }),
  });
  const { code, stderr } = await inProcess([...UPDATE, "ci", "--add-roles", "VIEWER"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/updated the key "ci" \(1\), but its name differs from what was requested\. /);
});

Deno.test("on such a server, update refuses a new name that another key has, because the server would accept it", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci", key: "a" }, { id: "2", name: "cd", key: "b" }], {
    update: (key) => key,
  });
  const { stdout } = await inProcess([...UPDATE, "ci", "--rename", "cd", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(JSON.parse(stdout)).toMatchObject({ code: "ALREADY_EXISTS" });
  expect(server.keys.map(({ name }) => name)).toEqual(["ci", "cd"]);
});

for (
  const [flag, hasUpdate, field, advice] of [
    ["--disable", true, "UpdateApiKeyInput.enabled", "Its keys cannot be disabled. To block the key, delete it."],
    ["--expires-in=1d", true, "UpdateApiKeyInput.expiresAt", "Its keys do not expire. Delete the key in time."],
    [
      "--add-roles=VIEWER",
      false,
      "ApiKeyMutations.update",
      "To replace the key with a new one instead, use service-api apikey --create --overwrite.",
    ],
  ] as const
) {
  Deno.test(`on a server without ${field}, update ${flag} is UNSUPPORTED, changes nothing, and says what to do instead`, async () => {
    const existing = { id: "1", name: "ci", key: "old", roles: ["GUEST"] };
    await using server = startForeignServer([existing], hasUpdate ? { update: (key) => key } : {});
    const { code, stdout } = await inProcess([...UPDATE, "ci", flag, "--json"], {
      env: { SERVICE_API_URL: server.url },
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      code: "UNSUPPORTED",
      error: expect.stringContaining(`its schema lacks ${field}. ${advice}`),
    });
    expect(server.keys).toMatchObject([existing]);
  });
}

Deno.test("if the result cannot be printed, the message says that the key was updated", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const host = new FakeHost([...UPDATE, "ci", "--disable"], { env });
  host.stdout.write = () => Promise.reject(new Failure("FAILED", "Cannot write the output: No space left on device."));
  expect(await run(host)).toBe(1);
  expect(host.stderr.text).toMatch(
    /service-api: The key "ci" \(key_\w+\) was updated, but the result could not be printed: Cannot write the output: No space left on device\.\n$/,
  );
  expect((await program(["request", "--query", "{ apiKeys { enabled } }"])).stdout).toContain("false");
});

Deno.test("if the response to update is lost, the message says to run the command again", async () => {
  const key = { id: "1", name: "ci", roles: ["GUEST"], permissions: [], revision: 1 };
  await using server = startServer(({ body }) =>
    body.includes("update(") ? new Response("", { status: 502 }) : Response.json({ data: { apiKeysByName: [key] } })
  );
  const { code, stderr } = await inProcess([...UPDATE, "ci", "--add-roles", "VIEWER"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(4);
  expect(stderr).toMatch(/To make sure that the key is updated, run the same command again\.\n$/);
});
