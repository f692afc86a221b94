/** `apikey list`: filters, order and output. */
import { expect } from "expect";
import { Failure } from "../../../../../src/apikey/failure.ts";
import type { StoredKey } from "../../../../../src/store/stored_key.ts";
import { run } from "../../../../../src/cli/program.ts";
import { startForeignServer } from "../../../../client/foreign_server.ts";
import type { Outcome } from "../../../../execute.ts";
import { embedded, overHttp } from "../../../../program/installations.ts";
import { FakeHost, inProcess } from "../../../../program/program.ts";
import { addAll, addInParallel, listKeys } from "../../../../store/changes.ts";
import { newKey, newKeys } from "../../../../store/stored_key.ts";
import { inTemporaryDirectory, withStoreIn } from "../../../../store/temporary_store.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

const CREATED = new Date("2026-01-02T03:04:05Z");

function at(text: string): Date {
  return new Date(text);
}

/** The keys of the tests, by name. */
const KEYS: Readonly<Record<string, Partial<StoredKey>>> = {
  "web": { roles: ["ADMIN"], permissions: [], lastUsedAt: at("2026-05-01T11:58:00Z") },
  "ci build": { permissions: ["DOCKER:READ_ANY", "VMS:READ_ANY"], expiresAt: at("2026-05-04T00:00:00Z") },
  "ci deploy": { roles: ["VIEWER"], permissions: ["DOCKER:UPDATE_ANY"], expiresAt: at("2026-04-30T00:00:00Z") },
  "backup": { roles: ["GUEST"], permissions: [], lastUsedAt: at("2026-01-30T00:00:00Z"), enabled: false },
};

/** Runs the program in embedded mode at `NOW`, in a directory with a store of the keys. */
async function withKeys(
  test: (list: (...flags: readonly string[]) => Promise<Outcome>) => Promise<void>,
): Promise<void> {
  await inTemporaryDirectory(async (directory) => {
    const keys = Object.entries(KEYS).map(([name, key]) => newKey(name, { createdAt: CREATED, roles: [], ...key }));
    await withStoreIn(directory, async (store) => await addAll(store, await Promise.all(keys)));
    await test(async (...flags) => {
      const host = new FakeHost(["apikey", "list", ...flags], { env: { SERVICE_API_DATA_DIR: directory } });
      host.now = () => NOW;
      const code = await run(host);
      return { code, stdout: host.stdout.text, stderr: host.stderr.text };
    });
  });
}

function namesIn({ stdout }: Outcome): readonly string[] {
  return stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line).name);
}

for (
  const [flags, names] of [
    [[], ["web", "ci build", "ci deploy", "backup"]],
    [["--match", "ci *"], ["ci build", "ci deploy"]],
    [["--role", "viewer"], ["ci deploy"]],
    [["--can", "docker:read_any"], ["web", "ci build", "ci deploy"]],
    [["--can", "DOCKER:READ_OWN", "--match", "ci ?????"], ["ci build"]],
    [["--expired"], ["ci deploy"]],
    [["--expiring", "3d"], ["ci build", "ci deploy"]],
    [["--expiring", "2d"], ["ci deploy"]],
    [["--unused", "90d"], ["ci build", "ci deploy", "backup"]],
    [["--unused", "5m"], ["ci build", "ci deploy", "backup"]],
    [["--disabled"], ["backup"]],
    [["--reverse"], ["backup", "ci deploy", "ci build", "web"]],
    [["--sort", "name"], ["backup", "ci build", "ci deploy", "web"]],
    [["--sort", "used"], ["ci build", "ci deploy", "backup", "web"]],
    [["--sort", "Expires"], ["ci deploy", "ci build", "web", "backup"]],
    [["--sort", "expires", "--reverse"], ["backup", "web", "ci build", "ci deploy"]],
  ] as const
) {
  Deno.test(`apikey list ${flags.join(" ")} prints ${names.join(", ")}`, () =>
    withKeys(async (list) => {
      expect(namesIn(await list("--jsonl", ...flags))).toEqual(names);
    }));
}

const BACKUP = {
  id: expect.stringMatching(/^key_/),
  name: "backup",
  description: null,
  roles: ["GUEST"],
  permissions: [],
  enabled: false,
  createdAt: "2026-01-02T03:04:05.000Z",
  createdBy: null,
  managedBy: null,
  updatedAt: null,
  lastUsedAt: "2026-01-30T00:00:00.000Z",
  expiresAt: null,
  graceUntil: null,
};

Deno.test("apikey list --json prints one line with all members of each key, in a fixed order", () =>
  withKeys(async (list) => {
    const { code, stdout, stderr } = await list("--json", "--sort", "name");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { keys } = JSON.parse(stdout);
    expect(stdout).toBe(`${JSON.stringify({ keys })}\n`);
    expect(keys[0]).toEqual(BACKUP);
    expect(Object.keys(keys[0])).toEqual(Object.keys(BACKUP));
    expect(keys).toHaveLength(4);
  }));

Deno.test("in a pipe, apikey list prints tab-separated fields with times in RFC 3339 and no header", () =>
  withKeys(async (list) => {
    const { stdout } = await list("--match", "ci *");
    expect(stdout.replaceAll(/key_\w+/g, "key_1")).toBe(
      "ci build\tkey_1\tactive\t\tDOCKER:READ_ANY,VMS:READ_ANY\t2026-01-02T03:04:05.000Z\t\t2026-05-04T00:00:00.000Z\t\n" +
        "ci deploy\tkey_1\texpired\tVIEWER\tDOCKER:UPDATE_ANY\t2026-01-02T03:04:05.000Z\t\t2026-04-30T00:00:00.000Z\t\n",
    );
  }));

Deno.test("apikey list --check prints the keys and exits with 1, or prints nothing and exits with 0", () =>
  withKeys(async (list) => {
    const found = await list("--check", "--expiring", "7d", "--jsonl");
    expect([found.code, namesIn(found)]).toEqual([1, ["ci build", "ci deploy"]]);
    expect(await list("--check", "--match", "none")).toEqual({ code: 0, stdout: "", stderr: "" });
  }));

Deno.test("without a terminal, apikey list prints nothing or empty JSON if no key matches", () =>
  withKeys(async (list) => {
    expect(await list("--match", "none")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await list("--match", "none", "--json")).toEqual({ code: 0, stdout: '{"keys":[]}\n', stderr: "" });
    expect(await list("--match", "none", "--jsonl")).toEqual({ code: 0, stdout: "", stderr: "" });
  }));

for (const flags of [["--check"], ["--expiring", "7d"], ["--expiring", "7d", "--check"]]) {
  Deno.test(`apikey list ${flags.join(" ")} of a missing store says so, and succeeds`, async () => {
    await using installation = await embedded(inProcess);
    const { code, stdout, stderr } = await installation.program(["apikey", "list", ...flags]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(
      /^service-api: No API keys (found|match the filters)\. Searched the store ".*keys\.db", which does not exist\. To search elsewhere, use [^\n]*\n$/,
    );
    const json = await installation.program(["apikey", "list", ...flags, "--json"]);
    expect(json).toEqual({ code: 0, stdout: '{"keys":[]}\n', stderr: "" });
  });
}

Deno.test("if no key matches and the key in use sees only its own keys, apikey list --check says so", async () => {
  await using installation = await overHttp();
  const { program } = installation;
  const owner = await program(["apikey", "create", "own", "--permissions", "API_KEY:READ_OWN"]);
  const env = { SERVICE_API_KEY: owner.stdout.trim() };
  const check = ["apikey", "list", "--expiring", "7d", "--check"];
  expect(await program(check)).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await program(check, { env })).toEqual({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(/^service-api: The key in use sees only itself and the keys that it created,/),
  });
});

Deno.test("if no key matches, apikey list says so at a terminal, and where it searched", async () => {
  await using installation = await embedded(inProcess);
  expect((await installation.program(["apikey", "create", "ci", "--roles", "GUEST"])).code).toBe(0);
  const host = new FakeHost(["apikey", "list", "--match", "none"], { env: installation.env });
  host.stderr.isTerminal = () => true;
  await run(host);
  expect(host.stderr.text).toMatch(
    /^service-api: No API keys match the filters\. Searched the store\s".*keys\.db"\.\n$/,
  );
});

Deno.test("apikey list of a missing store prints nothing and does not create the store", async () => {
  await using installation = await embedded(inProcess);
  const { code, stdout, stderr } = await installation.program(["apikey", "list"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^service-api: No API keys found\. Searched the store ".*keys\.db", which does not exist\./);
});

Deno.test("apikey list prints more keys than fit into one page, each once and in the order of creation", () =>
  inTemporaryDirectory(async (directory) => {
    let names: readonly string[] = [];
    await withStoreIn(directory, async (store) => {
      await addInParallel(store, await newKeys(1234));
      names = (await listKeys(store)).map(({ name }) => name);
    });
    const list = (...flags: readonly string[]): Promise<Outcome> =>
      inProcess(["apikey", "list", "--data-dir", directory, ...flags]);
    expect(namesIn(await list("--jsonl"))).toEqual(names);
    expect(namesIn(await list("--jsonl", "--reverse"))).toEqual(names.toReversed());
    expect(JSON.parse((await list("--json")).stdout).keys.map(({ name }: { name: string }) => name)).toEqual(names);
    expect((await list()).stdout.split("\n")).toHaveLength(1235);
  }));

Deno.test("over HTTP, apikey list prints the keys that the caller may read", async () => {
  await using installation = await overHttp();
  const { program } = installation;
  const args = ["apikey", "create", "own", "--permissions", "API_KEY:READ_OWN"];
  const env = { SERVICE_API_KEY: (await program(args)).stdout.trim() };
  expect(namesIn(await program(["apikey", "list", "--jsonl"]))).toEqual(["admin", "own"]);
  expect(namesIn(await program(["apikey", "list", "--jsonl"], { env }))).toEqual(["own"]);
  const used = (await program(["apikey", "list", "--jsonl", "--sort", "used"])).stdout.trim().split("\n").at(-1) ?? "";
  expect(JSON.parse(used).lastUsedAt).toMatch(/^\d{4}-/);
});

for (
  const [flags, code, message] of [
    [["--json", "--jsonl"], 2, /Use either --json or --jsonl, not both\./],
    [["--sort", "size"], 2, /--sort must be one of name, created, used, expires, not "size"\./],
    [["--role", "ADMIN,GUEST"], 2, /--role takes one role, not "ADMIN,GUEST"\./],
    [["--role", "ADMN"], 2, /--role: "ADMN" is not a role\. Did you mean ADMIN\?/],
    [["--can", "*:READ_ANY"], 2, /--can takes one permission without wildcards.*not "\*:READ_ANY"\./],
    [["--can", "DOCKER"], 2, /--can: "DOCKER" does not have the form RESOURCE:ACTION/],
    [["--expiring", "soon"], 2, /--expiring: the duration "soon" is not valid/],
    [["name"], 2, /unexpected argument "name"/i],
  ] as const
) {
  Deno.test(`apikey list ${flags.join(" ")} is a usage error`, async () => {
    await using installation = await embedded(inProcess);
    const { code: actual, stdout, stderr } = await installation.program(["apikey", "list", ...flags]);
    expect({ code: actual, output: stdout + stderr }).toEqual({ code, output: expect.stringMatching(message) });
  });
}

Deno.test("on a server with only the published schema, filters on other fields are UNSUPPORTED and the others work", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci deploy", key: "a" }, {
    id: "2",
    name: "web",
    key: "b",
  }]);
  const list = (...flags: readonly string[]): Promise<Outcome> =>
    inProcess(["apikey", "list", "--base-url", server.url, ...flags]);
  expect(namesIn(await list("--jsonl", "--match", "ci*", "--role", "GUEST", "--sort", "created"))).toEqual([
    "ci deploy",
  ]);
  for (
    const [flags, field] of [
      [["--expired"], "expiresAt"],
      [["--expiring", "1d"], "expiresAt"],
      [["--unused", "1d"], "lastUsedAt"],
      [["--disabled"], "enabled"],
      [["--sort", "used"], "lastUsedAt"],
    ] as const
  ) {
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const { code, stdout } = await list(...flags, "--json");
    expect({ exit: code, ...JSON.parse(stdout) }).toEqual({
      exit: 1,
      code: "UNSUPPORTED",
      error: expect.stringContaining(
        `lacks ApiKey.${field}. Filters and sort orders that do not need this field work.`,
      ),
    });
  }
});

Deno.test("a script can tell a key that --check finds from a failure with the same exit status", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci", key: "a" }]);
  const check = (...flags: readonly string[]): Promise<Outcome> =>
    inProcess(["apikey", "list", "--base-url", server.url, "--check", ...flags]);
  const [found, failed] = await Promise.all([check("--match", "ci", "--json"), check("--expiring", "7d", "--json")]);
  expect([found, failed].map(({ code, stdout }) => [code, Object.keys(JSON.parse(stdout))[0]])).toEqual([
    [1, "keys"],
    [1, "error"],
  ]);
  const [plain, plainFailed] = await Promise.all([check("--match", "ci"), check("--expiring", "7d")]);
  expect([plain, plainFailed].map(({ code, stderr }) => [code, stderr === ""])).toEqual([[1, true], [1, false]]);
});

Deno.test("if the reader of standard output closes the pipe, apikey list ends without a message", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => await addAll(store, [await newKey("web")]));
    const host = new FakeHost(["apikey", "list", "--jsonl", "--data-dir", directory]);
    host.stdout.write = () =>
      Promise.reject(new Failure("FAILED", "Cannot write.", { cause: new Deno.errors.BrokenPipe() }));
    expect(await run(host)).toBe(1);
    expect(host.stderr.text).toBe("");
  }));

Deno.test("Ctrl-C ends apikey list even if nothing reads its output", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => await addAll(store, [await newKey("web")]));
    const host = new FakeHost(["apikey", "list", "--jsonl", "--data-dir", directory]);
    host.stdout.write = () => {
      queueMicrotask(() => host.handlers.get("SIGINT")?.());
      return new Promise(() => {});
    };
    expect(await run(host)).toBe(130);
    expect(host.stderr.text).toBe("service-api: Interrupted. Nothing was changed.\n");
  }));
