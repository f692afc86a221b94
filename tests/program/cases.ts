/**
 * The specification as cases, to be run against every kind of installation. A case starts with no key but the
 * one that its installation authenticates with, if any.
 */
import { expect } from "expect";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import type { Outcome } from "../execute.ts";
import type { Program } from "./program.ts";

export interface Case {
  /** What the user sees. */
  readonly rule: string;
  readonly check: (program: Program) => Promise<void>;
  /** It needs a server without any key, which only the embedded one can be. */
  readonly withoutAnyKey?: true;
}

const SECRET = /^sak_[0-9A-Za-z]{49}$/;
const ID = /^key_[0-9A-Za-z]{22}$/;

const create = (...flags: readonly string[]): readonly string[] => ["apikey", "--create", ...flags];
const remove = (...flags: readonly string[]): readonly string[] => ["apikey", "--delete", ...flags];

/** The one line of JSON on standard output; nothing else may be there, and nothing on standard error. */
function jsonLine(outcome: Outcome): Record<string, unknown> {
  expect(outcome.stderr).toBe("");
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

/** Runs what has to be refused, in JSON and in words, and sees that nothing changed. */
async function refuses(
  program: Program,
  args: readonly string[],
  exitCode: number,
  code: string,
  message: RegExp,
): Promise<void> {
  expectFailure(await program([...args, "--json"]), exitCode, code, message);
  const plain = await program(args);
  expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(plain.stderr).toMatch(message);
  expect(plain.stderr).toMatch(/^service-api: [^\n]+\n$/);
  expect(await names(program)).toEqual([]);
}

const BAD_NAMES: readonly (readonly [string, string])[] = [
  ["empty", ""],
  ["blank", "   "],
  ["hyphenated", "ci-bot"],
  ["with an underscore", "ci_bot"],
  ["an emoji", "deploy \u{1F680}"],
  ["a right-to-left override", "ab\u202Ecd"],
  ["a control character", "ab\u0007cd"],
  ["a tab inside", "ab\tcd"],
  ["a no-break space inside", "ab\u00A0cd"],
  ["a mark that composes with nothing", "x\u0301y"],
  ["of 300 code points", "\u{10400}".repeat(300)],
];

const BAD_PERMISSIONS: readonly (readonly [string, RegExp])[] = [
  ["DOCKER", /"DOCKER" does not have the form RESOURCE:ACTION\. Did you mean DOCKER:READ_ANY\?/],
  ["DOCKER:", /"DOCKER:" does not have the form RESOURCE:ACTION/],
  [":READ_ANY", /":READ_ANY" does not have the form RESOURCE:ACTION/],
  ["DOCKER:FLY", /Unknown action "FLY"/],
  ["DOCKR:READ_ANY", /Unknown resource "DOCKR".*Did you mean DOCKER:READ_ANY\?/],
  ["DOCKER:READ_ANY,", /empty item/],
];

/** Names that the rule allows, with what they become. */
const GOOD_NAMES: readonly (readonly [string, string])[] = [
  ["ci deploy 1", "ci deploy 1"],
  ["  padded  ", "padded"],
  ["D\u00e9ploiement", "D\u00e9ploiement"],
  ["De\u0301ploiement", "D\u00e9ploiement"],
  ["\u0645\u0641\u062a\u0627\u062d", "\u0645\u0641\u062a\u0627\u062d"],
  ["\u9375 \u0663", "\u9375 \u0663"],
];

export const CASES: readonly Case[] = [
  {
    rule: "create --json prints key, name and id, and nothing else (spec 4.1)",
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
    rule: "create prints the secret alone on standard output",
    check: async (program) => {
      const { code, stdout, stderr } = await program(create("--name", "ci", "--permissions", "DOCKER:READ_ANY"));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.endsWith("\n")).toBe(true);
      expect(stdout.trimEnd()).toMatch(SECRET);
    },
  },
  {
    rule: "a created key is a bearer credential with the rights of its roles and permissions (spec 5)",
    check: async (program) => {
      const made = await program(create("--name", "reader", "--permissions", "API_KEY:READ_ANY"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      expect((await program(["request", "--query", "{ apiKeys { id } }"], { env })).code).toBe(0);
      const denied = await program(create("--name", "other", "--roles", "GUEST", "--json"), { env });
      expectFailure(denied, 3, "FORBIDDEN", /API_KEY:CREATE_ANY/);
    },
  },
  {
    rule: "nobody grants a right they do not hold",
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
    rule: "roles and permissions may be given together, in any case, with spaces, more than once",
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
    rule: "every role and every pair of resource and action is accepted (spec 2)",
    check: async (program) => {
      const pairs = RESOURCES.flatMap((resource) => ACTIONS.map((action) => `${resource}:${action}`));
      const flags = ["--roles", "ADMIN,CONNECT,VIEWER,GUEST", "--permissions", pairs.join(",")];
      expect((await program(create("--name", "everything", ...flags))).code).toBe(0);
      expect(pairs).toHaveLength(29 * 8);
    },
  },
  ...GOOD_NAMES.map(([typed, stored]): Case => ({
    rule: `the name ${JSON.stringify(typed)} is stored as ${JSON.stringify(stored)}`,
    check: async (program) => {
      const { name } = jsonLine(await program(create("--name", typed, "--roles", "GUEST", "--json")));
      expect(name).toBe(stored);
      expect(await names(program)).toEqual([stored]);
      expect((await program(remove("--name", typed))).stdout).toBe("Successfully deleted 1 API key\n");
    },
  })),
  ...BAD_NAMES.map(([what, name]): Case => ({
    rule: `a name that is ${what} is refused`,
    check: (program) =>
      refuses(
        program,
        create("--name", name, "--roles", "GUEST"),
        2,
        "INVALID_NAME",
        what.includes("300")
          ? /only letters, digits and spaces, and at most 255/
          : /may contain only letters, digits and spaces/,
      ),
  })),
  {
    rule: "a name in use is refused without --overwrite, and the key that has it still works (spec 4.1 rule 3)",
    check: async (program) => {
      const first = await program(create("--name", "taken", "--permissions", "API_KEY:READ_ANY"));
      const again = await program(create("--name", "taken", "--roles", "GUEST", "--json"));
      expectFailure(again, 1, "ALREADY_EXISTS", /already exists; add --overwrite or choose another name/);
      const env = { SERVICE_API_KEY: first.stdout.trim() };
      expect((await program(["request", "--query", "{ apiKeys { id } }"], { env })).code).toBe(0);
    },
  },
  {
    rule: "--overwrite replaces the key, and the old secret fails at once (spec 3)",
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
    rule: "--overwrite of a name not in use creates it",
    check: async (program) => {
      const outcome = await program(create("--name", "fresh", "--roles", "GUEST", "--overwrite", "--json"));
      expect(outcome.code).toBe(0);
      expect(jsonLine(outcome)["name"]).toBe("fresh");
    },
  },
  {
    rule: "neither --roles nor --permissions is refused (spec 4.1 rule 1)",
    check: (program) => refuses(program, create("--name", "a"), 2, "NO_RIGHTS", /at least one role or permission/),
  },
  {
    rule: "blank --roles and --permissions are no rights",
    check: (program) =>
      refuses(
        program,
        create("--name", "a", "--roles", "", "--permissions", " "),
        2,
        "NO_RIGHTS",
        /at least one role or permission/,
      ),
  },
  {
    rule: "an extra comma in --roles is refused",
    check: (program) => refuses(program, create("--name", "a", "--roles", "ADMIN,"), 2, "INVALID_ROLE", /empty item/),
  },
  {
    rule: "an unknown role is refused with the nearest one",
    check: (program) =>
      refuses(program, create("--name", "a", "--roles", "ADMN"), 2, "INVALID_ROLE", /"ADMN"\. Did you mean ADMIN\?/),
  },
  ...BAD_PERMISSIONS.map(([permission, message]): Case => ({
    rule: `--permissions ${permission} is refused`,
    check: (program) =>
      refuses(program, create("--name", "a", "--permissions", permission), 2, "INVALID_PERMISSION", message),
  })),
  {
    rule: "create without a name is a usage error at once when there is no terminal",
    check: (program) => refuses(program, create("--roles", "ADMIN"), 2, "USAGE", /--name/),
  },
  {
    rule: "neither mode is a usage error",
    check: (program) => refuses(program, ["apikey", "--name", "a"], 2, "USAGE", /--create or --delete/),
  },
  {
    rule: "both modes at once are a usage error",
    check: (program) => refuses(program, create("--delete", "--name", "a", "--roles", "GUEST"), 2, "USAGE", /not both/),
  },
  {
    rule: "an unknown flag is a usage error with the nearest one",
    check: (program) => refuses(program, create("--nam", "a"), 2, "USAGE", /"--nam"; did you mean --name\?/),
  },
  {
    rule: "a flag given twice is a usage error: neither value is dropped in silence",
    check: (program) =>
      refuses(program, create("--name", "a", "--roles", "GUEST", "--roles", "VIEWER"), 2, "USAGE", /--roles .*twice/),
  },
  {
    rule: "to replace a key takes the right to delete it",
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
    rule: "flags of create are refused on delete",
    check: async (program) => {
      const outcome = await program(remove("--name", "a", "--overwrite", "--json"));
      expect(outcome.code).toBe(2);
      expect(jsonLine(outcome)).toEqual({
        deleted: 0,
        error: "--overwrite goes with --create, not with --delete.",
        code: "USAGE",
      });
    },
  },
  {
    rule: "delete says how many keys were deleted (spec 4.2 rule 3)",
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
    rule: "a deleted key fails at once",
    check: async (program) => {
      const made = await program(create("--name", "temp", "--roles", "VIEWER"));
      await program(remove("--name", "temp"));
      const env = { SERVICE_API_KEY: made.stdout.trim() };
      const outcome = await program(["request", "--query", "{ apiKeys { id } }", "--json"], { env });
      expectFailure(outcome, 3, "UNAUTHENTICATED", /does not know it/);
    },
  },
  {
    rule: "delete of a name that no key has is shape A, status 1 (spec 7)",
    check: async (program) => {
      await program(create("--name", "other", "--roles", "GUEST"));
      const outcome = await program(remove("--name", "X", "--json"));
      expect(outcome.code).toBe(1);
      expect(jsonLine(outcome)).toEqual({ deleted: 0, error: "No API key found with name: X" });
      expect(await program(remove("--name", "X"))).toEqual({
        code: 1,
        stdout: "No API keys found to delete\n",
        stderr: "",
      });
    },
  },
  {
    rule: "delete when there is no key at all is shape B, status 0 (spec 7)",
    withoutAnyKey: true,
    check: async (program) => {
      const outcome = await program(remove("--name", "X", "--json"));
      expect(outcome.code).toBe(0);
      expect(jsonLine(outcome)).toEqual({ deleted: 0, message: "No API keys found to delete" });
      expect(await program(remove("--name", "X"))).toEqual({
        code: 0,
        stdout: "No API keys found to delete\n",
        stderr: "",
      });
    },
  },
  {
    rule: "delete of a name that is none is refused, with the number deleted",
    check: async (program) => {
      const outcome = await program(remove("--name", "a-b", "--json"));
      const { deleted, code, error } = jsonLine(outcome);
      expect({ exit: outcome.code, deleted, code }).toEqual({ exit: 2, deleted: 0, code: "INVALID_NAME" });
      expect(String(error)).toMatch(/may contain only letters, digits and spaces/);
    },
  },
  {
    rule: "delete without a name is a usage error at once when there is no terminal",
    check: async (program) => {
      const outcome = await program(remove("--json"));
      const { deleted, code, error } = jsonLine(outcome);
      expect({ exit: outcome.code, deleted, code }).toEqual({ exit: 2, deleted: 0, code: "USAGE" });
      expect(String(error)).toMatch(/--name/);
    },
  },
  {
    rule: "request prints the answer's body",
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
    rule: "request fails with the body on standard output when the answer has errors",
    check: async (program) => {
      const { code, stdout, stderr } = await program(["request", "--query", "{ nothing }"]);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toHaveProperty("errors");
      expect(stderr).toMatch(/Cannot query field "nothing"/);
    },
  },
  {
    rule: "--version prints name, version, commit and target",
    check: async (program) => {
      const { code, stdout } = await program(["--version"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /^service-api \d+\.\d+\.\d+ \((commit [0-9a-f]{12}(-dirty)?|of no commit|from its sources), \S+\)\n$/,
      );
    },
  },
  {
    rule: "apikey --help names every flag of the specification, role, resource and action, within 80 columns",
    check: async (program) => {
      const { code, stdout, stderr } = await program(["apikey", "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const flags = ["create", "delete", "name", "roles", "permissions", "description", "overwrite", "json"];
      for (const word of [...flags.map((flag) => `--${flag}`), "ADMIN", "GUEST", ...RESOURCES, ...ACTIONS]) {
        expect(stdout).toContain(word);
      }
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    },
  },
  {
    rule: "no command prints the help on standard error and is a usage error",
    check: async (program) => {
      const { code, stdout, stderr } = await program([]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/Usage: service-api/);
    },
  },
];
