/** DESIGN, "The GraphQL contract", and what a request that does not keep to it is told. */
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
import { type Answer, ask, send, URL_OF_GRAPHQL, withServer } from "./graphql.ts";

/** The SDL of DESIGN with the lists of spec section 2 as its enums. */
const CONTRACT = buildSchema(
  contractSdl({ roles: SPEC_ROLES, resources: SPEC_RESOURCES, actions: SPEC_ACTIONS }),
);

/** What the server has of its own, which clients leave alone: fields of types of the contract, and types. */
const OWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ApiKey: ["createdBy", "lastUsedAt"],
  ApiKeyMutations: ["refusesTakenNames"],
  Query: ["me", "apiKeysByName", "apiKeysExist", "auditEvents"],
};
const OWN_TYPES: readonly string[] = ["Me", "AuditEvent", "AuditKey", "AuditAction"];

/** A schema but for what the server has of its own: in alphabetical order, without descriptions. */
function shared(whole: GraphQLSchema): string {
  const isOwnType = ({ name }: { readonly name: NameNode }): boolean => OWN_TYPES.includes(name.value);
  const document = visit(parse(printSchema(lexicographicSortSchema(whole))), {
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

function post(body: string, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request(URL_OF_GRAPHQL, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}

function expectUsage({ codes, data }: Answer): void {
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(["USAGE"]));
  expect(data).toBeUndefined();
}

Deno.test("The server offers every type, field, argument and value of the contract, as nullable as it says", () => {
  expect(shared(schema)).toBe(shared(CONTRACT));
});

Deno.test("What the server has besides the contract is there", () => {
  const own = Object.entries(OWN_FIELDS).map(([name, fields]) => {
    const type = schema.getType(name);
    const offered = isObjectType(type) ? Object.keys(type.getFields()) : [];
    return [name, fields.filter((field) => offered.includes(field))];
  });
  expect(Object.fromEntries(own)).toEqual(OWN_FIELDS);
  expect(OWN_TYPES.filter((name) => schema.getType(name) === undefined)).toEqual([]);
});

Deno.test("The schema is a valid one, which the server takes for granted", () => {
  expect(validateSchema(buildSchema(printSchema(schema)))).toEqual([]);
});

Deno.test("A client can find out beforehand that create refuses names in use", () =>
  withServer(async ({ local }) => {
    const { data } = await ask(local, "mutation { apiKey { refusesTakenNames } }");
    expect(data).toEqual({ apiKey: { refusesTakenNames: true } });
  }));

Deno.test("A body that is no JSON is refused as USAGE", () =>
  withServer(async ({ local }) => {
    const bodies = ["", "{", "query", '{"query":'];
    for (const answer of await Promise.all(bodies.map((body) => send(local, post(body))))) {
      expect(answer.status).toBe(400);
      expectUsage(answer);
    }
  }));

Deno.test("A body without a query in it is refused as USAGE", () =>
  withServer(async ({ local }) => {
    const bodies = ["{}", "[]", "null", "7", '{"query":null}', '{"query":7}', '{"provider":"p","clientId":"c"}'];
    for (const answer of await Promise.all(bodies.map((body) => send(local, post(body))))) {
      expect(answer.status).toBe(400);
      expectUsage(answer);
    }
  }));

Deno.test("Variables that are no object are refused as USAGE", () =>
  withServer(async ({ local }) => {
    expectUsage(await send(local, post(JSON.stringify({ query: "{ __typename }", variables: "x" }))));
  }));

Deno.test("A syntax error is refused as USAGE, with the place of the error", () =>
  withServer(async ({ local }) => {
    const answers = await Promise.all(["{", "", "querry { a }", "{ apiKeys { id }"].map((query) => ask(local, query)));
    for (const answer of answers) expectUsage(answer);
    expect(answers[0]?.text).toContain('"locations"');
  }));

Deno.test("An unknown field, argument or type is refused as USAGE, by name", () =>
  withServer(async ({ local }) => {
    const queries = [
      "{ nonsense }",
      "{ apiKeys { nonsense } }",
      "{ apiKeys(nonsense: 1) { id } }",
      "query ($a: nonsense) { apiKeys { id } }",
      "mutation { apiKey { nonsense } }",
      'mutation { apiKey { create(input: { name: "a", nonsense: 1 }) { id } } }',
    ];
    for (const answer of await Promise.all(queries.map((query) => ask(local, query)))) {
      expectUsage(answer);
      expect(answer.messages.join()).toContain("nonsense");
    }
  }));

Deno.test("A missing or ill-typed argument is refused as USAGE", () =>
  withServer(async ({ local }) => {
    const queries = [
      "{ apiKey { id } }",
      "{ apiKey(id: 5) { id } }",
      "{ apiKey(id: null) { id } }",
      "mutation { apiKey { create(input: { roles: [ADMIN] }) { id } } }",
      'mutation { apiKey { create(input: { name: "a", roles: ["ADMIN"] }) { id } } }',
    ];
    for (const answer of await Promise.all(queries.map((query) => ask(local, query)))) expectUsage(answer);
    expectUsage(await ask(local, "query ($id: PrefixedID!) { apiKey(id: $id) { id } }"));
    expectUsage(await ask(local, "query ($id: PrefixedID!) { apiKey(id: $id) { id } }", { id: 5 }));
  }));

Deno.test("A refused document is refused again when it is sent again, and a good one is answered again", () =>
  withServer(async ({ local }) => {
    expectUsage(await ask(local, "{ nonsense }"));
    expectUsage(await ask(local, "{ nonsense }"));
    expect((await ask(local, "{ apiKeysExist }")).data).toEqual({ apiKeysExist: false });
    expect((await ask(local, "{ apiKeysExist }")).data).toEqual({ apiKeysExist: false });
  }));

Deno.test("A thousand different documents are all answered", () =>
  withServer(async ({ local }) => {
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => ask(local, `{ a${i}: apiKeysExist }`)),
    );
    expect(answers.map(({ data }) => data)).toEqual(answers.map((_, i) => ({ [`a${i}`]: false })));
    expect((await ask(local, "{ a0: apiKeysExist }")).data).toEqual({ a0: false });
  }));

Deno.test("A query may come over GET", () =>
  withServer(async ({ local }) => {
    const { status, data } = await send(local, new Request(`${URL_OF_GRAPHQL}?query={apiKeysExist}`));
    expect([status, data]).toEqual([200, { apiKeysExist: false }]);
  }));

Deno.test("No mutation is done over GET", () =>
  withServer(async ({ local, store }) => {
    const query = 'mutation { apiKey { create(input: { name: "a", roles: [ADMIN] }) { id } } }';
    const answer = await send(local, new Request(`${URL_OF_GRAPHQL}?query=${encodeURIComponent(query)}`));
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    expect(answer.messages).toEqual(["A mutation takes a POST."]);
    expectUsage(answer);
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("No mutation is done for a form of a web page, which a browser sends anywhere", () =>
  withServer(async ({ local, store }) => {
    const query = 'mutation { apiKey { create(input: { name: "a", roles: [ADMIN] }) { id } } }';
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
    const answers = await Promise.all(
      types.map((type) => send(local, post(JSON.stringify({ query }), { "content-type": type }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 415]);
    expect(await store.isEmpty()).toBe(true);
  }));
