/**
 * Each field of the schema, except the fields of data types, states its authorization rule from
 * `auth/authorization.ts`, and the server enforces the rule.
 */
import { expect } from "expect";
import { isInterfaceType, isObjectType } from "graphql";
import * as z from "zod";
import { DATA_TYPES, describeRule, type Rule, RULES } from "../../../src/server/auth/authorization.ts";
import { schema } from "../../../src/server/graphql/schema.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES } from "../../apikey/rights_by_design.ts";
import { ADD_RESOURCE, keysIn, post, withServer } from "./graphql.ts";

/** Returns the fields that have rules, and the names that RULES gives them. */
const FIELDS = Object.values(schema.getTypeMap()).flatMap((type) => {
  const isData = type.name.startsWith("__") || DATA_TYPES.includes(type.name);
  if (isData || !(isObjectType(type) || isInterfaceType(type))) return [];
  return Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, type, field }));
});

const ruleOf: Readonly<Record<string, Readonly<Record<string, Rule>>>> = RULES;

Deno.test("Every field, except the fields of data types, has an authorization rule, and its description states the rule", () => {
  for (const { name, type, field } of FIELDS) {
    const rule = ruleOf[type.name]?.[field.name];
    expect([name, field.extensions["rule"]]).toEqual([name, rule ?? "a rule"]);
    expect(field.extensions["rule"]).toBe(rule);
    expect(field.description).toContain(`Needs ${describeRule(rule ?? {})}.`);
  }
  const named = Object.entries(RULES).flatMap(([type, rules]) => Object.keys(rules).map((name) => `${type}.${name}`));
  expect(named.toSorted()).toEqual(FIELDS.map(({ name }) => name).toSorted());
});

Deno.test("Introspection states the permission of every field that needs one, in the form that other servers use", () =>
  withServer(async ({ local }) => {
    const { data } = await post(local, "{ __schema { types { name fields { name description } } } }");
    const { __schema: { types } } = introspected.parse(data);
    const stated = types.flatMap(({ name: type, fields }) =>
      (fields ?? []).flatMap(({ name, description }) => {
        const [, action, resource] = PERMISSION_IN_DESCRIPTION.exec(description ?? "") ?? [];
        return resource === undefined ? [] : [[`${type}.${name}`, `${resource}:${action}`]];
      })
    );
    const required = Object.entries(ruleOf).flatMap(([type, rules]) =>
      Object.entries(rules).flatMap(([name, { any }]) => any === undefined ? [] : [[`${type}.${name}`, any]])
    );
    expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(required));
    expect(stated.length).toBe(required.length);
  }));

Deno.test("The directive @usePermissions of each field states the same permission as the description", () => {
  for (const { name, field } of FIELDS) {
    const [, action, resource] = PERMISSION_IN_DESCRIPTION.exec(field.description ?? "") ?? [];
    const directives = action === undefined ? undefined : { usePermissions: { action, resource } };
    expect([name, field.extensions["directives"]]).toEqual([name, directives]);
  }
  expect(schema.getDirective("usePermissions")?.locations).toEqual(["FIELD_DEFINITION"]);
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

const PERMISSION_IN_DESCRIPTION =
  /^#### Required Permissions:\n\n- Action: \*\*([A-Z_]+)\*\*\n- Resource: \*\*([A-Z_]+)\*\*\n\n#### Description:\n\n\S/;

const introspected = z.object({
  __schema: z.object({
    types: z.array(z.object({
      name: z.string(),
      fields: z.array(z.object({ name: z.string(), description: z.string().nullable() })).nullable(),
    })),
  }),
});

/** For each field, a document that uses it. `key_self` stands for the calling key, `key_other` for a key with a role. */
const DOCUMENTS = {
  Query: {
    me: "{ me { id } }",
    apiKeys: "{ apiKeys { id } }",
    apiKey: '{ apiKey(id: "key_other") { id } }',
    apiKeyConnection: "{ apiKeyConnection { edges { cursor node { id } } pageInfo { hasNextPage } } }",
    apiKeysBySecretHash: `{ apiKeysBySecretHash(hashes: ["${"0".repeat(64)}"]) { id } }`,
    apiKeysByName: '{ apiKeysByName(name: "other") { id } }',
    apiKeysExist: "{ apiKeysExist }",
    auditEvents: "{ auditEvents { id } }",
    apiKeyPossibleRoles: "{ apiKeyPossibleRoles }",
    apiKeyPossiblePermissions: "{ apiKeyPossiblePermissions { resource } }",
    getAvailableAuthActions: "{ getAvailableAuthActions }",
    previewEffectivePermissions: "{ previewEffectivePermissions { resource } }",
    getPermissionsForRoles: "{ getPermissionsForRoles(roles: [ADMIN]) { resource } }",
    resources: "{ resources { name } }",
  },
  Mutation: {
    apiKey: "mutation { apiKey { __typename } }",
    resource: "mutation { resource { __typename } }",
  },
  ApiKeyMutations: {
    create:
      'mutation { apiKey { create(input: { name: "new", permissions: [{ resource: API_KEY, actions: [CREATE_OWN] }] }) { id } } }',
    update: 'mutation { apiKey { update(input: { id: "key_self", description: "new" }) { id } } }',
    addRole: 'mutation { apiKey { addRole(input: { apiKeyId: "key_other", role: GUEST }) } }',
    removeRole: 'mutation { apiKey { removeRole(input: { apiKeyId: "key_self", role: GUEST }) } }',
    rotate: 'mutation { apiKey { rotate(input: { id: "key_self" }) { key } } }',
    delete: 'mutation { apiKey { delete(input: { ids: ["key_other"] }) } }',
    refusesTakenNames: "mutation { apiKey { refusesTakenNames } }",
  },
  ResourceMutations: {
    add: 'mutation { resource { add(input: { name: "NEW" }) { name } } }',
    remove: 'mutation { resource { remove(name: "OLD") } }',
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
      withServer(async ({ network, local, create, keyWith }) => {
        const { id, key } = await keyWith(any);
        if (query.includes("OLD")) await post(local, ADD_RESOURCE, { input: { name: "OLD" } });
        const other = await create({ name: "other", roles: ["GUEST"] });
        const document = query.replace("key_self", id).replace("key_other", other.id);
        expect(await post(network, document, {}, key)).toMatchObject({ status: 200, codes: [] });
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
