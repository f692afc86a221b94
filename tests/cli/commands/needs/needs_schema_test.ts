/** `needs`: the forms in which a schema states permissions, and schemas that state none or are not valid. */
import { expect } from "expect";
import fc from "fast-check";
import { buildSchema } from "graphql";
import type { Outcome } from "../../../execute.ts";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";
import { inProcess } from "../../../program/program.ts";
import { SHOP_INTROSPECTION, SHOP_SDL, startShop } from "./shop.ts";

const DOCUMENT = "{ orders { id } apiKeys { id } search { ... on Container { logs } } node(old: 1) { id } }";
const FOUND = { permissions: ["API_KEY:READ_ANY", "LOGS:READ_ANY", "ORDERS:READ_ANY"], unstated: 1 };

async function needsOf(schema: string, document = DOCUMENT): Promise<Outcome> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    await Deno.writeTextFile(`${directory}/schema`, schema);
    return await inProcess(["needs", document, "--schema", `${directory}/schema`, "--json"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function needsOn({ url }: TestServer, document = DOCUMENT, ...flags: readonly string[]): Promise<Outcome> {
  return inProcess(["needs", document, "--json", ...flags], { env: { SERVICE_API_URL: url } });
}

const { data } = JSON.parse(SHOP_INTROSPECTION);

for (
  const [form, schema] of [
    ["SDL with @usePermissions", SHOP_SDL],
    ["SDL with enum values in @usePermissions", SHOP_SDL.replaceAll(/: "(\w+)"/g, ": $1")],
    [
      "SDL that defines @usePermissions",
      `directive @usePermissions(action: String, resource: String) on FIELD_DEFINITION\n${SHOP_SDL}`,
    ],
    ["SDL with an extension", SHOP_SDL.replace("type Query {", "type Query { no: Int }\nextend type Query {")],
    ["the response to an introspection query", SHOP_INTROSPECTION],
    ["the data of an introspection query", JSON.stringify(data, null, 2)],
  ] as const
) {
  Deno.test(`--schema accepts ${form}`, async () => {
    const { code, stdout } = await needsOf(schema);
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, ...FOUND });
  });
}

Deno.test("without --schema, needs reads the descriptions in the schema of the server, with one request", async () => {
  await using server = startShop();
  const { code, stdout } = await needsOn(server);
  expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, ...FOUND });
  expect(server.requests).toHaveLength(1);
});

Deno.test("needs works with servers whose introspection does not know deprecated arguments", async () => {
  await using server = startServer(({ body }) =>
    body.includes("args(includeDeprecated")
      ? Response.json({ errors: [{ message: 'Unknown argument "includeDeprecated" on field "args".' }] }, {
        status: 400,
      })
      : new Response(SHOP_INTROSPECTION, { headers: { "content-type": "application/json" } })
  );
  expect(JSON.parse((await needsOn(server)).stdout)).toEqual(FOUND);
  expect(server.requests).toHaveLength(2);
});

const SILENT = "type Query { version: String! }";

for (
  const [where, outcome] of [
    ["in a file", () => needsOf(SILENT, "{ version }")],
    ["of a server", async () => {
      await using server = startShop(buildSchema(SILENT));
      return await needsOn(server, "{ version }");
    }],
  ] as const
) {
  Deno.test(`if a schema ${where} states no permissions at all, needs fails with UNSUPPORTED`, async () => {
    const { code, stdout } = await outcome();
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      code: "UNSUPPORTED",
      error: expect.stringMatching(
        /states no permissions: .*@usePermissions.*--permissions works with every server\.$/,
      ),
    });
  });
}

Deno.test("if a server does not describe its schema, needs fails with UNSUPPORTED and names --schema", async () => {
  await using server = startServer(() =>
    Response.json({ errors: [{ message: "GraphQL introspection is not allowed" }] }, { status: 400 })
  );
  const { code, stdout } = await needsOn(server);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    code: "UNSUPPORTED",
    error: expect.stringMatching(/introspection is not allowed\. .* --schema FILE\.$/),
  });
});

for (
  const [rule, action, resource] of [
    ["an unknown action", "FLY", "DOCKER"],
    ["no resource", "READ_ANY", ""],
    ["control characters", "READ_ANY", "\u001b[2J"],
  ] as const
) {
  Deno.test(`a field with ${rule} in its stated permission counts as a field without one`, async () => {
    const sdl = `type Query { a: Int @usePermissions(action: ${JSON.stringify(action)}, resource: ${
      JSON.stringify(resource)
    }) b: Int @usePermissions(action: "READ_ANY", resource: "LOGS") }`;
    const { stdout } = await needsOf(sdl, "{ a b }");
    expect(JSON.parse(stdout)).toEqual({ permissions: ["LOGS:READ_ANY"], unstated: 1 });
  });
}

for (
  const [rule, schema, message] of [
    ["SDL with a syntax error", "type Query {", /--schema \(line 1, column 13\) is not valid SDL: Syntax Error/],
    ["SDL with an unknown type", "type Query { a: Missing }", /--schema is not valid SDL: Unknown type: "Missing"/],
    ["JSON that is no introspection", '{"data":{}}', /--schema has no member __schema\./],
    ["JSON with a syntax error", "{", /--schema is not valid JSON/],
    ["introspection without types", '{"__schema":{}}', /--schema is not a valid result of introspection: /],
  ] as const
) {
  Deno.test(`--schema rejects ${rule}`, async () => {
    const { code, stdout } = await needsOf(schema);
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: "USAGE", error: expect.stringMatching(message) });
    expect(code).toBe(2);
  });
}

Deno.test("an operation for which the schema has no type is rejected", async () => {
  const { stdout } = await needsOf(
    'type Query { a: Int @usePermissions(action: "READ_ANY", resource: "LOGS") }',
    "mutation { a }",
  );
  expect(JSON.parse(stdout)).toMatchObject({
    code: "USAGE",
    error: expect.stringMatching(/The schema has no mutation type/),
  });
});

Deno.test("text from the schema of a server cannot control the terminal", async () => {
  const hostile = structuredClone(data);
  hostile.__schema.types[0].name = "\u001b[2J\u202e";
  await using server = startServer(() => Response.json({ data: hostile }));
  const { code, stderr } = await inProcess(["needs", DOCUMENT], { env: { SERVICE_API_URL: server.url } });
  expect(code).toBe(4);
  expect(stderr).toMatch(/is not valid: [\x20-\x7e]*\\u\{1b\}\[2J\\u\{202e\}[\x20-\x7e]*\n$/);
});

Deno.test("a description of a schema with more than 16 million characters is rejected, even if the response may be that large", async () => {
  await using server = startServer(() => new Response(SHOP_INTROSPECTION.padEnd(16_000_001)));
  const { code, stdout } = await needsOn(server);
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({
    code: "BAD_RESPONSE",
    error: expect.stringMatching(/16 million .* --schema/),
  });
});

Deno.test("a response that is too large is rejected", async () => {
  await using server = startServer(() => new Response(SHOP_INTROSPECTION));
  const { code, stdout } = await needsOn(server, DOCUMENT, "--max-response-size", "2kB");
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ code: "BAD_RESPONSE", error: expect.stringMatching(/is larger than/) });
});

const members = new Set<string>();
JSON.parse(SHOP_INTROSPECTION, (member, value) => {
  if (!/^\d*$/.test(member)) members.add(member);
  return value;
});

const anyDamage = fc.record({
  /** The name of the members to replace. */
  name: fc.constantFrom(...members),
  /** `undefined` removes the member. */
  replacement: fc.oneof(fc.jsonValue(), fc.constant(undefined)),
  /** The index of the only such member to replace. `undefined` replaces all of them. */
  index: fc.option(fc.nat({ max: 50 }), { nil: undefined }),
});

Deno.test("a damaged description of a schema never ends needs with an unexpected error", async () => {
  const codes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyDamage, async ({ name, replacement, index }) => {
      let count = 0;
      const damaged = JSON.parse(
        SHOP_INTROSPECTION,
        (member, value) => member === name && (index === undefined || count++ === index) ? replacement : value,
      );
      const { stdout } = await needsOf(JSON.stringify(damaged));
      expect(stdout).not.toContain("Unexpected error");
      codes.add(JSON.parse(stdout).code ?? "found");
    }),
    { numRuns: 200 },
  );
  expect([...codes]).toEqual(expect.arrayContaining(["found", "USAGE"]));
});

Deno.test("if the schema of a server lacks a field, the message names the server and --schema", async () => {
  const embedded = await inProcess(["needs", "{ orders { id } }"], { env: { SERVICE_API_DATA_DIR: "/missing" } });
  expect(embedded.stderr).toMatch(
    / This is the schema of the embedded server\. To use another schema, add --schema FILE\.\n$/,
  );
  await using server = startShop();
  const { stdout } = await needsOn(server, "{ zzz }");
  expect(JSON.parse(stdout).error).toContain(` This is the schema of the server ${server.url}.`);
});
