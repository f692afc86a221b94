/** `apikey apply`. */
import { expect } from "expect";
import { stringify } from "yaml";
import { Failure } from "../../../../../src/apikey/failure.ts";
import { run } from "../../../../../src/cli/program.ts";
import { startServer } from "../../../../client/foreign_server.ts";
import { ADMIN_SECRET, startLaggingServer } from "../../../../client/lagging_server.ts";
import type { Outcome } from "../../../../execute.ts";
import { embedded, overHttp } from "../../../../program/installations.ts";
import { FakeHost, inProcess, type Installation, type Program } from "../../../../program/program.ts";
import { inTemporaryDirectory } from "../../../../store/temporary_store.ts";

interface Fixture extends Installation {
  readonly directory: string;
  /** Writes a manifest, and applies it with `--json` and `--secrets-dir`. */
  readonly apply: (manifest: object, ...flags: readonly string[]) => Promise<Outcome>;
}

interface Entry {
  readonly name: string;
  readonly roles?: readonly string[];
  readonly permissions?: readonly string[];
}

function onEmbedded(test: (fixture: Fixture) => Promise<void>): Promise<void> {
  return withInstallation(() => embedded(inProcess), test);
}

function withInstallation(open: () => Promise<Installation>, test: (fixture: Fixture) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    await using installation = await open();
    await test({
      ...installation,
      directory,
      apply: async (manifest, ...flags) => {
        await Deno.writeTextFile(`${directory}/keys.yaml`, stringify(manifest));
        const args = ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--json"];
        return await installation.program([...args, ...flags]);
      },
    });
  });
}

function entries(count: number): readonly Entry[] {
  return Array.from({ length: count }, (_, i) => ({ name: `key ${i}`, roles: ["GUEST"] }));
}

/** Returns the counts of a result that are not 0, and expects success. */
function countsOf({ code, stdout, stderr }: Outcome): Readonly<Record<string, number>> {
  const { keys: _, ...counts } = JSON.parse(stdout);
  expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: "" });
  return Object.fromEntries(Object.entries<number>(counts).filter(([, count]) => count !== 0));
}

async function names(program: Program): Promise<readonly string[]> {
  const { keys } = JSON.parse((await program(["apikey", "list", "--json"])).stdout);
  return keys.map(({ name }: Entry) => name).filter((name: string) => name !== "admin").toSorted();
}

for (const [place, open] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  Deno.test(`${place}: apply creates 120 keys with their files, and a second run leaves all of them unchanged`, () =>
    withInstallation(open, async ({ program, directory, apply }) => {
      const keys = entries(120);
      const made = await apply({ keys });
      expect(countsOf(made)).toEqual({ created: 120 });
      expect(JSON.parse(made.stdout).keys.map(({ name }: Entry) => name)).toEqual(keys.map(({ name }) => name));
      expect(countsOf(await apply({ keys }))).toEqual({ unchanged: 120 });
      const files = await Array.fromAsync(Deno.readDir(`${directory}/keys`), ({ name }) => name);
      expect(files.toSorted()).toEqual(keys.map(({ name }) => `${name.replace(" ", "-")}.key`).toSorted());
      const me = await program([
        "request",
        "--query",
        "{ me { name } }",
        "--key-file",
        `${directory}/keys/key-77.key`,
      ]);
      expect(JSON.parse(me.stdout)).toEqual({ data: { me: { name: "key 77" } } });
    }));
}

Deno.test("one run creates, updates, rotates and deletes, and prints the keys in the order of the manifest", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const [first, second, third, old] = entries(4);
    expect(countsOf(await apply({ managedBy: "team", keys: [first, second, third, old] }))).toEqual({ created: 4 });
    await Deno.remove(`${directory}/keys/key-1.key`);
    const wanted = [{ name: "new", roles: ["GUEST"] }, third, second, { ...first, roles: ["VIEWER"] }];
    const outcome = await apply({ managedBy: "team", keys: wanted }, "--prune");
    expect(countsOf(outcome)).toEqual({ created: 1, updated: 1, rotated: 1, deleted: 1, unchanged: 1 });
    expect(JSON.parse(outcome.stdout).keys).toEqual([
      { name: "new", id: expect.any(String), action: "create", secretFile: `${directory}/keys/new.key` },
      { name: "key 2", id: expect.any(String), action: "unchanged", secretFile: `${directory}/keys/key-2.key` },
      { name: "key 1", id: expect.any(String), action: "rotate", secretFile: `${directory}/keys/key-1.key` },
      { name: "key 0", id: expect.any(String), action: "update", secretFile: `${directory}/keys/key-0.key` },
      { name: "key 3", id: expect.any(String), action: "delete", secretFile: null },
    ]);
    expect(await names(program)).toEqual(["key 0", "key 1", "key 2", "new"]);
  }));

Deno.test("--dry-run --json prints each change with its reason, and changes nothing", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const [first, second] = entries(2);
    await apply({ managedBy: "team", keys: [first, second] });
    await Deno.remove(`${directory}/keys/key-0.key`);
    await program(["apikey", "update", "key 0", "--disable"]);
    const wanted = { managedBy: "team", keys: [{ ...first, roles: ["VIEWER"] }, { name: "new", roles: ["GUEST"] }] };
    const outcome = await apply(wanted, "--dry-run", "--prune");
    expect(countsOf(outcome)).toEqual({ created: 1, rotated: 1, deleted: 1 });
    expect(JSON.parse(outcome.stdout).keys).toMatchObject([
      {
        name: "key 0",
        action: "rotate",
        reason: expect.stringContaining("does not hold a secret"),
        changes: [
          { field: "roles", before: ["GUEST"], after: ["VIEWER"] },
          { field: "enabled", before: false, after: true },
        ],
      },
      { name: "new", id: null, action: "create", reason: null, changes: [] },
      { name: "key 1", action: "delete" },
    ]);
    expect(await names(program)).toEqual(["key 0", "key 1"]);
    const files = await Array.fromAsync(Deno.readDir(`${directory}/keys`), ({ name }) => name);
    expect(files).toEqual(["key-1.key"]);
  }));

Deno.test("--dry-run prints a plan that a person can read, and colours it if FORCE_COLOR is set", () =>
  onEmbedded(async ({ directory, env, program, apply }) => {
    await apply({ keys: entries(3) });
    await program(["apikey", "update", "key 0", "--disable"]);
    const path = `${directory}/keys.yaml`;
    const wanted = [...entries(2), { name: "new", permissions: ["DOCKER:READ_ANY"], secretFile: "new.key" }];
    await Deno.writeTextFile(path, stringify({ keys: [{ ...wanted[0], roles: ["VIEWER"] }, ...wanted.slice(1)] }));
    const args = ["apikey", "apply", path, "--secrets-dir", `${directory}/keys`, "--dry-run"];
    expect((await program(args)).stdout).toBe(`update     key 0
           roles        GUEST → VIEWER
           enabled      no → yes
create     new
           would write the secret to ${directory}/keys/new.key
1 to create, 1 to update, 0 to rotate, 0 to delete, 1 unchanged
`);
    const colored = await inProcess(args, { env: { ...env, FORCE_COLOR: "1" } });
    expect(colored.stdout).toContain("\x1b[33mupdate   \x1b[39m  key 0");
    expect(colored.stdout).toContain("\x1b[32mcreate   \x1b[39m  new");
  }));

Deno.test("--prune deletes only keys with managedBy of the manifest", () =>
  onEmbedded(async ({ program, apply }) => {
    const [first, second, third] = entries(3);
    await apply({ managedBy: "others", keys: [first] });
    await apply({ keys: [second] });
    await apply({ managedBy: "team", keys: [third] });
    expect(countsOf(await apply({ managedBy: "team", keys: [] }, "--prune"))).toEqual({ deleted: 1 });
    expect(await names(program)).toEqual(["key 0", "key 1"]);
  }));

Deno.test("--prune names the secret files that remain of deleted keys", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const [first, second, third] = entries(3);
    await apply({ managedBy: "team", keys: [first, { ...second, secretFile: "own.key" }, third] });
    await Deno.writeTextFile(`${directory}/keys.yaml`, stringify({ managedBy: "team", keys: [third] }));
    const { code, stderr } = await program(
      ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--prune"],
    );
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `service-api: The secret file of the deleted key "key 0" remains: "${directory}/keys/key-0.key". ` +
        'Remove it.\nservice-api: If a file holds the secret of the deleted key "key 1", remove the file.\n',
    });
  }));

Deno.test("--prune without managedBy in the manifest is a usage error", () =>
  onEmbedded(async ({ apply }) => {
    const { code, stdout } = await apply({ keys: [] }, "--prune");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: "USAGE",
      error: expect.stringMatching(/needs managedBy/),
    });
  }));

Deno.test("--prune does not delete the key in use, and then changes nothing", () =>
  withInstallation(overHttp, async ({ program, directory, env, apply }) => {
    const deployer = { name: "deployer", roles: ["ADMIN"] };
    await apply({ managedBy: "team", keys: [deployer] });
    await Deno.writeTextFile(`${directory}/keys.yaml`, stringify({ managedBy: "team", keys: entries(1) }));
    const key = (await Deno.readTextFile(`${directory}/keys/deployer.key`)).trim();
    const { stdout } = await inProcess(
      ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--prune", "--json"],
      { env: { ...env, SERVICE_API_KEY: key } },
    );
    expect(JSON.parse(stdout)).toEqual({
      code: "FAILED",
      error: expect.stringContaining('would delete the key in use, "deployer"'),
    });
    expect(await names(program)).toEqual(["deployer"]);
  }));

Deno.test("--prune does not delete the last key with the role ADMIN, unless the manifest has another one", () =>
  onEmbedded(async ({ program, apply }) => {
    const admin = { name: "old admin", roles: ["ADMIN"] };
    await apply({ managedBy: "team", keys: [admin] });
    const { code, stdout } = await apply({ managedBy: "team", keys: entries(1) }, "--prune");
    expect({ exitCode: code, ...JSON.parse(stdout) }).toEqual({
      exitCode: 1,
      code: "FAILED",
      error: expect.stringMatching(
        /would delete "old admin", the last key with the role ADMIN\. Nothing was changed\./,
      ),
    });
    expect(await names(program)).toEqual(["old admin"]);
    const successor = { ...admin, name: "new admin" };
    expect(countsOf(await apply({ managedBy: "team", keys: [successor] }, "--prune"))).toEqual({
      created: 1,
      deleted: 1,
    });
  }));

Deno.test("a manifest that takes the role ADMIN from its key does not count as one that has it", () =>
  onEmbedded(async ({ program, apply }) => {
    const admin = { name: "old admin", roles: ["ADMIN"] };
    const [first] = entries(1);
    await apply({ managedBy: "team", keys: [admin, { ...first, roles: ["ADMIN"] }] });
    const { stdout } = await apply({ managedBy: "team", keys: [first] }, "--prune");
    expect(JSON.parse(stdout).error).toContain('would delete "old admin", the last key with the role ADMIN');
    expect(await names(program)).toEqual(["key 0", "old admin"]);
  }));

Deno.test("if the calling key may not delete the keys that --prune finds, the result names them and what was done", () =>
  withInstallation(overHttp, async ({ program, directory, env, apply }) => {
    const [first, second] = entries(2);
    await apply({ managedBy: "team", keys: [first] });
    const permissions = "API_KEY:CREATE_ANY,API_KEY:READ_ANY,API_KEY:UPDATE_ANY,ME:READ_OWN";
    const ci = await program(["apikey", "--create", "--name", "ci", "--permissions", permissions]);
    await Deno.writeTextFile(`${directory}/keys.yaml`, stringify({ managedBy: "team", keys: [second] }));
    const args = ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--prune"];
    const asCi = { env: { ...env, SERVICE_API_KEY: ci.stdout.trim() } };
    const { code, stdout } = await inProcess([...args, "--json"], asCi);
    expect({ exitCode: code, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      created: 1,
      deleted: 0,
      failed: [{
        id: expect.stringMatching(/^key_/),
        name: "key 0",
        code: "FORBIDDEN",
        error: expect.stringContaining("API_KEY:DELETE_ANY"),
      }],
    });
    expect((await inProcess(args, asCi)).stderr).toMatch(/^service-api: "key 0": .*API_KEY:DELETE_ANY/);
  }));

Deno.test("if the server goes away while --prune deletes keys, the message counts the keys that were changed", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    await apply({ managedBy: "team", keys: entries(3) });
    await Deno.writeTextFile(`${directory}/keys.yaml`, stringify({ managedBy: "team", keys: [] }));
    let deletions = 0;
    await using server = startServer(async ({ body }) => {
      if (body.includes("delete(") && ++deletions > 2) return new Response("", { status: 503 });
      const { stdout } = await program(["request", "--body", body]);
      return new Response(stdout, { headers: { "content-type": "application/json" } });
    });
    const { code, stderr } = await inProcess(["apikey", "apply", `${directory}/keys.yaml`, "--prune"], {
      env: { SERVICE_API_URL: server.url },
    });
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining("Before that, 2 keys were changed.") });
  }));

/** Runs the program with a standard output that cannot be written. Returns what it writes to standard error. */
async function withFullDisk(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const host = new FakeHost(args, { env });
  Object.assign(host.stdout, { write: () => Promise.reject(new Failure("FAILED", "Cannot write: disk full.")) });
  expect(await run(host)).toBe(1);
  return host.stderr.text;
}

Deno.test("if the result of apply cannot be printed, the message says which keys were changed", () =>
  onEmbedded(async ({ directory, env }) => {
    const path = `${directory}/keys.yaml`;
    const args = ["apikey", "apply", path, "--secrets-dir", `${directory}/keys`];
    await Deno.writeTextFile(path, stringify({ keys: entries(1) }));
    expect(await withFullDisk([...args, "--dry-run"], env)).toBe("service-api: Cannot write: disk full.\n");
    expect(await withFullDisk(args, env)).toMatch(
      /^service-api: The key "key 0" \(key_\w+\) was created, but the result could not be printed: Cannot write: disk full\. Its secret is in ".*key-0\.key"\.\n$/,
    );
    await Deno.writeTextFile(
      path,
      stringify({ keys: [...entries(3), { name: "x", roles: ["GUEST"], secretFile: "." }] }),
    );
    expect(await withFullDisk(args, env)).toBe(
      "service-api: 2 keys were changed, but the result could not be printed: Cannot write: disk full. 1 failed. To see " +
        "why, run the same command again.\n",
    );
  }));

Deno.test("a key without managedBy gets the mark, and a key of another manifest is not taken over", () =>
  onEmbedded(async ({ program, apply }) => {
    const [first, second] = entries(2);
    await apply({ keys: [first] });
    await apply({ managedBy: "others", keys: [second] });
    const { code, stdout } = await apply({ managedBy: "team", keys: [first, second] });
    expect({ exitCode: code, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      updated: 1,
      unchanged: 0,
      failed: [{ name: "key 1", code: "FAILED", error: expect.stringContaining('belongs to the manifest "others"') }],
    });
    const { keys } = JSON.parse((await program(["apikey", "list", "--json"])).stdout);
    expect(keys.map(({ managedBy }: { managedBy: string }) => managedBy)).toEqual(["team", "others"]);
  }));

Deno.test("if another manifest creates the key at the same moment, apply names that manifest", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const path = `${directory}/mine.yaml`;
    const mine = { managedBy: "mine", keys: [{ name: "ci", roles: ["GUEST"], secretFile: "mine.key" }] };
    await Deno.writeTextFile(path, stringify(mine));
    await using server = startServer(async ({ body }) => {
      if (body.includes("CreateApiKey")) await apply({ managedBy: "others", keys: [{ name: "ci", roles: ["GUEST"] }] });
      const { stdout } = await program(["request", "--body", body]);
      return new Response(stdout, { headers: { "content-type": "application/json" } });
    });
    const { code, stdout } = await inProcess(["apikey", "apply", path, "--json"], {
      env: { SERVICE_API_URL: server.url },
    });
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 1,
      failed: [{ name: "ci", code: "FAILED", error: expect.stringContaining('belongs to the manifest "others"') }],
    });
  }));

Deno.test("if some keys fail, the others are done, nothing is deleted, and a second run goes on", () =>
  withInstallation(overHttp, async ({ program, directory, env, apply }) => {
    const permissions = "API_KEY:CREATE_ANY,API_KEY:READ_OWN,API_KEY:UPDATE_OWN,API_KEY:DELETE_OWN,DISK:READ_ANY";
    const ci = await program(["apikey", "--create", "--name", "ci", "--permissions", permissions]);
    const path = `${directory}/keys.yaml`;
    const asCi = async (keys: readonly Entry[], ...flags: readonly string[]): Promise<Outcome> => {
      await Deno.writeTextFile(path, stringify({ managedBy: "team", keys }));
      return await inProcess(["apikey", "apply", path, "--secrets-dir", `${directory}/keys`, ...flags], {
        env: { ...env, SERVICE_API_KEY: ci.stdout.trim() },
      });
    };
    const readers = entries(3).map(({ name }): Entry => ({ name, permissions: ["DISK:READ_ANY"] }));
    await asCi(readers.slice(0, 1));
    await Deno.mkdir(`${directory}/keys/key-2.key`);
    const wanted = [...readers.slice(1), { name: "too much", roles: ["ADMIN"] }];
    const partial = await asCi(wanted, "--prune", "--json");
    const result = JSON.parse(partial.stdout);
    expect({ code: partial.code, ...result }).toMatchObject({ code: 1, created: 1, deleted: 0 });
    expect(result.failed).toEqual([
      { id: null, name: "key 2", code: "USAGE", error: expect.stringContaining("not a regular file") },
      { id: null, name: "too much", code: "FORBIDDEN", error: expect.stringContaining("can grant only rights") },
    ]);
    const text = await asCi(wanted, "--prune");
    expect(text.stderr).toMatch(/service-api: "too much": A key can grant only rights.*\n.*1 key was not deleted/s);

    await Deno.remove(`${directory}/keys/key-2.key`);
    expect(countsOf(await asCi(readers.slice(1), "--prune", "--json"))).toEqual({
      created: 1,
      deleted: 1,
      unchanged: 1,
    });
    expect(await names(program)).toEqual(["ci", "key 1", "key 2"]);
    expect(countsOf(await apply({ keys: [] }))).toEqual({});
  }));

for (
  const [description, path, code, error] of [
    ["is empty", "", "USAGE", "--secrets-dir is empty."],
    ["cannot be created", "keys.yaml/keys", "FAILED", 'keys.yaml/keys": '],
  ] as const
) {
  Deno.test(`if --secrets-dir ${description}, apply says so and changes nothing`, () =>
    onEmbedded(async ({ directory, program }) => {
      const manifest = `${directory}/keys.yaml`;
      await Deno.writeTextFile(manifest, stringify({ keys: entries(1) }));
      const secretsDir = path === "" ? "" : `${directory}/${path}`;
      const { stdout } = await program(["apikey", "apply", manifest, "--secrets-dir", secretsDir, "--json"]);
      expect(JSON.parse(stdout)).toEqual({ code, error: expect.stringContaining(error) });
      expect(await names(program)).toEqual([]);
    }));
}

for (const [status, failure] of [[503, "UNREACHABLE"], [504, "TIMEOUT"]] as const) {
  Deno.test(`if the server answers with ${status}, the message says how many keys were changed, and the next run goes on`, () =>
    onEmbedded(async ({ directory, program, apply }) => {
      const path = `${directory}/keys.yaml`;
      await Deno.writeTextFile(path, stringify({ keys: entries(60) }));
      let creations = 0;
      await using server = startServer(async ({ body }) => {
        if (body.includes("mutation") && ++creations > 55) return new Response("", { status });
        const { stdout } = await program(["request", "--body", body]);
        return new Response(stdout, { headers: { "content-type": "application/json" } });
      });
      const { code, stdout } = await inProcess(
        ["apikey", "apply", path, "--secrets-dir", `${directory}/keys`, "--json"],
        { env: { SERVICE_API_URL: server.url } },
      );
      expect({ exitCode: code, ...JSON.parse(stdout) }).toEqual({
        exitCode: 4,
        code: failure,
        error: expect.stringMatching(/ Before that, 55 keys were changed\. To finish, run the same command/),
      });
      expect(countsOf(await apply({ keys: entries(60) }))).toEqual({ created: 5, unchanged: 55 });
    }));
}

Deno.test("if the response with a new secret is lost, the message says only once to run the command again", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    await apply({ keys: entries(1) });
    await Deno.remove(`${directory}/keys/key-0.key`);
    await using server = startServer(async ({ body }) => {
      const { stdout } = await program(["request", "--body", body]);
      const response = body.includes("rotate(") ? '{"data":{"apiKey":null}}' : stdout;
      return new Response(response, { headers: { "content-type": "application/json" } });
    });
    const { stdout } = await inProcess(
      ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--json"],
      { env: { SERVICE_API_URL: server.url } },
    );
    expect(JSON.parse(stdout).error.match(/run the same command again/g)).toHaveLength(1);
    expect(countsOf(await apply({ keys: entries(1) }))).toEqual({ rotated: 1 });
  }));

Deno.test("after Ctrl-C, the message says how many keys were changed, and the next run goes on", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const path = `${directory}/keys.yaml`;
    await Deno.writeTextFile(path, stringify({ keys: entries(60) }));
    const args = ["apikey", "apply", path, "--secrets-dir", `${directory}/keys`, "--json"];
    let creations = 0;
    await using server = startServer(async ({ body }) => {
      if (body.includes("mutation")) creations++;
      else if (creations === 50) host.handlers.get("SIGINT")?.();
      const { stdout } = await program(["request", "--body", body]);
      return new Response(stdout, { headers: { "content-type": "application/json" } });
    });
    const host = new FakeHost(args, { env: { SERVICE_API_URL: server.url } });
    expect(await run(host)).toBe(130);
    expect(JSON.parse(host.stdout.text)).toEqual({
      code: "INTERRUPTED",
      error: "Interrupted. Before that, 50 keys were changed. To finish, run the same command again.",
    });
    expect(countsOf(await apply({ keys: entries(60) }))).toEqual({ created: 10, unchanged: 50 });
  }));

Deno.test("1,000 unchanged keys need three requests with --prune", () =>
  onEmbedded(async ({ directory, program, apply }) => {
    const manifest = { managedBy: "team", keys: entries(1000) };
    expect(countsOf(await apply(manifest))).toEqual({ created: 1000 });
    await using server = startServer(async ({ body }) => {
      const { stdout } = await program(["request", "--body", body]);
      return new Response(stdout, { headers: { "content-type": "application/json" } });
    });
    const outcome = await inProcess(
      ["apikey", "apply", `${directory}/keys.yaml`, "--secrets-dir", `${directory}/keys`, "--prune", "--json"],
      { env: { SERVICE_API_URL: server.url } },
    );
    expect(countsOf(outcome)).toEqual({ unchanged: 1000 });
    expect(server.requests.length).toBeLessThanOrEqual(3);
  }));

Deno.test("apply reads JSON from standard input, and resolves paths against the working directory", () =>
  onEmbedded(async ({ directory, program }) => {
    const manifest = { keys: [{ name: "ci", roles: ["GUEST"], secretFile: `${directory}/ci.key` }] };
    const outcome = await program(["apikey", "apply", "-", "--json"], { stdin: JSON.stringify(manifest) });
    expect(countsOf(outcome)).toEqual({ created: 1 });
  }));

Deno.test("apply - at a terminal is a usage error, and does not wait for input", async () => {
  const host = new FakeHost(["apikey", "apply", "-", "--json"]);
  Object.assign(host.stdin, { isTerminal: () => true });
  expect(await run(host)).toBe(2);
  expect(JSON.parse(host.stdout.text)).toMatchObject({ code: "USAGE", error: expect.stringContaining("a terminal") });
});

Deno.test("a wildcard is expanded before it is compared with the rights of the key", () =>
  onEmbedded(async ({ apply }) => {
    const keys = [{ name: "reader", permissions: ["*:READ_ANY", "DOCKER:*"] }];
    expect(countsOf(await apply({ keys }))).toEqual({ created: 1 });
    expect(countsOf(await apply({ keys }))).toEqual({ unchanged: 1 });
  }));

Deno.test("--schema prints the JSON Schema of a manifest, without a manifest", async () => {
  const { code, stdout } = await inProcess(["apikey", "apply", "--schema"]);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, type: "object", required: ["keys"] });
  const line = await inProcess(["apikey", "apply", "--schema", "--json"]);
  expect(line.stdout.match(/\n/g)).toHaveLength(1);
  expect(JSON.parse(line.stdout)).toEqual(JSON.parse(stdout));
});

Deno.test("apply without a manifest, with a missing file or with a huge file is a usage error", () =>
  inTemporaryDirectory(async (directory) => {
    const huge = `${directory}/huge.yaml`;
    await Deno.writeTextFile(huge, "#".repeat(1_000_001));
    for (const [args, error] of [[[], "needs the path"], [["none.yaml"], "No such file"], [[huge], "larger than"]]) {
      // deno-lint-ignore no-await-in-loop -- only three command lines
      const { code, stdout } = await inProcess(["apikey", "apply", ...args ?? [], "--json"]);
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: "USAGE",
        error: expect.stringContaining(`${error}`),
      });
    }
  }));

Deno.test("on a server with only the published schema, apply works without --prune, and says that managedBy is ignored", () =>
  inTemporaryDirectory(async (directory) => {
    await using server = startLaggingServer([], { lag: 0 });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET };
    const path = `${directory}/keys.yaml`;
    await Deno.writeTextFile(path, stringify({ managedBy: "team", keys: entries(2) }));
    const args = ["apikey", "apply", path, "--secrets-dir", `${directory}/keys`, "--json"];
    for (const counts of [{ created: 2 }, { unchanged: 2 }]) {
      // deno-lint-ignore no-await-in-loop -- one run after the other
      const { code, stdout, stderr } = await inProcess(args, { env });
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ...counts });
      expect(stderr).toContain("does not record managedBy");
    }
    const { code, stdout } = await inProcess([...args, "--prune"], { env });
    expect({ exitCode: code, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      code: "UNSUPPORTED",
      error: expect.stringContaining("lacks ApiKey.managedBy"),
    });
  }));
