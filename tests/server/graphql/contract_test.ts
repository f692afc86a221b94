/** The public GraphQL contract, and how the server rejects requests that violate it. */
import { expect } from "expect";
import {
  buildSchema,
  type GraphQLSchema,
  lexicographicSortSchema,
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

/** The contract that servers with these keys publish, and what this server adds to it. */
const CONTRACT = buildSchema(`
${contractSdl({ roles: SPEC_ROLES, resources: SPEC_RESOURCES, actions: SPEC_ACTIONS })}
input UpdateApiKeyInput { id: PrefixedID!  name: String  description: String  roles: [Role!]
                          permissions: [AddPermissionInput!] }
input AddRoleForApiKeyInput { apiKeyId: PrefixedID!  role: Role! }
input RemoveRoleFromApiKeyInput { apiKeyId: PrefixedID!  role: Role! }
extend type ApiKeyMutations {
  update(input: UpdateApiKeyInput!): ApiKey!
  addRole(input: AddRoleForApiKeyInput!): Boolean!
  removeRole(input: RemoveRoleFromApiKeyInput!): Boolean!
}
extend type Query {
  apiKeyPossibleRoles: [Role!]!
  apiKeyPossiblePermissions: [Permission!]!
  getPermissionsForRoles(roles: [Role!]!): [Permission!]!
  previewEffectivePermissions(roles: [Role!], permissions: [AddPermissionInput!]): [Permission!]!
  getAvailableAuthActions: [AuthAction!]!
}

directive @usePermissions(action: String, resource: String) on FIELD_DEFINITION
extend type ApiKey {
  enabled: Boolean!  expiresAt: String  lastUsedAt: String  updatedAt: String  graceUntil: String
  createdBy: PrefixedID  managedBy: String  revision: Int!
}
extend input CreateApiKeyInput { expiresAt: String  managedBy: String }
extend input UpdateApiKeyInput { expiresAt: String  enabled: Boolean  managedBy: String  ifRevision: Int }
input RotateApiKeyInput { id: PrefixedID  name: String  graceSeconds: Int  expiresAt: String }
input ApiKeyFilter { match: String  role: Role  can: String  expired: Boolean  expiresBefore: String
                     unusedSince: String  disabled: Boolean  managedBy: String }
enum ApiKeySort { CREATED NAME USED EXPIRES }
type ApiKeyConnection { edges: [ApiKeyEdge!]!  pageInfo: PageInfo! }
type ApiKeyEdge { cursor: String!  node: ApiKey! }
type PageInfo { hasNextPage: Boolean!  hasPreviousPage: Boolean!  startCursor: String  endCursor: String }
type Me { id: PrefixedID!  name: String!  description: String  roles: [Role!]!  permissions: [Permission!]!
          expiresAt: String  rights: [Permission!]! }
enum AuditAction { CREATE UPDATE ROTATE REPLACE DELETE ADD_RESOURCE REMOVE_RESOURCE VERIFY INTROSPECT }
type AuditKey { id: PrefixedID  name: String }
type AuditChange { field: String!  before: String  after: String }
type AuditEvent { id: String!  at: String!  actor: AuditKey  localUser: String  address: String  requestId: String  action: AuditAction!
                  key: AuditKey!  outcome: String!  changes: [AuditChange!]!  occurrences: Int! }
extend type ApiKeyMutations { rotate(input: RotateApiKeyInput!): ApiKey!  refusesTakenNames: Boolean! }
extend type Query {
  me: Me!
  apiKeyConnection(first: Int = 100, after: String, filter: ApiKeyFilter, sort: ApiKeySort = CREATED): ApiKeyConnection!
  apiKeysByName(name: String!): [ApiKey!]!
  apiKeysBySecretHash(hashes: [String!]!): [ApiKey]!
  apiKeysExist: Boolean!
  auditEvents(after: String, first: Int! = 100, since: String, key: String): [AuditEvent!]!
  resources: [CustomResource!]!
}
type CustomResource { name: String!  description: String }
input AddResourceInput { name: String!  description: String }
type ResourceMutations { add(input: AddResourceInput!): CustomResource!  remove(name: String!): Boolean! }
extend type Mutation { resource: ResourceMutations! }
`);

/** Returns the SDL of a schema in alphabetical order, without descriptions. */
function contractOf(schema: GraphQLSchema): string {
  const document = visit(parse(printSchema(lexicographicSortSchema(schema))), {
    StringValue: { enter: (_node, key) => key === "description" ? null : undefined },
  });
  return print(document);
}

function expectUsage({ codes, data }: Result): void {
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(["USAGE"]));
  expect(data).toBeUndefined();
}

Deno.test("The schema has exactly the types, fields, arguments, enum values and nullability of the contract", () => {
  expect(contractOf(schema)).toBe(contractOf(CONTRACT));
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
