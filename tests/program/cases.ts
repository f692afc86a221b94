/**
 * The cases: rules that the program follows in embedded mode and over HTTP. Some name their section of the specification. In
 * embedded mode, a case starts without keys. Over HTTP, it starts with one key, "admin", with which the program
 * authenticates. `tests/cli/commands/apikey/flags_test.ts` tests command lines that never reach a server.
 */
import { expect } from "expect";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import type { Outcome } from "../execute.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import type { Program } from "./program.ts";

export interface Case {
  /** What the user sees. */
  readonly rule: string;
  readonly check: (program: Program) => Promise<void>;
  /** Whether the case needs a store without keys. Such a case cannot run over HTTP, where the key "admin" exists. */
  readonly withoutAnyKey?: true;
  /**
   * Whether the case is one of those that together use every command and every kind of outcome. They also run with the
   * executable and on PostgreSQL.
   */
  readonly isSmokeTest?: true;
  /** Whether the executable also runs the case against its own `serve`, to test the bundled HTTP client and server. */
  readonly isServeTest?: true;
  /** Whether the case depends on the platform, and also runs with the executables for Linux arm64 and Windows. */
  readonly isPlatformTest?: true;
}

const SECRET = /^sak_[0-9A-Za-z]{49}$/;
const ID = /^key_[0-9A-Za-z]{22}$/;

/** The lines on standard error if `--delete` finds no key. */
const NOT_FOUND =
  /^(service-api: No API key found with (name|id): .*\.\n)+service-api: Searched the (server|store|database) .*--profile\.\n$/;

const create = (...flags: readonly string[]): readonly string[] => ["apikey", "--create", ...flags];
const remove = (...flags: readonly string[]): readonly string[] => ["apikey", "--delete", ...flags];

/** Parses one line of JSON on standard output. Fails if standard output has any other text. */
function jsonLine(outcome: Outcome, stderr = /^$/): Record<string, unknown> {
  expect(outcome.stderr).toMatch(stderr);
  expect(outcome.stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(outcome.stdout);
}

function expectFailure(outcome: Outcome, exitCode: number, code: string, message: RegExp): void {
  const { error, code: shown, ...rest } = jsonLine(outcome);
  expect({ shown, exitCode: outcome.code }).toEqual({ shown: code, exitCode });
  expect(String(error)).toMatch(message);
  expect(rest).toEqual({});
}

async function names(program: Program): Promise<readonly string[]> {
  const { stdout } = await program(["request", "--query", "{ apiKeys { name } }"]);
  const { data: { apiKeys } }: { data: { apiKeys: { name: string }[] } } = JSON.parse(stdout);
  return apiKeys.map(({ name }) => name).filter((name) => name !== "admin");
}

export const CASES: readonly Case[] = [
  {
    rule: "create --json prints key, name and id, and nothing else (spec 4.1)",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const outcome = await program(create("--name", "ci deploy", "--roles", "VIEWER", "--json"));
      const { key, name, id, ...rest } = jsonLine(outcome);
      expect(outcome.code).toBe(0);
      expect(key).toMatch(SECRET);
      expect(name).toBe("ci deploy");
      expect(id).toMatch(ID);
      expect(rest).toEqual({});
    },
  },
  {
    rule: "create prints only the secret on standard output",
    check: async (program) => {
      const { code, stdout, stderr } = await program(create("--name", "ci", "--permissions", "DOCKER:READ_ANY"));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.endsWith("\n")).toBe(true);
      expect(stdout.trimEnd()).toMatch(SECRET);
    },
  },
  {
    rule: "a created key works as a bearer token and has only its own rights (spec 5)",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const made = await program(create("--name", "reader", "--permissions", "API_KEY:READ_ANY"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      expect((await program(["request", "--query", "{ apiKeys { id } }"], { env })).code).toBe(0);
      const denied = await program(create("--name", "other", "--roles", "GUEST", "--json"), { env });
      expectFailure(denied, 3, "FORBIDDEN", /API_KEY:CREATE_ANY/);
    },
  },
  {
    rule: "a caller cannot grant rights that it does not hold",
    check: async (program) => {
      const made = await program(create("--name", "creator", "--permissions", "API_KEY:CREATE_ANY,DOCKER:READ_ANY"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      const within = await program(create("--name", "within", "--permissions", "DOCKER:READ_OWN", "--json"), { env });
      expect(within.code).toBe(0);
      const beyond = await program(create("--name", "beyond", "--permissions", "DISK:READ_OWN", "--json"), { env });
      expectFailure(beyond, 3, "FORBIDDEN", /DISK:READ_OWN/);
      expect(await names(program)).toEqual(["creator", "within"]);
    },
  },
  {
    rule: "create accepts roles and permissions in upper or lower case, with spaces and duplicates",
    check: async (program) => {
      const flags = ["--roles", "viewer, GUEST,Viewer", "--permissions", " docker:read_any ,DOCKER:UPDATE_ANY"];
      expect((await program(create("--name", "mixed", ...flags, "--description", "for\ntests"))).code).toBe(0);
      const query = "{ apiKeys { name description roles permissions { resource actions } } }";
      const { data } = jsonLine(await program(["request", "--query", query, "--json"]));
      expect(data).toEqual({
        apiKeys: expect.arrayContaining([{
          name: "mixed",
          description: "for\ntests",
          roles: ["VIEWER", "GUEST"],
          permissions: [{ resource: "DOCKER", actions: ["READ_ANY", "UPDATE_ANY"] }],
        }]),
      });
    },
  },
  {
    rule: "create accepts every role and every pair of resource and action (spec 2)",
    check: async (program) => {
      const pairs = RESOURCES.flatMap((resource) => ACTIONS.map((action) => `${resource}:${action}`));
      const flags = ["--roles", "ADMIN,CONNECT,VIEWER,GUEST", "--permissions", pairs.join(",")];
      expect((await program(create("--name", "everything", ...flags))).code).toBe(0);
      expect(pairs).toHaveLength(29 * 8);
    },
  },
  {
    rule: "create and delete trim the name and normalize it to NFC",
    check: async (program) => {
      const decomposed = "  De\u0301ploiement ";
      const { name } = jsonLine(await program(create("--name", decomposed, "--roles", "GUEST", "--json")));
      expect(name).toBe("D\u00e9ploiement");
      expect(await names(program)).toEqual(["D\u00e9ploiement"]);
      expect((await program(remove("--name", decomposed))).stdout).toBe("Successfully deleted 1 API key\n");
    },
  },
  {
    rule: "repeated --roles and --permissions add up, and * in a permission stands for every action or resource",
    check: async (program) => {
      const flags = [
        "--roles",
        "GUEST",
        "--roles",
        "CONNECT",
        "--permissions",
        "docker:*",
        "--permissions",
        "*:READ_ANY",
      ];
      expect((await program(create("--name", "wild", ...flags))).code).toBe(0);
      const query = "{ apiKeys { name roles permissions { resource actions } } }";
      const { data } = jsonLine(await program(["request", "--query", query, "--json"]));
      expect(data).toEqual({
        apiKeys: expect.arrayContaining([{
          name: "wild",
          roles: ["GUEST", "CONNECT"],
          permissions: expect.arrayContaining([
            { resource: "DOCKER", actions: ACTIONS },
            ...RESOURCES.filter((name) => name !== "DOCKER").map((resource) => ({ resource, actions: ["READ_ANY"] })),
          ]),
        }]),
      });
    },
  },
  {
    rule: "a resource can be removed only if no key has a permission on it, and keys cannot get one after that",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const onOrders = create("--name", "shop", "--permissions", "ORDERS:READ_ANY", "--json");
      expect(jsonLine(await program(["resource", "add", "orders", "--description", "d", "--json"]))).toEqual({
        name: "ORDERS",
        description: "d",
      });
      expect((await program(onOrders)).code).toBe(0);
      const removal = ["resource", "remove", "ORDERS", "--json"];
      expectFailure(await program(removal), 1, "FAILED", /"shop".*--remove-permissions 'ORDERS:\*'/);
      const replaced = ["--add-roles", "GUEST", "--remove-permissions", "ORDERS:*", "--json"];
      expect((await program(["apikey", "update", "shop", ...replaced])).code).toBe(0);
      expect(jsonLine(await program(removal))).toEqual({ removed: "ORDERS" });
      expect(jsonLine(await program(["resource", "list", "--json"]))).toEqual({ resources: [] });
      expectFailure(await program(onOrders), 2, "INVALID_PERMISSION", /"ORDERS" in "[A-Z_:]+" is not a resource/);
    },
  },
  {
    rule: "create rejects a name of more than 255 code points",
    isSmokeTest: true,
    check: async (program) => {
      const outcome = await program(create("--name", "\u{10400}".repeat(256), "--roles", "GUEST", "--json"));
      expectFailure(outcome, 2, "INVALID_NAME", /only letters, digits and spaces, and at most 255/);
      expect((await program(create("--name", "\u{10400}".repeat(255), "--roles", "GUEST"))).code).toBe(0);
    },
  },
  {
    rule: "create without --overwrite rejects a taken name, and the existing key still works (spec 4.1 rule 3)",
    isSmokeTest: true,
    check: async (program) => {
      const first = await program(create("--name", "taken", "--permissions", "API_KEY:READ_ANY"));
      const again = await program(create("--name", "taken", "--roles", "GUEST", "--json"));
      expectFailure(
        again,
        1,
        "ALREADY_EXISTS",
        /already exists; add --overwrite or choose another name\. --overwrite replaces the key and revokes its secret\. To .* run service-api apikey rotate /,
      );
      const env = { SERVICE_API_KEY: first.stdout.trim() };
      expect((await program(["request", "--query", "{ apiKeys { id } }"], { env })).code).toBe(0);
    },
  },
  {
    rule: "--overwrite replaces the existing key, and the old secret stops working immediately (spec 3)",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const old = await program(create("--name", "rotated", "--permissions", "API_KEY:READ_ANY"));
      const outcome = await program(create("--name", "rotated", "--roles", "ADMIN", "--overwrite", "--json"));
      expect(outcome.code).toBe(0);
      expect(jsonLine(outcome)["key"]).not.toBe(old.stdout.trim());
      const env = { SERVICE_API_KEY: old.stdout.trim() };
      const stale = await program(["request", "--query", "{ apiKeys { id } }", "--json"], { env });
      expectFailure(stale, 3, "UNAUTHENTICATED", /does not know it/);
      expect(await names(program)).toEqual(["rotated"]);
    },
  },
  {
    rule: "--overwrite creates the key if the name is free",
    check: async (program) => {
      const outcome = await program(create("--name", "fresh", "--roles", "GUEST", "--overwrite", "--json"));
      expect(outcome.code).toBe(0);
      expect(jsonLine(outcome)["name"]).toBe("fresh");
    },
  },
  {
    rule: "--overwrite needs the right to delete the existing key",
    check: async (program) => {
      const strong = await program(create("--name", "strong", "--roles", "ADMIN"));
      const weak = await program(create("--name", "weak", "--permissions", "API_KEY:CREATE_ANY,ME:READ_OWN"));
      const env = { SERVICE_API_KEY: weak.stdout.trim() };
      const flags = ["--permissions", "ME:READ_OWN", "--overwrite", "--json"];
      const denied = await program(create("--name", "strong", ...flags), { env });
      expectFailure(denied, 3, "FORBIDDEN", /API_KEY:DELETE_ANY/);
      expect((await program(create("--name", "free", ...flags), { env })).code).toBe(0);
      const unharmed = { SERVICE_API_KEY: strong.stdout.trim() };
      expect((await program(["request", "--query", "{ apiKeys { id } }"], { env: unharmed })).code).toBe(0);
    },
  },
  {
    rule: "delete prints how many keys were deleted (spec 4.2 rule 3)",
    check: async (program) => {
      await program(create("--name", "old", "--roles", "GUEST"));
      expect(await program(remove("--name", "old"))).toEqual({
        code: 0,
        stdout: "Successfully deleted 1 API key\n",
        stderr: "",
      });
      expect(await names(program)).toEqual([]);
    },
  },
  {
    rule: "delete --json lists the keys that were deleted (spec 4.2 rule 4)",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      await program(create("--name", "kept", "--roles", "GUEST"));
      const { id } = jsonLine(await program(create("--name", "old", "--roles", "GUEST", "--json")));
      const outcome = await program(remove("--name", "old", "--json"));
      expect(outcome.code).toBe(0);
      expect(jsonLine(outcome)).toEqual({ deleted: 1, keys: [{ id, name: "old" }] });
      expect(await names(program)).toEqual(["kept"]);
    },
  },
  {
    rule: "a deleted key stops working immediately",
    check: async (program) => {
      const made = await program(create("--name", "temp", "--roles", "VIEWER"));
      await program(remove("--name", "temp"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      const outcome = await program(["request", "--query", "{ apiKeys { id } }", "--json"], { env });
      expectFailure(outcome, 3, "UNAUTHENTICATED", /does not know it/);
    },
  },
  {
    rule: "delete exits with 1 if no key has the name, and without --json says where it searched (spec 7, shape A)",
    isSmokeTest: true,
    check: async (program) => {
      await program(create("--name", "other", "--roles", "GUEST"));
      const outcome = await program(remove("--name", "X", "--json"));
      expect(outcome.code).toBe(1);
      expect(jsonLine(outcome)).toEqual({ deleted: 0, error: "No API key found with name: X" });
      expect(await program(remove("--name", "X"))).toEqual({
        code: 1,
        stdout: "No API keys found to delete\n",
        stderr: expect.stringMatching(NOT_FOUND),
      });
    },
  },
  {
    rule: "delete --id deletes the key with this id, or exits with 1 if there is none",
    check: async (program) => {
      await program(create("--name", "kept", "--roles", "GUEST"));
      const { id } = jsonLine(await program(create("--name", "old", "--roles", "GUEST", "--json")));
      const outcome = await program(remove("--id", String(id), "--json"));
      expect({ code: outcome.code, stderr: outcome.stderr }).toEqual({ code: 0, stderr: "" });
      expect(jsonLine(outcome)).toEqual({ deleted: 1, keys: [{ id, name: "old" }] });
      expect(await names(program)).toEqual(["kept"]);
      const again = await program(remove("--id", String(id), "--json"));
      expect(again.code).toBe(1);
      expect(jsonLine(again)).toEqual({ deleted: 0, error: `No API key found with id: ${id}` });
    },
  },
  {
    rule: "delete with several names deletes the existing keys, lists the missing ones and exits with 1",
    check: async (program) => {
      const { id } = jsonLine(await program(create("--name", "one", "--roles", "GUEST", "--json")));
      const two = jsonLine(await program(create("--name", "two", "--roles", "GUEST", "--json")));
      const flags = ["--name", "one", "--name", "X", "--id", "key_none", "--id", String(two.id), "--name", "two"];
      const outcome = await program(remove(...flags, "--json"));
      expect(outcome.code).toBe(1);
      expect(jsonLine(outcome)).toEqual({
        deleted: 2,
        keys: [{ id, name: "one" }, { id: two.id, name: "two" }],
        failed: [
          { id: null, name: "X", code: "NOT_FOUND", error: "No API key found with name: X" },
          { id: "key_none", name: null, code: "NOT_FOUND", error: "No API key found with id: key_none" },
        ],
      });
      const plain = await program(remove("--name", "one", "--name", "X"));
      expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 1, stdout: "No API keys found to delete\n" });
    },
  },
  {
    rule: "delete --if-exists exits with 0 if a key is missing, prints the same result, and reports no error",
    check: async (program) => {
      const one = await program(remove("--name", "X", "--if-exists", "--json"));
      expect(one.code).toBe(0);
      expect(jsonLine(one)).toEqual({ deleted: 0, error: "No API key found with name: X" });
      const { id } = jsonLine(await program(create("--name", "old", "--roles", "GUEST", "--json")));
      const several = await program(remove("--name", "old", "--id", "key_none", "--if-exists", "--json"));
      expect(several.code).toBe(0);
      expect(jsonLine(several)).toEqual({
        deleted: 1,
        keys: [{ id, name: "old" }],
        failed: [
          { id: "key_none", name: null, code: "NOT_FOUND", error: "No API key found with id: key_none" },
        ],
      });
      expect(await program(remove("--name", "X", "--if-exists"))).toEqual({
        code: 0,
        stdout: "No API keys found to delete\n",
        stderr: "",
      });
    },
  },
  {
    rule: "delete --match deletes the matching keys with --yes, and none without --yes",
    isSmokeTest: true,
    check: async (program) => {
      for (const name of ["ci 1", "ci 2", "kept"]) {
        // deno-lint-ignore no-await-in-loop -- keeps the order of creation
        await program(create("--name", name, "--roles", "GUEST"));
      }
      const refused = await program(remove("--match", "ci *", "--json"));
      expect(refused.code).toBe(2);
      expect(jsonLine(refused)).toMatchObject({ deleted: 0, code: "USAGE" });
      expect(await names(program)).toEqual(["ci 1", "ci 2", "kept"]);
      const deleted = await program(remove("--match", "ci *", "--yes", "--json"));
      expect(deleted.code).toBe(0);
      expect(jsonLine(deleted)).toMatchObject({ deleted: 2, keys: [{ name: "ci 1" }, { name: "ci 2" }] });
      expect(await names(program)).toEqual(["kept"]);
      const none = await program(remove("--match", "ci *", "--yes", "--json"));
      expect({ code: none.code, stdout: none.stdout }).toEqual({
        code: 0,
        stdout: '{"deleted":0,"message":"No API keys found to delete"}\n',
      });
    },
  },
  {
    rule: "delete with a name exits with 1 also if there are no keys at all (spec 7, shape A)",
    withoutAnyKey: true,
    check: async (program) => {
      const outcome = await program(remove("--name", "X", "--json"));
      expect(outcome.code).toBe(1);
      expect(jsonLine(outcome)).toEqual({ deleted: 0, error: "No API key found with name: X" });
      expect(await program(remove("--name", "X"))).toMatchObject({
        code: 1,
        stdout: "No API keys found to delete\n",
      });
    },
  },
  {
    rule: "list prints the keys that match every filter, and exits with 1 for --check if there are any",
    isSmokeTest: true,
    check: async (program) => {
      await program(create("--name", "ci 1", "--permissions", "DOCKER:*", "--expires-in", "3d"));
      await program(create("--name", "ci 2", "--roles", "VIEWER", "--expires-in", "30d"));
      await program(create("--name", "ci 3", "--roles", "GUEST", "--expires-in", "3d"));
      const list = ["apikey", "list", "--match", "ci *"];
      const sorted = await program([...list, "--can", "docker:read_own", "--sort", "expires", "--reverse", "--json"]);
      expect({ code: sorted.code, ...jsonLine(sorted) }).toMatchObject({
        code: 0,
        keys: [{ name: "ci 2", roles: ["VIEWER"] }, { name: "ci 1", permissions: ACTIONS.map((a) => `DOCKER:${a}`) }],
      });
      const expiring = await program([...list, "--expiring", "7d", "--check"]);
      expect(expiring).toEqual({ code: 1, stderr: "", stdout: expect.stringMatching(/^ci 1\t.*\nci 3\t.*\n$/) });
      expect(await program([...list, "--expiring", "1d", "--check"])).toEqual({ code: 0, stdout: "", stderr: "" });
    },
  },
  {
    rule: "show prints a key by its name or id, and fails with NOT_FOUND if there is none",
    isSmokeTest: true,
    check: async (program) => {
      const flags = ["--roles", "GUEST", "--permissions", "DOCKER:READ_ANY", "--description", "d"];
      const { id } = jsonLine(await program(create("--name", "ci deploy", ...flags, "--json")));
      const shown = await program(["apikey", "show", "ci deploy", "--json"]);
      expect({ code: shown.code, ...jsonLine(shown) }).toMatchObject({
        code: 0,
        id,
        name: "ci deploy",
        description: "d",
        roles: ["GUEST"],
        permissions: ["DOCKER:READ_ANY"],
        enabled: true,
        expiresAt: null,
      });
      expect(await program(["apikey", "show", "--id", String(id), "--json"])).toEqual(shown);
      const unknown = await program(["apikey", "show", "ci deply", "--json"]);
      expectFailure(unknown, 1, "NOT_FOUND", /^No API key found with name: ci deply\. Did you mean "ci deploy"\?$/);
    },
  },
  {
    rule: "update changes only what its flags name, and prints the key with --json",
    isSmokeTest: true,
    check: async (program) => {
      const made = jsonLine(await program(create("--name", "ci", "--roles", "GUEST", "--description", "d", "--json")));
      const flags = [
        "--add-permissions",
        "docker:read_any,me:read_own",
        "--add-roles",
        "VIEWER",
        "--remove-roles",
        "guest",
      ];
      const updated = await program(["apikey", "update", "ci", ...flags, "--json"]);
      const { createdAt, createdBy, updatedAt, ...rest } = jsonLine(updated);
      expect(updated.code).toBe(0);
      expect(rest).toEqual({
        id: made["id"],
        name: "ci",
        description: "d",
        roles: ["VIEWER"],
        permissions: ["DOCKER:READ_ANY", "ME:READ_OWN"],
        enabled: true,
        managedBy: null,
        lastUsedAt: null,
        expiresAt: null,
        graceUntil: null,
      });
      expect([typeof createdAt, typeof updatedAt, createdBy === undefined]).toEqual(["string", "string", false]);
      const renamed = await program(["apikey", "update", "--id", String(made["id"]), "--rename", "ci release"]);
      expect({ code: renamed.code, stdout: renamed.stdout }).toEqual({
        code: 0,
        stdout: 'Updated API key "ci release"\n',
      });
      const me = ["request", "--query", "{ me { name } }"];
      expect((await program(me, { env: { SERVICE_API_KEY: String(made["key"]) } })).stdout).toContain("ci release");
    },
  },
  {
    rule: "a disabled key is rejected until it is enabled again",
    check: async (program) => {
      const key = (await program(create("--name", "ci", "--roles", "GUEST"))).stdout.trim();
      const me = ["request", "--query", "{ me { name } }", "--json"];
      expect((await program(["apikey", "update", "ci", "--disable"])).code).toBe(0);
      expectFailure(await program(me, { env: { SERVICE_API_KEY: key } }), 3, "UNAUTHENTICATED", /is disabled/);
      expect((await program(["apikey", "update", "ci", "--enable"])).code).toBe(0);
      expect((await program(me, { env: { SERVICE_API_KEY: key } })).code).toBe(0);
    },
  },
  {
    rule: "update never leaves a key without rights, and refuses a name that is taken",
    check: async (program) => {
      await program(create("--name", "one", "--permissions", "ME:READ_OWN"));
      await program(create("--name", "two", "--roles", "GUEST"));
      const bare = await program(["apikey", "update", "one", "--remove-permissions", "*:*", "--json"]);
      expectFailure(bare, 2, "NO_RIGHTS", /The key "one" would have no rights left\..* use --disable\./);
      const taken = await program(["apikey", "update", "one", "--rename", "two", "--json"]);
      expectFailure(taken, 1, "ALREADY_EXISTS", /A key named "two" already exists\. Choose another name\./);
    },
  },
  {
    rule: "updates at the same time do not undo each other",
    isSmokeTest: true,
    check: async (program) => {
      await program(create("--name", "ci", "--roles", "GUEST"));
      const added = ["DOCKER:READ_ANY", "LOGS:READ_ANY", "VMS:READ_ANY", "SHARE:READ_ANY"];
      const outcomes = await Promise.all(
        added.map((permission) => program(["apikey", "update", "ci", "--add-permissions", permission])),
      );
      expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      const { permissions } = jsonLine(await program(["apikey", "update", "ci", "--enable", "--json"]));
      expect(Array.isArray(permissions) && permissions.toSorted()).toEqual(added.toSorted());
    },
  },
  {
    rule: "rotate issues a new secret for the same key, and the old secret stops working immediately",
    check: async (program) => {
      const old = jsonLine(await program(create("--name", "ci", "--permissions", "ME:READ_OWN", "--json")));
      const rotated = await program(["apikey", "rotate", "ci", "--json"]);
      const { key, ...rest } = jsonLine(rotated);
      expect({ code: rotated.code, rest }).toEqual({ code: 0, rest: { name: "ci", id: old["id"] } });
      expect(key).toMatch(SECRET);
      expect(key).not.toBe(old["key"]);
      const me = ["request", "--query", "{ me { name } }", "--json"];
      expect((await program(me, { env: { SERVICE_API_KEY: String(key) } })).code).toBe(0);
      const stale = await program(me, { env: { SERVICE_API_KEY: String(old["key"]) } });
      expectFailure(stale, 3, "UNAUTHENTICATED", /was rotated/);
    },
  },
  {
    rule: "rotate --grace keeps the old secret valid, and rotate prints only the new secret",
    isSmokeTest: true,
    check: async (program) => {
      const old = jsonLine(await program(create("--name", "ci", "--permissions", "ME:READ_OWN", "--json")));
      const rotated = await program(["apikey", "rotate", "--id", String(old["id"]), "--grace", "1h"]);
      expect(rotated).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(/^sak_\w{49}\n$/) });
      const me = ["request", "--query", "{ me { name } }"];
      const answers = await Promise.all(
        [String(old["key"]), rotated.stdout.trim()].map((key) => program(me, { env: { SERVICE_API_KEY: key } })),
      );
      expect(answers.map(({ code }) => code)).toEqual([0, 0]);
    },
  },
  {
    rule: "rotate of an unknown name fails with NOT_FOUND and suggests the nearest name",
    check: async (program) => {
      await program(create("--name", "ci deploy", "--roles", "GUEST"));
      const unknown = await program(["apikey", "rotate", "ci deply", "--json"]);
      expectFailure(unknown, 1, "NOT_FOUND", /^No API key found with name: ci deply\. Did you mean "ci deploy"\?$/);
      const unknownId = await program(["apikey", "rotate", "--id", "key_1", "--json"]);
      expectFailure(unknownId, 1, "NOT_FOUND", /^No API key found with id: key_1\. /);
    },
  },
  {
    rule: "--expires-in and --expires-at set when a key expires, on create and on rotate",
    isSmokeTest: true,
    check: async (program) => {
      const expiryOf = async (name: string): Promise<number> => {
        const { stdout } = await program(["request", "--query", "{ apiKeys { name expiresAt } }"]);
        const { data: { apiKeys } }: { data: { apiKeys: { name: string; expiresAt: string }[] } } = JSON.parse(stdout);
        return Date.parse(apiKeys.find((key) => key.name === name)?.expiresAt ?? "");
      };
      const before = Date.now();
      await program(create("--name", "for a week", "--roles", "GUEST", "--expires-in", "1w"));
      const expiry = await expiryOf("for a week") - 7 * 86_400_000;
      expect(expiry >= before && expiry <= Date.now()).toBe(true);
      await program(create("--name", "until", "--roles", "GUEST", "--expires-at", "2200-01-02T03:04:05+01:00"));
      expect(await expiryOf("until")).toBe(Date.parse("2200-01-02T02:04:05Z"));
      expect((await program(["apikey", "rotate", "until"])).code).toBe(0);
      expect(await expiryOf("until")).toBe(Date.parse("2200-01-02T02:04:05Z"));
      expect((await program(["apikey", "rotate", "until", "--expires-at", "2201-01-01T00:00:00Z"])).code).toBe(0);
      expect(await expiryOf("until")).toBe(Date.parse("2201-01-01T00:00:00Z"));
    },
  },
  {
    rule: "verify prints whose key it is and what it may do, and --can checks permissions",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const flags = ["--permissions", "DOCKER:READ_ANY", "--roles", "GUEST", "--expires-at", "2200-01-01T00:00:00Z"];
      const made = jsonLine(await program(create("--name", "ci", ...flags, "--json")));
      const env = { SERVICE_API_KEY: String(made["key"]) };
      const key = {
        active: true,
        id: made["id"],
        name: "ci",
        roles: ["GUEST"],
        permissions: ["DOCKER:READ_ANY"],
        expiresAt: "2200-01-01T00:00:00.000Z",
      };
      const allowed = await program(
        ["apikey", "verify", "--can", "docker:read_own", "--can", "ME:READ_OWN", "--json"],
        { env },
      );
      expect({ code: allowed.code, ...jsonLine(allowed) }).toEqual({ code: 0, ...key });
      const lacking = await program(["apikey", "verify", "--can", "*:READ_OWN,DOCKER:READ_ANY", "--json"], { env });
      const missing = RESOURCES.filter((resource) => !["DOCKER", "ME"].includes(resource));
      expect({ code: lacking.code, ...jsonLine(lacking) }).toEqual({
        code: 3,
        ...key,
        missing: missing.map((resource) => `${resource}:READ_OWN`),
      });
    },
  },
  {
    rule: "verify says why a key is not valid",
    check: async (program) => {
      const old = (await program(create("--name", "ci", "--roles", "GUEST"))).stdout.trim();
      const reasonFor = async (key: string): Promise<unknown> => {
        const outcome = await program(["apikey", "verify", "--key-file", "-", "--json"], { stdin: `${key}\n` });
        const { active, reason, ...rest } = jsonLine(outcome);
        expect({ code: outcome.code, active, rest }).toEqual({ code: 3, active: false, rest: {} });
        return reason;
      };
      const current = (await program(["apikey", "rotate", "ci"])).stdout.trim();
      expect(await reasonFor(old)).toBe("rotated");
      await program(["apikey", "update", "ci", "--disable"]);
      expect(await reasonFor(current)).toBe("disabled");
      await program(remove("--name", "ci"));
      expect(await reasonFor(current)).toBe("unknown");
      expect(await reasonFor("a-key-of-another-server")).toBe("mistyped");
    },
  },
  {
    rule: "ensure keeps a valid secret with exactly these rights in a file, and changes only what is needed",
    isSmokeTest: true,
    isServeTest: true,
    check: (program) =>
      inTemporaryDirectory(async (directory) => {
        const file = `${directory}/ci.key`;
        const expectAction = async (action: string, ...rights: readonly string[]): Promise<void> => {
          const outcome = await program(["apikey", "ensure", "ci", ...rights, "--secret-file", file, "--json"]);
          expect({ code: outcome.code, ...jsonLine(outcome) }).toMatchObject({
            code: 0,
            keys: [{ name: "ci", action }],
          });
        };
        await expectAction("create", "--roles", "GUEST");
        await expectAction("unchanged", "--roles", "GUEST");
        await expectAction("update", "--permissions", "ME:READ_OWN");
        await Deno.remove(file);
        await expectAction("rotate", "--permissions", "ME:READ_OWN");
        const { permissions, roles } = jsonLine(await program(["apikey", "verify", "--key-file", file, "--json"]));
        expect({ permissions, roles }).toEqual({ permissions: ["ME:READ_OWN"], roles: [] });
      }),
  },
  {
    rule: "ensure replaces a file that does not hold the secret of the key, and keeps a file that does",
    isPlatformTest: true,
    check: (program) =>
      inTemporaryDirectory(async (directory) => {
        const file = `${directory}/ci.key`;
        const args = ["apikey", "ensure", "ci", "--roles", "GUEST", "--secret-file", file, "--json"];
        const actions: unknown[] = [];
        const secrets: string[] = [];
        for (const spoil of [undefined, "sak_other\n", undefined]) {
          // deno-lint-ignore no-await-in-loop -- one run after the other
          if (spoil !== undefined) await Deno.writeTextFile(file, spoil);
          // deno-lint-ignore no-await-in-loop -- one run after the other
          const { keys } = jsonLine(await program(args));
          actions.push(keys);
          // deno-lint-ignore no-await-in-loop -- one run after the other
          secrets.push((await Deno.readTextFile(file)).trim());
        }
        expect(actions).toMatchObject([[{ action: "create" }], [{ action: "rotate" }], [{ action: "unchanged" }]]);
        expect(secrets).toEqual([expect.stringMatching(SECRET), expect.stringMatching(SECRET), secrets[1]]);
        expect(secrets[0]).not.toBe(secrets[1]);
      }),
  },
  {
    rule: "request prints the response body",
    isSmokeTest: true,
    isServeTest: true,
    isPlatformTest: true,
    check: async (program) => {
      const query = "query Named($id: PrefixedID!) { apiKey(id: $id) { name } }";
      const { id } = jsonLine(await program(create("--name", "asked", "--roles", "GUEST", "--json")));
      const args = ["request", "--query", "-", "--variables", JSON.stringify({ id })];
      expect(await program(args, { stdin: query })).toEqual({
        code: 0,
        stdout: '{"data":{"apiKey":{"name":"asked"}}}\n',
        stderr: "",
      });
    },
  },
  {
    rule: "if the response has errors, request prints the body and exits with 1",
    isSmokeTest: true,
    check: async (program) => {
      const { code, stdout, stderr } = await program(["request", "--query", "{ nothing }"]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toHaveProperty("errors");
      expect(stderr).toMatch(/Cannot query field "nothing"/);
    },
  },
  {
    rule: "needs prints the permissions of a document, and a key with just these permissions can send it",
    isSmokeTest: true,
    isServeTest: true,
    check: async (program) => {
      const document = "{ apiKeys { id } auditEvents { id } me { id } }";
      const found = await program(["needs", document]);
      expect({ code: found.code, stdout: found.stdout }).toEqual({
        code: 0,
        stdout: "API_KEY:READ_ANY\nLOGS:READ_ANY\n",
      });
      const made = await program(create("--name", "reader", "--permissions-for", document, "--yes"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      expect((await program(["request", "--query", document], { env })).code).toBe(0);
      const other = await program(["request", "--query", "mutation { apiKey { delete(input: { ids: [] }) } }"], {
        env,
      });
      expect(other).toMatchObject({ code: 3, stderr: expect.stringMatching(/API_KEY:DELETE_ANY/) });
    },
  },
  {
    rule: "--version prints the name, the version, the commit and the target",
    isSmokeTest: true,
    check: async (program) => {
      const { code, stdout } = await program(["--version"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /^service-api \d+\.\d+\.\d+ \((commit [0-9a-f]{12}(-dirty)?|unknown commit|from its sources), \S+\)\n$/,
      );
    },
  },
];
