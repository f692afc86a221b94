/** The manifest of `apikey apply`. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "expect";
import fc from "fast-check";
import { stringify } from "yaml";
import { type FailureCode } from "../../../../../src/apikey/failure.ts";
import { RESOURCES } from "../../../../../src/apikey/permission.ts";
import { ROLES } from "../../../../../src/apikey/role.ts";
import { UnknownName } from "../../../../../src/apikey/unknown_name.ts";
import {
  type Manifest,
  manifestSchema,
  parseManifest,
} from "../../../../../src/cli/commands/apikey/reconcile/manifest.ts";
import type { WantedKey } from "../../../../../src/cli/commands/apikey/reconcile/plan.ts";
import { failureOf } from "../../../../apikey/failure_of.ts";
import { FakeHost } from "../../../../program/program.ts";

const KNOWN = { roles: ROLES, resources: { names: RESOURCES, every: RESOURCES } };

function parse(text: string, secretsDir?: string): Manifest {
  return parseManifest(text, "conf/keys.yaml", secretsDir, new FakeHost([], { env: { HOME: "/home/ops" } }));
}

function keysOf(text: string, secretsDir?: string): readonly WantedKey[] {
  return parse(text, secretsDir).parseKeys(KNOWN);
}

/** A manifest with one key that has these lines. */
function withLines(...lines: readonly string[]): string {
  return ["keys:", "  - name: ci", ...lines.map((line) => `    ${line}`), ""].join("\n");
}

Deno.test("a manifest gives every member of a key, and names are normalized to NFC", () => {
  const text = `managedBy: team deploy
keys:
  - name: "  Cafe\\u0301 "
    description: for the café
    roles: [viewer]
    permissions: ["DOCKER:read_any, disk:read_any", DOCKER:READ_ANY]
    expiresIn: 90d
    rotateBefore: 2w
    grace: 1h
    secretFile: ci.key
`;
  expect(parse(text).managedBy).toBe("team deploy");
  expect(keysOf(text)).toEqual([{
    name: "Café",
    description: "for the café",
    roles: ["VIEWER"],
    permissions: ["DOCKER:READ_ANY", "DISK:READ_ANY"],
    expiresIn: 90 * 86_400_000,
    expiresAt: undefined,
    rotateBefore: 14 * 86_400_000,
    grace: 3_600_000,
    managedBy: "team deploy",
    secretFile: "conf/ci.key",
  }]);
});

const PATHS: readonly (readonly [string, string | undefined, string | undefined, string])[] = [
  ["relative to the manifest", "a/b.key", undefined, "conf/a/b.key"],
  ["relative to --secrets-dir", "a/b.key", "/run/keys", "/run/keys/a/b.key"],
  ["in the home directory", "~/b.key", "/run/keys", "/home/ops/b.key"],
  ["absolute", "/etc/b.key", "/run/keys", "/etc/b.key"],
  [
    "the name with hyphens for spaces, if there is no secretFile",
    undefined,
    "/run/keys",
    "/run/keys/nightly-backup.key",
  ],
];

for (const [description, secretFile, secretsDir, path] of PATHS) {
  Deno.test(`the path of a secret file is ${description}`, () => {
    const text = stringify({ keys: [{ name: "nightly backup", roles: ["GUEST"], secretFile }] });
    expect(keysOf(text, secretsDir).map((key) => key.secretFile)).toEqual([path]);
  });
}

const MISTAKES: readonly (readonly [string, string, FailureCode, string])[] = [
  ["invalid YAML", "keys: [\n", "USAGE", "2:1: Invalid YAML: "],
  ["no keys", "managedBy: team\n", "USAGE", "1:1: keys is missing."],
  ["keys without a list", "keys:\n", "USAGE", "1:6: keys must be a list, not empty."],
  ["a list of names", "keys: [ci]\n", "USAGE", "1:8: An item of keys must be a mapping, not text."],
  ["a list as the file", "[]", "USAGE", "1:1: The manifest must be a mapping, not a list."],
  [
    "an unknown member",
    "keys: []\nmanagedby: x\n",
    "USAGE",
    '2:1: Unknown member "managedby". Did you mean managedBy?',
  ],
  ["an unknown member of a key", withLines("rolse: []"), "USAGE", '3:5: Unknown member "rolse". Did you mean roles?'],
  ["a duplicate member", withLines("roles: []", "roles: []"), "USAGE", "4:5: Invalid YAML: Map keys must be unique."],
  ["a number as a name", "keys:\n  - name: 17\n", "USAGE", "2:11: name must be text, not a number. Put it in quotes."],
  ["no name", "keys:\n  - roles: [GUEST]\n", "USAGE", "2:5: name is missing."],
  ["a name with a hyphen", "keys:\n  - name: a-b\n", "INVALID_NAME", '2:11: The name "a-b" contains "-".'],
  ["roles as text", withLines("roles: GUEST"), "USAGE", "3:12: roles must be a list, not text."],
  [
    "a mistyped role",
    withLines("roles: [GUEST, GEUST]", "secretFile: a"),
    "INVALID_ROLE",
    '3:20: "GEUST" is not a role.',
  ],
  [
    "a mistyped action",
    withLines("permissions:", "  - DOCKER:READ", "secretFile: a"),
    "INVALID_PERMISSION",
    '4:9: "READ" in',
  ],
  ["no rights", withLines("secretFile: a"), "NO_RIGHTS", "2:5: A key needs at least one role or permission."],
  [
    "no file",
    withLines("roles: [GUEST]"),
    "USAGE",
    '2:5: The key "ci" has no secretFile. Add it, or pass --secrets-dir.',
  ],
  [
    "not a duration",
    withLines("roles: [GUEST]", "secretFile: a", "expiresIn: 90 days"),
    "USAGE",
    '5:16: The duration "90 days" is not valid.',
  ],
  [
    "a number as a duration",
    withLines("roles: [GUEST]", "secretFile: a", "expiresIn: 90"),
    "USAGE",
    "5:16: expiresIn must be a duration, for example 90d, not a number.",
  ],
  ["an empty managedBy", 'managedBy: ""\nkeys: []\n', "USAGE", "1:12: managedBy must have 1 to 255 characters."],
  [
    "a long managedBy",
    `managedBy: ${"a".repeat(256)}\nkeys: []\n`,
    "USAGE",
    "1:12: managedBy must have 1 to 255 characters.",
  ],
  ["several documents", "keys: []\n---\nkeys: []\n", "USAGE", "2:1: Invalid YAML: The file has several documents."],
  [
    "rotateBefore without expiresIn",
    withLines("roles: [GUEST]", "secretFile: a", "rotateBefore: 1d"),
    "USAGE",
    "5:19: rotateBefore needs expiresIn",
  ],
  [
    "a duplicate name",
    "keys:\n  - {name: Café, roles: [GUEST], secretFile: a}\n  - {name: Cafe\u0301, roles: [GUEST], secretFile: b}\n",
    "USAGE",
    '3:12: The key at conf/keys.yaml:2:5 has the same name, "Café".',
  ],
  [
    "a duplicate file",
    "keys:\n  - {name: a, roles: [GUEST], secretFile: a}\n  - {name: b, roles: [GUEST], secretFile: a}\n",
    "USAGE",
    '3:43: The key at conf/keys.yaml:2:5 has the same secretFile, "conf/a".',
  ],
  [
    "a duplicate file that is written in another way",
    "keys:\n  - {name: a, roles: [GUEST], secretFile: a}\n  - {name: b, roles: [GUEST], secretFile: ./x/..//a}\n",
    "USAGE",
    "3:43: The key at conf/keys.yaml:2:5 has the same secretFile",
  ],
  ["a wildcard without quotes", withLines("permissions: [*:READ_ANY]"), "USAGE", "3:19: "],
  ["an alias", "keys: &a []\nmanagedBy: *a\n", "USAGE", "1:10: Anchors and aliases (& and *) are not supported here."],
  [
    "a million nested lists",
    `keys: ${"[".repeat(1_000_000)}`,
    "USAGE",
    "1:1: The lists and mappings are nested too deeply.",
  ],
  [
    "a million list items on one line",
    "- ".repeat(1_000_000),
    "USAGE",
    "1:1: The lists and mappings are nested too deeply.",
  ],
  [
    "nested mappings in block style",
    Array.from({ length: 1200 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""),
    "USAGE",
    "9",
  ],
  [
    "150,000 mistakes",
    `keys: [${"x,".repeat(150_000)}]`,
    "USAGE",
    "1:1: The manifest has too many mistakes: ",
  ],
];

for (const [mistake, text, code, message] of MISTAKES) {
  Deno.test(`a manifest with ${mistake} is an error with line and column`, () => {
    const failure = failureOf(() => keysOf(text));
    expect({ code: failure.code, message: failure.message }).toEqual({
      code,
      message: expect.stringContaining(`conf/keys.yaml:${message}`),
    });
  });
}

Deno.test("a role that only the server may know is reported with its position, so that the server can be asked", () => {
  const manifest = parse(withLines("roles: [OPERATOR]", "secretFile: a"));
  const failure = failureOf(() => manifest.parseKeys(KNOWN));
  expect(failure).toBeInstanceOf(UnknownName);
  expect(failure.message).toContain('conf/keys.yaml:3:13: "OPERATOR" is not a role');
  const known = { ...KNOWN, roles: ["OPERATOR", ...ROLES] } as const;
  expect(manifest.parseKeys(known).map(({ roles }) => roles)).toEqual([["OPERATOR"]]);
});

Deno.test("JSON and YAML of the same manifest mean the same", () => {
  const key = fc.record({
    name: fc.uuid().map((id) => id.replaceAll("-", "")),
    description: fc.string(),
    roles: fc.uniqueArray(fc.constantFrom(...ROLES), { minLength: 1 }),
    expiresIn: fc.constantFrom("90d", "1w"),
    secretFile: fc.uuid(),
  });
  fc.assert(fc.property(fc.uniqueArray(key, { selector: ({ name }) => name, maxLength: 5 }), (keys) => {
    const fromJson = keysOf(JSON.stringify({ $schema: "keys.schema.json", keys }, null, 2));
    expect(fromJson).toEqual(keysOf(stringify({ keys })));
    expect(fromJson.map(({ name }) => name)).toEqual(keys.map(({ name }) => name));
  }));
});

Deno.test("the JSON Schema accepts what the command accepts, and rejects an unknown member", () => {
  const ajv = new Ajv2020({ strict: false });
  const isValid = ajv.compile(manifestSchema());
  const key = { name: "Café 1", roles: ["VIEWER"], permissions: ["DOCKER:*"], expiresIn: "90d", secretFile: "a" };
  expect(isValid({ managedBy: "team", keys: [key] })).toBe(true);
  for (const wrong of [{ rolse: [] }, { name: "a-b" }, { expiresIn: "90 days" }, { roles: "VIEWER" }]) {
    expect({ wrong, isValid: isValid({ keys: [{ ...key, ...wrong }] }) }).toEqual({ wrong, isValid: false });
  }
});
