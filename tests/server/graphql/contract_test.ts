/** The public GraphQL contract, and how the server rejects requests that violate it. */
import { expect } from "expect";
import {
  buildSchema,
  type GraphQLSchema,
  isObjectType,
  lexicographicSortSchema,
  type NameNode,
  parse,
  print,
  printSchema,
  validateSchema,
  visit,
} from "graphql";
import { schema } from "../../../src/server/graphql/schema.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES, SPEC_ROLES } from "../../apikey/rights_by_design.ts";
import { contractSdl } from "../../contract.ts";
import { post, type Result, withServer } from "./graphql.ts";

/** The schema of the contract. Its enums are the lists in spec section 2. */
const CONTRACT = buildSchema(
  contractSdl({ roles: SPEC_ROLES, resources: SPEC_RESOURCES, actions: SPEC_ACTIONS }),
);

/** The fields and types that this server adds to the contract. */
const OWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ApiKey: ["createdBy", "lastUsedAt"],
  ApiKeyMutations: ["refusesTakenNames"],
  Query: [
    "me",
    "apiKeysByName",
    "apiKeysExist",
    "auditEvents",
    "previewEffectivePermissions",
    "getPermissionsForRoles",
  ],
};
const OWN_TYPES: readonly string[] = ["Me", "AuditEvent", "AuditKey", "AuditAction"];

/** Returns the SDL of a schema in alphabetical order, without descriptions and without what this server adds. */
function contractOf(schema: GraphQLSchema): string {
  const isOwnType = ({ name }: { readonly name: NameNode }): boolean => OWN_TYPES.includes(name.value);
  const document = visit(parse(printSchema(lexicographicSortSchema(schema))), {
    StringValue: { enter: (_node, key) => key === "description" ? null : undefined },
    EnumTypeDefinition: { leave: (node) => isOwnType(node) ? null : undefined },
    ObjectTypeDefinition: {
      leave: (node) => {
        if (isOwnType(node)) return null;
        const own = OWN_FIELDS[node.name.value] ?? [];
        return { ...node, fields: (node.fields ?? []).filter((field) => !own.includes(field.name.value)) };
      },
    },
  });
  return print(document);
}

function expectUsage({ codes, data }: Result): void {
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(["USAGE"]));
  expect(data).toBeUndefined();
}

Deno.test("The schema has every type, field, argument, enum value and nullability of the contract", () => {
  expect(contractOf(schema)).toBe(contractOf(CONTRACT));
});

Deno.test("The schema has every field and type that the server adds to the contract", () => {
  const own = Object.entries(OWN_FIELDS).map(([name, fields]) => {
    const type = schema.getType(name);
    const offered = isObjectType(type) ? Object.keys(type.getFields()) : [];
    return [name, fields.filter((field) => offered.includes(field))];
  });
  expect(Object.fromEntries(own)).toEqual(OWN_FIELDS);
  expect(OWN_TYPES.filter((name) => schema.getType(name) === undefined)).toEqual([]);
});

Deno.test("The schema is valid (the server does not check this when it starts)", () => {
  expect(validateSchema(buildSchema(printSchema(schema)))).toEqual([]);
});

Deno.test("refusesTakenNames is true, so clients know in advance that create without overwrite rejects a name in use", () =>
  withServer(async ({ local }) => {
    const { data } = await post(local, "mutation { apiKey { refusesTakenNames } }");
    expect(data).toEqual({ apiKey: { refusesTakenNames: true } });
  }));

Deno.test("An invalid document is rejected with USAGE, and its errors say what is wrong and where", () =>
  withServer(async ({ local }) => {
    const cases = [
      ["{ apiKeys", "Syntax Error"],
      ["{ apiKeys { nonsense } }", "nonsense"],
      ['mutation { apiKey { create(input: { name: "a", nonsense: 1 }) { id } } }', "nonsense"],
      ["{ apiKey { id } }", "PrefixedID!"],
      ["{ apiKey(id: 5) { id } }", "A PrefixedID must be a string."],
    ] as const;
    await Promise.all(cases.map(async ([query, message]) => {
      const result = await post(local, query);
      expectUsage(result);
      expect(result.messages.join()).toContain(message);
      expect(result.text).toContain('"locations"');
    }));
    expectUsage(await post(local, "query ($id: PrefixedID!) { apiKey(id: $id) { id } }", { id: 5 }));
  }));

Deno.test("A repeated document gets the same result, whether it is valid or invalid", () =>
  withServer(async ({ local }) => {
    expectUsage(await post(local, "{ nonsense }"));
    expectUsage(await post(local, "{ nonsense }"));
    expect((await post(local, "{ apiKeysExist }")).data).toEqual({ apiKeysExist: false });
    expect((await post(local, "{ apiKeysExist }")).data).toEqual({ apiKeysExist: false });
  }));

Deno.test("The server answers every document, even if there are more documents than its cache holds", () =>
  withServer(async ({ local }) => {
    const results = await Promise.all(Array.from({ length: 510 }, (_, i) => post(local, `{ a${i}: apiKeysExist }`)));
    expect(results.map(({ data }) => data)).toEqual(results.map((_, i) => ({ [`a${i}`]: false })));
    expect((await post(local, "{ a0: apiKeysExist }")).data).toEqual({ a0: false });
  }));
