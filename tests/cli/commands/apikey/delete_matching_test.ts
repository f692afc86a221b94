/** `apikey --delete` with `--match`, `--expired` and `--unused`: which keys it deletes, prompts, and concurrent changes. */
import { expect } from "expect";
import type { KeyStore } from "../../../../src/store/key_store.ts";
import { KEY_FIELDS } from "../../../../src/client/keys/api_key.ts";
import { startForeignServer, startServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { LOCAL_ORIGIN } from "../../../server/graphql/graphql.ts";
import { newKey, newKeyWithSecret } from "../../../store/stored_key.ts";
import { belowTarget } from "../../../program/terminal_host.ts";
import { atTerminal, ciKeys, type Kind, remove, withKeys } from "./deletion_server.ts";

const DAY = 86_400_000;

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * DAY);
}

Deno.test("delete with several filters deletes only the keys that match all of them", async () => {
  const keys = await Promise.all([
    newKey("ci idle", { lastUsedAt: daysAgo(91) }),
    newKey("ci busy", { lastUsedAt: daysAgo(1) }),
    newKey("ci new", { createdAt: daysAgo(1) }),
    newKey("ci never used", { createdAt: daysAgo(91) }),
    newKey("backup idle", { lastUsedAt: daysAgo(91) }),
  ]);
  await withKeys(keys, async ({ env, names }) => {
    const { code, stdout, stderr } = await inProcess(
      remove("--match", "ci *", "--unused", "90d", "--yes", "--json"),
      { env },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const deleted = [keys[0], keys[3]].map((key) => ({ id: key?.id, name: key?.name }));
    expect(JSON.parse(stdout)).toEqual({ deleted: 2, keys: deleted });
    expect(await names()).toEqual(["admin", "ci busy", "ci new", "backup idle"]);
  });
});

Deno.test("delete --expired deletes the expired keys", async () => {
  const keys = await Promise.all([
    newKey("expired", { expiresAt: daysAgo(1) }),
    newKey("valid", { expiresAt: daysAgo(-1) }),
    newKey("without expiry"),
  ]);
  await withKeys(keys, async ({ env, names }) => {
    expect(await inProcess(remove("--expired", "--yes"), { env })).toEqual({
      code: 0,
      stdout: "Successfully deleted 1 API key\n",
      stderr: "",
    });
    expect(await names()).toEqual(["admin", "valid", "without expiry"]);
  });
});

Deno.test("if no key matches a filter, delete prints so and exits with 0 (spec 7, shape B)", () =>
  withKeys([], async ({ env }) => {
    const json = await inProcess(remove("--match", "ci *", "--json"), { env });
    expect(json).toEqual({
      code: 0,
      stdout: '{"deleted":0,"message":"No API keys found to delete"}\n',
      stderr: "",
    });
    expect(await inProcess(remove("--unused", "5m"), { env })).toEqual({
      code: 0,
      stdout: "No API keys found to delete\n",
      stderr: "",
    });
  }));

Deno.test("if the store is missing, delete with a filter says where it searched", async () => {
  await using installation = await embedded(inProcess);
  const args = remove("--unused", "90d", "--yes");
  expect(await installation.program(args)).toEqual({
    code: 0,
    stdout: "No API keys found to delete\n",
    stderr: expect.stringMatching(/^service-api: Searched the store ".*keys\.db", which does not exist\. [^\n]*\n$/),
  });
  expect((await installation.program([...args, "--json"])).stderr).toBe("");
});

Deno.test("if no key matches a filter and the key in use sees only its own keys, delete says so", async () => {
  const { key: owner, secret } = await newKeyWithSecret("owner", {
    roles: [],
    permissions: ["API_KEY:READ_OWN", "API_KEY:DELETE_OWN"],
  });
  await withKeys([owner, await newKey("old", { expiresAt: daysAgo(1) })], async ({ env }) => {
    const owned = { ...env, SERVICE_API_KEY: secret };
    expect(await inProcess(remove("--expired", "--yes"), { env: owned })).toEqual({
      code: 0,
      stdout: "No API keys found to delete\n",
      stderr: expect.stringMatching(/^service-api: The key in use sees only itself and the keys that it created,/),
    });
  });
});

Deno.test("without a terminal and without --yes, delete with a filter says how many keys match, and deletes none", async () => {
  await withKeys(await ciKeys(2), async ({ env, names }) => {
    const json = await inProcess(remove("--match", "ci *", "--json"), { env });
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toEqual({
      deleted: 0,
      error: "2 keys match. Nothing was deleted. To delete them without a prompt, add --yes.",
      code: "USAGE",
    });
    const plain = await inProcess(remove("--match", "ci 1"), { env });
    expect(plain).toEqual({
      code: 2,
      stdout: "",
      stderr: "service-api: 1 key matches. Nothing was deleted. To delete it without a prompt, add --yes.\n",
    });
    expect(await names()).toHaveLength(3);
  });
});

Deno.test("at a terminal, delete with a filter shows the matching keys, all selected, and asks for confirmation", async () => {
  const keys = await Promise.all([
    newKey("idle", { lastUsedAt: daysAgo(20), description: "of a job" }),
    newKey("never used"),
    newKey("busy", { lastUsedAt: daysAgo(0) }),
  ]);
  await withKeys(keys, async ({ env, names }) => {
    const { host, screen, code } = atTerminal(env, "--unused", "1w");
    expect(belowTarget(await screen.until(/Keys to delete/))).toBe(`\
? Keys to delete: █ (2 of 2 selected)
❯ ◉ idle        GUEST  used 20d ago  created 2026-02-03  of a job
  ◉ never used  GUEST  never used    created 2026-02-03
  space to select · enter to confirm · type to filter · ctrl-a for all or none · ? help`);
    screen.press(KEYS.down, KEYS.space, KEYS.enter);
    await screen.until(/Delete the key "idle"\?/);
    screen.press("y");
    expect(await code).toBe(0);
    expect(host.stdout.text).toBe("Successfully deleted 1 API key\n");
    expect(await names()).toEqual(["admin", "never used", "busy"]);
  });
});

Deno.test("if the user deselects all matching keys, Enter does not confirm, and nothing is deleted", async () => {
  await withKeys(await ciKeys(2), async ({ env, names }) => {
    const { host, screen, code } = atTerminal(env, "--match", "ci ?");
    await screen.until(/\(2 of \d+ selected/);
    screen.press(KEYS.ctrlA, KEYS.enter);
    await screen.until(/✖ Nothing is selected/);
    screen.press(KEYS.ctrlC);
    expect(await code).toBe(130);
    expect(host.stdout.text).toBe("");
    expect(await names()).toHaveLength(3);
  });
});

Deno.test("a key that another client uses, changes or deletes after it was listed is not deleted", async () => {
  const keys = await Promise.all(
    ["used", "changed", "deleted", "same"].map((name) => newKey(`ci ${name}`, { lastUsedAt: daysAgo(91) })),
  );
  const [used, changed, deleted] = keys;
  const meanwhile = async (kind: Kind, store: KeyStore): Promise<void> => {
    if (kind !== "read again" || used === undefined || changed === undefined || deleted === undefined) return;
    await store.recordUses(new Map([[used.id, new Date()]]));
    await store.update(changed, LOCAL_ORIGIN, { action: "UPDATE" }, (held) => ({ ...held, description: "needed" }));
    await store.remove([deleted.id], LOCAL_ORIGIN, () => {});
  };
  await withKeys(keys, async ({ env, names }) => {
    const { code, stdout, stderr } = await inProcess(remove("--unused", "90d", "--match", "ci *", "--yes", "--json"), {
      env,
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ deleted: 1, keys: [{ id: keys[3]?.id, name: "ci same" }] });
    expect(stderr).toBe(
      'service-api: Kept "ci used", because it was used or changed meanwhile.\n' +
        'service-api: Kept "ci changed", because it was used or changed meanwhile.\n',
    );
    expect(await names()).toEqual(["admin", "ci used", "ci changed"]);
  }, { before: meanwhile });
});

Deno.test("if the server refuses some of the matching keys, delete deletes the others, and its JSON has each refused key", async () => {
  const { key: caller, secret } = await newKeyWithSecret("caller", {
    roles: [],
    permissions: ["API_KEY:READ_ANY", "API_KEY:DELETE_OWN"],
  });
  const keys = await Promise.all([
    newKey("ci 1", { createdBy: caller.id }),
    newKey("ci 2"),
    newKey("ci 3", { createdBy: caller.id }),
  ]);
  await withKeys([caller, ...keys], async ({ env, names }) => {
    const { code, stdout, stderr } = await inProcess(remove("--match", "ci *", "--yes", "--json"), {
      env: { ...env, SERVICE_API_KEY: secret },
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      deleted: 2,
      keys: [keys[0], keys[2]].map((key) => ({ id: key?.id, name: key?.name })),
      failed: [{ id: keys[1]?.id, name: "ci 2", code: "FORBIDDEN", error: expect.stringContaining("DELETE_ANY") }],
    });
    expect(stderr).toBe("");
    expect(await names()).toEqual(["admin", "caller", "ci 2"]);
  });
});

Deno.test("many matching keys are deleted in batches of 100, and the key in use is deleted last", async () => {
  await withKeys(await ciKeys(250), async ({ env, names, requests }) => {
    expect(await inProcess(remove("--match", "*", "--yes"), { env })).toEqual({
      code: 0,
      stdout: "Successfully deleted 251 API keys\n",
      stderr: expect.stringMatching(
        /^Warning: "admin" was the key in use .*\nWarning: No valid key has the role ADMIN any more\./,
      ),
    });
    expect(await names()).toEqual([]);
    const batch = ["read again", "delete"];
    expect(requests.filter((kind) => kind !== "other")).toEqual([...batch, ...batch, ...batch]);
  });
});

Deno.test("if the server fails during a later batch, the JSON says how many keys were deleted", async () => {
  let deletions = 0;
  const failSecond = (kind: Kind): Promise<Response | void> =>
    Promise.resolve(kind === "delete" && ++deletions === 2 ? new Response("gone", { status: 502 }) : undefined);
  await withKeys(await ciKeys(150), async ({ env, names }) => {
    const { code, stdout } = await inProcess(remove("--match", "ci *", "--yes", "--json"), { env });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      deleted: 100,
      error: expect.stringMatching(/Before that, 100 keys were deleted\.$/),
    });
    expect(await names()).toHaveLength(51);
  }, { before: failSecond });
});

Deno.test("on a server with only the published schema, --match works, and --expired and --unused fail with UNSUPPORTED", async () => {
  const foreign = ["ci 1", "backup", "ci 2"].map((name, index) => ({ id: `${index}`, name, key: "secret" }));
  await using server = startForeignServer(foreign);
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" };
  for (const [flags, field] of [[["--expired"], "expiresAt"], [["--unused", "90d"], "lastUsedAt"]] as const) {
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const { code, stdout } = await inProcess(remove(...flags, "--match", "*", "--yes", "--json"), { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      deleted: 0,
      error: expect.stringContaining(`ApiKey.${field}`),
      code: "UNSUPPORTED",
    });
  }
  expect(server.keys).toHaveLength(3);
  const { code, stdout, stderr } = await inProcess(remove("--match", "ci *", "--yes"), { env });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "Successfully deleted 2 API keys\n", stderr: "" });
  expect(server.keys.map(({ name }) => name)).toEqual(["backup"]);
});

Deno.test("if the server ignores a filter, delete keeps the keys that do not match it", async () => {
  const key = Object.fromEntries(KEY_FIELDS.map((field) => [field, null]));
  const edges = ["web", "db"].map((name) => ({ node: { ...key, id: name, name, roles: [], permissions: [] } }));
  const page = { apiKeyConnection: { edges, pageInfo: { hasNextPage: false } } };
  await using server = startServer(() => Response.json({ data: page }));
  const { code, stdout } = await inProcess(remove("--match", "ci *", "--yes", "--json"), {
    env: { SERVICE_API_URL: server.url },
  });
  expect({ code, result: JSON.parse(stdout) }).toEqual({
    code: 0,
    result: { deleted: 0, message: "No API keys found to delete" },
  });
  expect(server.requests.filter(({ body }) => body.includes("mutation"))).toEqual([]);
});
