/** `needs`: which permissions a document needs, according to a schema in a file. */
import { expect } from "expect";
import type { Outcome } from "../../../execute.ts";
import { inProcess } from "../../../program/program.ts";
import { SHOP_SDL } from "./shop.ts";

/** An address without a server. A command that sends a request fails. */
const env = { SERVICE_API_URL: "http://127.0.0.1:1" };

async function needs(document: string, flags: readonly string[] = [], schema = SHOP_SDL, stdin = ""): Promise<Outcome> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    const path = `${directory}/schema`;
    await Deno.writeTextFile(path, schema);
    return await inProcess(["needs", document, "--schema", path, ...flags], { env, stdin });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const CREATE = "mutation New($input: CreateApiKeyInput!) { apiKey { create(input: $input) { id } } }";
const UNKNOWN_INPUT = /No value is known for \$input\. .* API_KEY:DELETE_ANY, .* --variables\.\n$/;

for (
  const [rule, document, permissions, unstated, notes = /^$/, variables] of [
    ["a field needs what the schema states for it", "{ apiKeys { id name } }", ["API_KEY:READ_ANY"], 0],
    ["the permissions are sorted, and each is listed once", "{ orders { id } apiKeys { id } again: orders { id } }", [
      "API_KEY:READ_ANY",
      "ORDERS:READ_ANY",
    ], 0],
    ["a nested field and an inline fragment count", "{ orders { lines } search { ... on Container { logs } } }", [
      "LOGS:READ_ANY",
      "ORDERS:READ_ANY",
    ], 0],
    ["named fragments count, even if they are spread a million times", manySpreads(20), ["API_KEY:READ_ANY"], 0],
    ["a field of an interface needs what any type that implements it needs", "{ node { owner { id } } }", [
      "DOCKER:READ_ANY",
    ], 0],
    [
      "an inline fragment narrows an interface to one type",
      "{ node { ... on Order { owner { id } } } }",
      [],
      1,
      /1 field/,
    ],
    ["all operations of a document count", "query A { apiKeys { id } } subscription B { changes { id } }", [
      "API_KEY:READ_ANY",
      "LOGS:READ_ANY",
    ], 0],
    [
      "fields without a stated permission are counted without the fields below them",
      "mutation { apiKey { ping rotate(input: {}) { id } } }",
      ["API_KEY:UPDATE_ANY"],
      1,
      /^service-api: For 1 field, the schema states no permission\..*\n.* all rights of the rotated key\./,
    ],
    [
      "the number of such fields is in the plural",
      "{ me { id name } version }",
      [],
      2,
      /For 2 fields, .* They may need/,
    ],
    ["introspection needs no permission", "{ __typename __schema { types { name } } }", [], 0],
    [
      "a literal @skip or @include omits fields",
      "{ version orders @skip(if: true) { id } ... @include(if: false) { apiKeys { id } } node @skip(if: false) { id } }",
      [],
      2,
      /2 fields/,
    ],
    ["a default value omits no field", "query($all: Boolean = false) { orders @include(if: $all) { id } }", [
      "ORDERS:READ_ANY",
    ], 0],
    [
      "a value in --variables can omit a field",
      "query($all: Boolean!) { version orders @include(if: $all) { id } }",
      [],
      1,
      /1 field/,
      '{"all":false}',
    ],
    [
      "overwrite: true also needs API_KEY:DELETE_ANY, and granted roles are noted",
      'mutation { apiKey { create(input: { name: "a", overwrite: true, roles: GUEST }) { id } } }',
      ["API_KEY:CREATE_ANY", "API_KEY:DELETE_ANY"],
      0,
      /^service-api: The document grants rights to keys: GUEST\. .* may need these rights too\.\n$/,
    ],
    [
      "overwrite: true in --variables counts, and granted permissions are noted",
      CREATE,
      ["API_KEY:CREATE_ANY", "API_KEY:DELETE_ANY"],
      0,
      /^service-api: .* grants rights to keys: ADMIN, DOCKER:READ_ANY\. [^\n]*\n$/,
      '{"input":{"overwrite":true,"roles":["ADMIN"],"permissions":[{"resource":"DOCKER","actions":"READ_ANY"}]}}',
    ],
    [
      "overwrite: false needs no permission to delete",
      CREATE,
      ["API_KEY:CREATE_ANY"],
      0,
      /^$/,
      '{"input":{"overwrite":false}}',
    ],
    ["an input without a value is noted", CREATE, ["API_KEY:CREATE_ANY"], 0, UNKNOWN_INPUT],
    [
      "a default value of overwrite counts",
      'mutation($o: Boolean = true) { apiKey { create(input: { name: "a", overwrite: $o }) { id } } }',
      ["API_KEY:CREATE_ANY", "API_KEY:DELETE_ANY"],
      0,
    ],
    [
      "changing managedBy also needs API_KEY:DELETE_ANY, and enabling a key is noted",
      'mutation { apiKey { update(input: { id: "1", managedBy: null, enabled: true }) { id } } }',
      ["API_KEY:DELETE_ANY", "API_KEY:UPDATE_ANY"],
      0,
      /grants rights to keys: all rights of the updated key\./,
    ],
    [
      "a role that is added is noted, also in --variables",
      'mutation($r: Role!) { apiKey { addRole(input: { apiKeyId: "1", role: $r }) } }',
      ["API_KEY:UPDATE_ANY"],
      0,
      /grants rights to keys: ADMIN\./,
      '{"r":"ADMIN"}',
    ],
  ] satisfies readonly (readonly [string, string, readonly string[], number, RegExp?, string?])[]
) {
  Deno.test(`needs: ${rule}`, async () => {
    const flags = variables === undefined ? [] : ["--variables", variables];
    const json = await needs(document, [...flags, "--json"]);
    expect({ code: json.code, ...JSON.parse(json.stdout) }).toEqual({ code: 0, permissions, unstated });
    expect(json.stderr).toMatch(notes);
    const plain = await needs(document, flags);
    expect(plain).toEqual({ ...json, stdout: permissions.map((permission) => `${permission}\n`).join("") });
  });
}

/** A document with two spreads of each of so many fragments. */
function manySpreads(levels: number): string {
  const fragments = Array.from(
    { length: levels },
    (_, level) => `fragment F${level} on Query { ...F${level + 1} ...F${level + 1} }`,
  );
  return `{ ...F0 } ${fragments.join(" ")} fragment F${levels} on Query { apiKeys { id } }`;
}

Deno.test("needs reads the document and the variables from files and from standard input", async () => {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await Deno.writeTextFile(`${directory}/document`, CREATE);
    await Deno.writeTextFile(`${directory}/variables`, '{"input":{"overwrite":true}}');
    const stdout = "API_KEY:CREATE_ANY\nAPI_KEY:DELETE_ANY\n";
    const fromFiles = await needs(`@${directory}/document`, ["--variables", `@${directory}/variables`]);
    expect(fromFiles).toEqual({ code: 0, stdout, stderr: "" });
    const fromInput = await needs("-", ["--variables", `@${directory}/variables`], SHOP_SDL, CREATE);
    expect(fromInput).toEqual(fromFiles);
    const { stderr } = await needs(`${directory}/document`);
    expect(stderr).toContain(` Did you mean @${directory}/document?\n`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (
  const [rule, document, message] of [
    [
      "an unknown field",
      "{\n  apiKyes { id } }",
      /DOCUMENT \(line 2, column 3\) is not valid: The type Query has no field "apiKyes"\. Did you mean apiKeys\?/,
    ],
    [
      "an unknown field that is like no other",
      "{ me { zzzzzz } }",
      /The type ApiKey has no field "zzzzzz"\. Some of its fields: id, name\./,
    ],
    ["a field of a union", "{ search { id } }", /The type Hit has no field "id"\. .* with \.\.\. on TYPE \{ id \}\./],
    ["an unknown argument", "{ node(idd: 1) { id } }", /Unknown argument "idd"/],
    ["an unknown fragment", "{ ...Missing }", /Unknown fragment "Missing"/],
    [
      "a fragment that spreads itself",
      "{ ...F } fragment F on Query { ...F }",
      /Cannot spread fragment "F" within itself/,
    ],
    ["a syntax error", "{ apiKeys { id }", /line 1, column 17.*Expected Name, found <EOF>/],
    ["an empty document", " ", /DOCUMENT is empty/],
    ["too many levels of brackets", "{me".repeat(50_000), /DOCUMENT has too many levels of brackets/],
  ] as const
) {
  Deno.test(`needs rejects a document with ${rule}, in plain text and in JSON`, async () => {
    const plain = await needs(document);
    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 2, stdout: "" });
    expect(plain.stderr).toMatch(message);
    const json = await needs(document, ["--json"]);
    expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 2, stderr: "" });
    expect(JSON.parse(json.stdout)).toEqual({ code: "USAGE", error: expect.stringMatching(message) });
  });
}

for (
  const [rule, flags, message] of [
    ["without a document", [], /document/],
    [
      "with variables that are not an object",
      ["{ version }", "--variables", "[]"],
      /--variables must be a JSON object/,
    ],
    [
      "with a schema file that does not exist",
      ["{ version }", "--schema", "/missing"],
      /--schema: cannot read "\/missing"/,
    ],
  ] as const
) {
  Deno.test(`needs ${rule} is a usage error`, async () => {
    const { code, stdout, stderr } = await inProcess(["needs", ...flags], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
}
