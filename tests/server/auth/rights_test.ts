/** DESIGN, "Keys and rights": who may do what through GraphQL. */
import { expect } from "expect";
import fc from "fast-check";
import { rightsByDesign, SPEC_ACTIONS, SPEC_RESOURCES, SPEC_ROLES } from "../../apikey/rights_by_design.ts";
import {
  type Answer,
  asInput,
  ask,
  CREATE,
  createdKey,
  DELETE,
  keysIn,
  LIST,
  listedKeys,
  NOW,
  READ,
  readKey,
  type ShownKey,
  withServer,
} from "../graphql/graphql.ts";

/** A change that nobody in particular makes. */
const NOBODY = { at: NOW, actor: null, address: null, requestId: null };

const READ_BY_NAME = 'query { apiKeysByName(name: "other") { id } }';
const EXIST = "{ apiKeysExist }";

function expectForbidden({ codes, messages, text }: Answer, missing: string): void {
  expect(codes).toEqual(["FORBIDDEN"]);
  expect(messages.join()).toContain(missing);
  expect(text).not.toContain("sak_");
}

/** Every permission on keys but some. */
function everythingOnKeysBut(...actions: readonly string[]): readonly string[] {
  return SPEC_ACTIONS.filter((other) => !actions.includes(other)).map((other) => `API_KEY:${other}`);
}

/** The permissions of a key as pairs. */
function pairsOf({ permissions }: ShownKey): readonly string[] {
  return permissions.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}`));
}

Deno.test("A key with API_KEY:CREATE_ANY alone can create keys with the rights it holds", () =>
  withServer(async ({ network, keyWith }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY");
    const permissions = [{ resource: "API_KEY", actions: ["CREATE_ANY", "CREATE_OWN"] }];
    const answer = await ask(network, CREATE, { input: { name: "child", permissions } }, creator.key);
    expect(createdKey(answer).permissions).toEqual(permissions);
  }));

Deno.test("A key with API_KEY:CREATE_ANY alone cannot create keys with other rights, and is told which", () =>
  withServer(async ({ network, keyWith, store }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY");
    const tries: readonly (readonly [Record<string, unknown>, string])[] = [
      [{ permissions: [{ resource: "DOCKER", actions: ["READ_OWN"] }] }, "DOCKER:READ_OWN"],
      [{ permissions: [{ resource: "API_KEY", actions: ["CREATE_ANY", "DELETE_ANY"] }] }, "API_KEY:DELETE_ANY"],
      [{ roles: ["GUEST"] }, "ME:READ_OWN"],
      [{ roles: ["CONNECT"] }, "CONNECT:CREATE_ANY"],
      [{ roles: ["VIEWER"] }, "ACTIVATION_CODE:READ_ANY"],
      [{ roles: ["ADMIN"] }, "ACTIVATION_CODE:CREATE_ANY"],
    ];
    const answers = await Promise.all(tries.map(async ([rights, missing]) => {
      return { missing, answer: await ask(network, CREATE, { input: { name: "child", ...rights } }, creator.key) };
    }));
    for (const { missing, answer } of answers) expectForbidden(answer, missing);
    expect((await keysIn(store)).map(({ id }) => id)).toEqual([creator.id]);
  }));

Deno.test("Whoever may do something only to their own cannot grant it to any", () =>
  withServer(async ({ network, keyWith }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY", "DOCKER:READ_OWN");
    const input = { name: "child", permissions: [{ resource: "DOCKER", actions: ["READ_ANY"] }] };
    expectForbidden(await ask(network, CREATE, { input }, creator.key), "DOCKER:READ_ANY");
  }));

Deno.test("Creating needs API_KEY:CREATE_ANY, whatever else a key may do", () =>
  withServer(async ({ network, keyWith, store }) => {
    const [most, reader] = await Promise.all([keyWith(...everythingOnKeysBut("CREATE_ANY")), keyWith("ME:READ_OWN")]);
    const input = { name: "child", permissions: [{ resource: "API_KEY", actions: ["READ_OWN"] }] };
    expectForbidden(await ask(network, CREATE, { input }, most.key), "API_KEY:CREATE_ANY");
    expectForbidden(await ask(network, CREATE, { input }, reader.key), "API_KEY:CREATE_ANY");
    expect((await keysIn(store)).length).toBe(2);
  }));

Deno.test("Overwriting needs the same rights as creating, and a refused one leaves the old key in force", () =>
  withServer(async ({ network, keyWith, create }) => {
    const [creator, admin] = await Promise.all([
      keyWith("API_KEY:CREATE_ANY"),
      create({ name: "admin", roles: ["ADMIN"] }),
    ]);
    const input = { name: "admin", roles: ["ADMIN"], overwrite: true };
    expectForbidden(await ask(network, CREATE, { input }, creator.key), "ACTIVATION_CODE:CREATE_ANY");
    expect((await ask(network, LIST, {}, admin.key)).status).toBe(200);
  }));

Deno.test("Reading keys needs API_KEY:READ_ANY or READ_OWN, whatever else a key may do", () =>
  withServer(async ({ network, keyWith, create }) => {
    const [reader, most, other] = await Promise.all([
      keyWith("API_KEY:READ_ANY"),
      keyWith(...everythingOnKeysBut("READ_ANY", "READ_OWN")),
      create({ name: "other", roles: ["GUEST"] }),
    ]);
    const queries: readonly (readonly [string, Record<string, unknown>])[] = [
      [LIST, {}],
      [READ, { id: other.id }],
      [READ, { id: most.id }],
      [READ, { id: "key_nowhere" }],
      [READ_BY_NAME, {}],
      [EXIST, {}],
    ];
    const answers = await Promise.all(
      queries.map(([query, variables]) =>
        Promise.all([ask(network, query, variables, most.key), ask(network, query, variables, reader.key)])
      ),
    );
    for (const [refused, allowed] of answers) {
      expectForbidden(refused, "API_KEY:READ_ANY, or API_KEY:READ_OWN");
      expect(allowed.codes).toEqual([]);
    }
  }));

Deno.test("Reading the keys of others needs API_KEY:READ_ANY, whatever else a key may do", () =>
  withServer(async ({ network, keyWith, create }) => {
    const [most, other] = await Promise.all([
      keyWith(...everythingOnKeysBut("READ_ANY")),
      create({ name: "other", roles: ["GUEST"] }),
    ]);
    expectForbidden(await ask(network, READ, { id: other.id }, most.key), "API_KEY:READ_ANY");
    expectForbidden(await ask(network, READ, { id: "key_nowhere" }, most.key), "API_KEY:READ_ANY");
    expect(listedKeys(await ask(network, LIST, {}, most.key)).map(({ id }) => id)).toEqual([most.id]);
    expect((await ask(network, READ_BY_NAME, {}, most.key)).data).toEqual({ apiKeysByName: [] });
  }));

Deno.test("Deleting needs API_KEY:DELETE_ANY or DELETE_OWN, whatever else a key may do", () =>
  withServer(async ({ network, keyWith, create, store }) => {
    const [deleter, most, other] = await Promise.all([
      keyWith("API_KEY:DELETE_ANY"),
      keyWith(...everythingOnKeysBut("DELETE_ANY", "DELETE_OWN")),
      create({ name: "other", roles: ["GUEST"] }),
    ]);
    const missing = "API_KEY:DELETE_ANY, or API_KEY:DELETE_OWN";
    expectForbidden(await ask(network, DELETE, { ids: [other.id] }, most.key), missing);
    expectForbidden(await ask(network, DELETE, { ids: [most.id] }, most.key), missing);
    expectForbidden(await ask(network, DELETE, { ids: ["key_nowhere"] }, most.key), missing);
    expect((await keysIn(store)).length).toBe(3);
    expect((await ask(network, DELETE, { ids: [other.id] }, deleter.key)).data).toEqual({ apiKey: { delete: true } });
    expect((await keysIn(store)).length).toBe(2);
  }));

Deno.test("Deleting the keys of others needs API_KEY:DELETE_ANY, whatever else a key may do", () =>
  withServer(async ({ network, keyWith, create, store }) => {
    const [most, other] = await Promise.all([
      keyWith(...everythingOnKeysBut("DELETE_ANY")),
      create({ name: "other", roles: ["GUEST"] }),
    ]);
    expectForbidden(await ask(network, DELETE, { ids: [other.id] }, most.key), "API_KEY:DELETE_ANY");
    expect((await keysIn(store)).length).toBe(2);
  }));

Deno.test("A key with API_KEY:READ_OWN reads itself but no key of others", () =>
  withServer(async ({ network, keyWith }) => {
    const [own, other] = await Promise.all([keyWith("API_KEY:READ_OWN"), keyWith("API_KEY:READ_OWN")]);
    expect(readKey(await ask(network, READ, { id: own.id }, own.key))?.name).toBe(own.name);
    expectForbidden(await ask(network, READ, { id: other.id }, own.key), "API_KEY:READ_ANY");
    expectForbidden(await ask(network, READ, { id: "key_nowhere" }, own.key), "API_KEY:READ_ANY");
    expect(listedKeys(await ask(network, LIST, {}, own.key)).map(({ id }) => id)).toEqual([own.id]);
  }));

Deno.test("A key without any right to read keys does not even read itself", () =>
  withServer(async ({ network, keyWith }) => {
    const key = await keyWith("ME:READ_ANY");
    expectForbidden(await ask(network, READ, { id: key.id }, key.key), "API_KEY:READ_OWN");
  }));

Deno.test("Of the roles, ADMIN may create, read and delete keys, VIEWER read them, CONNECT and GUEST nothing", () =>
  withServer(async ({ network, create }) => {
    const target = await create({ name: "other", roles: ["GUEST"] });
    const outcomes = await Promise.all(SPEC_ROLES.map(async (role) => {
      const { key } = await create({ name: role, roles: [role] });
      const input = { name: `child of ${role}`, roles: [role] };
      const answers = [
        await ask(network, CREATE, { input }, key),
        await ask(network, LIST, {}, key),
        await ask(network, DELETE, { ids: [target.id] }, key),
      ];
      return [role, ...answers.map(({ codes }) => codes.join() || "done")];
    }));
    expect(outcomes).toEqual([
      ["ADMIN", "done", "done", "done"],
      ["CONNECT", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"],
      ["VIEWER", "FORBIDDEN", "done", "FORBIDDEN"],
      ["GUEST", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"],
    ]);
  }));

Deno.test("Whatever a key manages to create, the new key can do nothing that its creator cannot", () => {
  const anyRoles = fc.oneof(
    fc.constant<string[]>([]),
    fc.uniqueArray(fc.constantFrom(...SPEC_ROLES), { maxLength: 3 }),
  );
  const fewResources = fc.oneof(fc.constantFrom("API_KEY", "CONNECT", "ME"), fc.constantFrom(...SPEC_RESOURCES));
  const anyPermission = fc.tuple(fewResources, fc.constantFrom(...SPEC_ACTIONS)).map((pair) => pair.join(":"));
  const anyPermissions = fc.array(anyPermission, { maxLength: 8 });
  const scenario = fc.record({
    creatorRoles: anyRoles,
    creatorPermissions: anyPermissions,
    mayCreate: fc.integer({ min: 0, max: 3 }).map((n) => n > 0),
    roles: anyRoles,
    permissions: anyPermissions,
    /** Which of the creator's own rights are asked for too; those make creations that succeed. */
    own: fc.array(fc.nat(), { maxLength: 5 }),
    onlyOwn: fc.boolean(),
  });
  return withServer(async ({ network, create, store }) => {
    let succeeded = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const held = [...given.creatorPermissions, given.mayCreate ? "API_KEY:CREATE_ANY" : "ME:READ_OWN"];
        const creatorRights = rightsByDesign(given.creatorRoles, held);
        const rights = [...creatorRights];
        const own = given.own.flatMap((n) => rights[n % rights.length] ?? []);
        const wanted = given.onlyOwn
          ? { roles: [], permissions: [...own, rights[0] ?? ""] }
          : { roles: given.roles, permissions: [...own, ...given.permissions, "ME:READ_OWN"] };
        await store.remove((await keysIn(store)).map(({ id }) => id), NOBODY, () => {});
        const creator = await create({ name: "creator", roles: given.creatorRoles, permissions: asInput(held) });
        const input = { name: "child", roles: wanted.roles, permissions: asInput(wanted.permissions) };
        const answer = await ask(network, CREATE, { input }, creator.key);

        const wantedRights = rightsByDesign(wanted.roles, wanted.permissions);
        if (creatorRights.has("API_KEY:CREATE_ANY") && wantedRights.isSubsetOf(creatorRights)) {
          const child = createdKey(answer);
          expect(rightsByDesign(child.roles, pairsOf(child)).isSubsetOf(creatorRights)).toBe(true);
          expect(rightsByDesign(child.roles, pairsOf(child))).toEqual(wantedRights);
          succeeded++;
        } else {
          expect(answer.codes).toEqual(["FORBIDDEN"]);
          const named = answer.messages.join().match(/[A-Z_]+:[A-Z]+_(ANY|OWN)/)?.[0] ?? "";
          expect(creatorRights.has(named)).toBe(false);
          expect(named === "API_KEY:CREATE_ANY" || wantedRights.has(named)).toBe(true);
          expect((await keysIn(store)).length).toBe(1);
          refused++;
        }
      }),
      { numRuns: 100 },
    );
    expect(succeeded).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(10);
  });
});
