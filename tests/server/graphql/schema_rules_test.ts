/** Every field of the schema states in `rules.ts` what it needs, and holds callers to it. */
import { expect } from "expect";
import { GraphQLObjectType, GraphQLSchema, GraphQLString, isInterfaceType, isObjectType } from "graphql";
import { DATA_TYPES, type Rule, RULES, wordsOf } from "../../../src/server/auth/authorization.ts";
import { schema } from "../../../src/server/graphql/schema.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES } from "../../apikey/rights_by_design.ts";
import { ask, type ShownKey, withServer } from "./graphql.ts";

type Rules = Readonly<Record<string, Readonly<Record<string, Rule>>>>;

/** What is wrong with the rules of a schema. */
function faults(walked: GraphQLSchema, rules: Rules): readonly string[] {
  const stated = new Set<string>();
  const found = Object.values(walked.getTypeMap()).flatMap((type): readonly string[] => {
    if (type.name.startsWith("__") || DATA_TYPES.includes(type.name)) return [];
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    return Object.values(type.getFields()).flatMap(({ name, extensions, description }): readonly string[] => {
      const field = `${type.name}.${name}`;
      const rule = rules[type.name]?.[name];
      stated.add(field);
      if (rule === undefined) return [`${field} has no rule`];
      if (extensions["rule"] !== rule) return [`${field} does not keep to its rule`];
      return description?.includes(`Needs ${wordsOf(rule)}.`) ? [] : [`${field} does not tell its rule`];
    });
  });
  const fields = Object.entries(rules).flatMap(([type, own]) => Object.keys(own).map((field) => `${type}.${field}`));
  return [
    ...found,
    ...fields.filter((field) => !stated.has(field)).map((field) => `${field} has a rule and is not there`),
  ];
}

Deno.test("every field but those of data has a rule, keeps to it and tells it, and there is no rule besides", () => {
  expect(faults(schema, RULES)).toEqual([]);
});

Deno.test("a field without a rule, with another rule, or a rule without a field does not go unnoticed", () => {
  const rule: Rule = { any: "API_KEY:READ_ANY" };
  const description = "Needs API_KEY:READ_ANY.";
  const other = new GraphQLObjectType({ name: "Other", fields: { hidden: { type: GraphQLString } } });
  const query = new GraphQLObjectType({
    name: "Query",
    fields: {
      ruled: { type: GraphQLString, extensions: { rule }, description },
      forgotten: { type: other },
      astray: { type: GraphQLString, extensions: { rule: { any: "API_KEY:READ_ANY" } }, description },
      quiet: { type: GraphQLString, extensions: { rule } },
    },
  });
  const rules = { Query: { ruled: rule, astray: rule, quiet: rule, gone: rule } };
  expect(faults(new GraphQLSchema({ query }), rules)).toEqual([
    "Query.forgotten has no rule",
    "Query.astray does not keep to its rule",
    "Query.quiet does not tell its rule",
    "Other.hidden has no rule",
    "Query.gone has a rule and is not there",
  ]);
});

Deno.test("a field that is added to the schema without a rule does not go unnoticed", () => {
  const { fields, ...config } = schema.getQueryType()?.toConfig() ?? { name: "Query", fields: {} };
  const query = new GraphQLObjectType({ ...config, fields: { ...fields, secrets: { type: GraphQLString } } });
  expect(faults(new GraphQLSchema({ query, mutation: schema.getMutationType() }), RULES)).toEqual([
    "Query.secrets has no rule",
  ]);
});

Deno.test("the types of data exist, hold no operation, and lead to nothing but data", () => {
  for (const name of DATA_TYPES) {
    const type = schema.getType(name);
    if (!isObjectType(type)) throw new Error(`there is no type ${name}`);
    for (const field of Object.values(type.getFields())) {
      const target = schema.getType(String(field.type).replaceAll(/[[\]!]/g, ""));
      expect([name, field.name, !isObjectType(target) || DATA_TYPES.includes(target.name)]).toEqual([
        name,
        field.name,
        true,
      ]);
      expect([name, field.name, field.args]).toEqual([name, field.name, []]);
    }
  }
});

/** How each field is asked for. */
const DOCUMENTS = {
  Query: {
    me: "{ me { id } }",
    apiKeys: "{ apiKeys { id } }",
    apiKey: '{ apiKey(id: "key_other") { id } }',
    apiKeysByName: '{ apiKeysByName(name: "other") { id } }',
    apiKeysExist: "{ apiKeysExist }",
    auditEvents: "{ auditEvents { id } }",
  },
  Mutation: {
    apiKey: "mutation { apiKey { __typename } }",
  },
  ApiKeyMutations: {
    create:
      'mutation { apiKey { create(input: { name: "new", permissions: [{ resource: API_KEY, actions: [CREATE_OWN] }] }) { id } } }',
    delete: 'mutation { apiKey { delete(input: { ids: ["key_other"] }) } }',
    refusesTakenNames: "mutation { apiKey { refusesTakenNames } }",
  },
} as const satisfies { readonly [Type in keyof typeof RULES]: Readonly<Record<keyof typeof RULES[Type], string>> };

const EVERY_PERMISSION = SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));

const documents: Readonly<Record<string, Readonly<Record<string, string>>>> = DOCUMENTS;

for (const [type, rules] of Object.entries<Readonly<Record<string, Rule>>>(RULES)) {
  for (const [field, { any, own }] of Object.entries(rules)) {
    const query = documents[type]?.[field] ?? "";

    Deno.test(`${type}.${field} is answered with 401 without a key`, () =>
      withServer(async ({ network }) => {
        const { status, codes, data } = await ask(network, query);
        expect({ status, codes, data }).toEqual({ status: 401, codes: ["UNAUTHENTICATED"], data: undefined });
      }));

    if (any === undefined) {
      Deno.test(`${type}.${field} needs a valid key and no right`, () =>
        withServer(async ({ network, keyWith }) => {
          const { key } = await keyWith("WELCOME:UPDATE_OWN");
          expect(await ask(network, query, {}, key)).toMatchObject({ status: 200, codes: [] });
        }));
      continue;
    }

    Deno.test(`${type}.${field} is FORBIDDEN to a key that has every right but ${[any, own].filter(Boolean).join(" and ")}`, () =>
      withServer(async ({ network, keyWith, store }) => {
        const { key } = await keyWith(
          ...EVERY_PERMISSION.filter((permission) => permission !== any && permission !== own),
        );
        const { codes, messages } = await ask(network, query, {}, key);
        expect(codes).toEqual(["FORBIDDEN"]);
        for (const right of own === undefined ? [any] : [any, own]) expect(messages[0]).toContain(right);
        expect(await Array.fromAsync(store.list())).toHaveLength(1);
      }));

    Deno.test(`${type}.${field} is answered for a key that has ${any} alone`, () =>
      withServer(async ({ network, keyWith }) => {
        const { key } = await keyWith(any);
        expect(await ask(network, query, {}, key)).toMatchObject({ status: 200, codes: [] });
      }));
  }
}

Deno.test("introspection is for whoever has a key, and for nobody else", () =>
  withServer(async ({ network, create }) => {
    const guest: ShownKey = await create({ name: "guest", roles: ["GUEST"] });
    for (const query of ["{ __schema { types { name } } }", '{ __type(name: "ApiKey") { name } }', "{ __typename }"]) {
      // deno-lint-ignore no-await-in-loop -- three of them
      expect((await ask(network, query)).status).toBe(401);
      // deno-lint-ignore no-await-in-loop -- three of them
      const { status, codes, data } = await ask(network, query, {}, guest.key);
      expect({ status, codes }).toEqual({ status: 200, codes: [] });
      expect(data).not.toBeUndefined();
    }
  }));
