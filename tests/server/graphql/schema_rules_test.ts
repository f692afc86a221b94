/**
 * Each field of the schema, except the fields of data types, states its authorization rule from
 * `auth/authorization.ts`, and the server enforces the rule.
 */
import { expect } from "expect";
import { isInterfaceType, isObjectType } from "graphql";
import { DATA_TYPES, describeRule, type Rule, RULES } from "../../../src/server/auth/authorization.ts";
import { schema } from "../../../src/server/graphql/schema.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES } from "../../apikey/rights_by_design.ts";
import { keysIn, post, withServer } from "./graphql.ts";

Deno.test("Every field, except the fields of data types, has an authorization rule, and its description states the rule", () => {
  const rules: Readonly<Record<string, Readonly<Record<string, Rule>>>> = RULES;
  const fields = Object.values(schema.getTypeMap()).flatMap((type) => {
    const isData = type.name.startsWith("__") || DATA_TYPES.includes(type.name);
    if (isData || !(isObjectType(type) || isInterfaceType(type))) return [];
    return Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, type, field }));
  });
  for (const { name, type, field } of fields) {
    const rule = rules[type.name]?.[field.name];
    expect([name, field.extensions["rule"]]).toEqual([name, rule ?? "a rule"]);
    expect(field.extensions["rule"]).toBe(rule);
    expect(field.description).toContain(`Needs ${describeRule(rule ?? {})}.`);
  }
  const named = Object.entries(rules).flatMap(([type, ofType]) => Object.keys(ofType).map((name) => `${type}.${name}`));
  expect(named.toSorted()).toEqual(fields.map(({ name }) => name).toSorted());
});

Deno.test("The fields of data types take no arguments and return only data", () => {
  for (const name of DATA_TYPES) {
    const type = schema.getType(name);
    if (!isObjectType(type)) throw new Error(`no type ${name}`);
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

/** For each field, a document that uses it. */
const DOCUMENTS = {
  Query: {
    me: "{ me { id } }",
    apiKeys: "{ apiKeys { id } }",
    apiKey: '{ apiKey(id: "key_other") { id } }',
    apiKeysByName: '{ apiKeysByName(name: "other") { id } }',
    apiKeysExist: "{ apiKeysExist }",
    auditEvents: "{ auditEvents { id } }",
    previewEffectivePermissions: "{ previewEffectivePermissions { resource } }",
    getPermissionsForRoles: "{ getPermissionsForRoles(roles: [ADMIN]) { resource } }",
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

const EVERY_PERMISSION: readonly string[] = SPEC_RESOURCES.flatMap((resource) =>
  SPEC_ACTIONS.map((action) => `${resource}:${action}`)
);

const documents: Readonly<Record<string, Readonly<Record<string, string>>>> = DOCUMENTS;

for (const [type, rules] of Object.entries<Readonly<Record<string, Rule>>>(RULES)) {
  for (const [field, { any, own }] of Object.entries(rules)) {
    const query = documents[type]?.[field] ?? "";

    Deno.test(`${type}.${field} without a key gets 401`, () =>
      withServer(async ({ network }) => {
        const { status, codes, data } = await post(network, query);
        expect({ status, codes, data }).toEqual({ status: 401, codes: ["UNAUTHENTICATED"], data: undefined });
      }));

    if (any === undefined) {
      Deno.test(`${type}.${field} needs a valid key but no permission`, () =>
        withServer(async ({ network, keyWith }) => {
          const { key } = await keyWith("WELCOME:UPDATE_OWN");
          expect(await post(network, query, {}, key)).toMatchObject({ status: 200, codes: [] });
        }));
      continue;
    }

    const needed: readonly string[] = own === undefined ? [any] : [any, own];

    Deno.test(`${type}.${field} is FORBIDDEN for a key that has every permission except ${needed.join(" and ")}`, () =>
      withServer(async ({ network, keyWith, store }) => {
        const { key } = await keyWith(...EVERY_PERMISSION.filter((permission) => !needed.includes(permission)));
        const { codes, messages } = await post(network, query, {}, key);
        expect(codes).toEqual(["FORBIDDEN"]);
        for (const permission of needed) expect(messages[0]).toContain(permission);
        expect(await keysIn(store)).toHaveLength(1);
      }));

    Deno.test(`${type}.${field} is allowed for a key that has only ${any}`, () =>
      withServer(async ({ network, keyWith }) => {
        const { key } = await keyWith(any);
        expect(await post(network, query, {}, key)).toMatchObject({ status: 200, codes: [] });
      }));
  }
}

Deno.test("Introspection needs a valid key but no permission", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "guest", roles: ["GUEST"] });
    for (const query of ["{ __schema { types { name } } }", "{ __typename }"]) {
      // deno-lint-ignore no-await-in-loop -- only two queries
      expect((await post(network, query)).status).toBe(401);
      // deno-lint-ignore no-await-in-loop -- only two queries
      expect(await post(network, query, {}, key)).toMatchObject({ status: 200, codes: [] });
    }
  }));
