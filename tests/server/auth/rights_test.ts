/**
 * Which rights a key can grant, and which rights the roles have on keys. `graphql/schema_rules_test.ts` tests which
 * permission each field needs.
 */
import { expect } from "expect";
import fc from "fast-check";
import { rightsByDesign, SPEC_ACTIONS, SPEC_RESOURCES, SPEC_ROLES } from "../../apikey/rights_by_design.ts";
import {
  type ApiKey,
  CREATE,
  createdKey,
  DELETE,
  keysIn,
  LIST,
  LOCAL_ORIGIN,
  post,
  type Result,
  toInput,
  withServer,
} from "../graphql/graphql.ts";

function expectForbidden({ codes, messages, text }: Result, missing: string): void {
  expect(codes).toEqual(["FORBIDDEN"]);
  expect(messages.join()).toContain(missing);
  expect(text).not.toContain("sak_");
}

/** Returns the permissions of a key as `RESOURCE:ACTION` pairs. */
function pairsOf({ permissions }: ApiKey): readonly string[] {
  return permissions.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}`));
}

Deno.test("A key that has only API_KEY:CREATE_ANY can create keys with the rights that it has", () =>
  withServer(async ({ network, keyWith }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY");
    const permissions = [{ resource: "API_KEY", actions: ["CREATE_ANY", "CREATE_OWN"] }];
    const result = await post(network, CREATE, { input: { name: "child", permissions } }, creator.key);
    expect(createdKey(result).permissions).toEqual(permissions);
  }));

Deno.test("A key cannot grant rights that it lacks, and the message names a missing right", () =>
  withServer(async ({ network, keyWith, store }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY", "DOCKER:READ_OWN");
    const cases: readonly (readonly [Record<string, unknown>, string])[] = [
      [{ permissions: toInput(["VMS:READ_OWN"]) }, "VMS:READ_OWN"],
      [{ permissions: toInput(["API_KEY:CREATE_ANY", "API_KEY:DELETE_ANY"]) }, "API_KEY:DELETE_ANY"],
      [{ permissions: toInput(["DOCKER:READ_ANY"]) }, "DOCKER:READ_ANY"],
      [{ roles: ["GUEST"] }, "ME:READ_OWN"],
      [{ roles: ["CONNECT"] }, "CONNECT:CREATE_ANY"],
      [{ roles: ["ADMIN"] }, "ACTIVATION_CODE:CREATE_ANY"],
    ];
    await Promise.all(cases.map(async ([rights, missing]) => {
      expectForbidden(await post(network, CREATE, { input: { name: "child", ...rights } }, creator.key), missing);
    }));
    expect((await keysIn(store)).map(({ id }) => id)).toEqual([creator.id]);
  }));

Deno.test("Replacing a key is FORBIDDEN if the new key would have rights that the caller lacks, and the old key keeps working", () =>
  withServer(async ({ network, keyWith, create }) => {
    const creator = await keyWith("API_KEY:CREATE_ANY", "API_KEY:DELETE_ANY");
    const admin = await create({ name: "admin", roles: ["ADMIN"] });
    const input = { name: "admin", roles: ["ADMIN"], overwrite: true };
    expectForbidden(await post(network, CREATE, { input }, creator.key), "ACTIVATION_CODE:CREATE_ANY");
    expect((await post(network, LIST, {}, admin.key)).status).toBe(200);
  }));

Deno.test("ADMIN can create, read and delete keys; VIEWER can only read keys; CONNECT and GUEST can do none of these", () =>
  withServer(async ({ network, create }) => {
    const target = await create({ name: "other", roles: ["GUEST"] });
    const outcomes = await Promise.all(SPEC_ROLES.map(async (role) => {
      const { key } = await create({ name: role, roles: [role] });
      const input = { name: `child of ${role}`, roles: [role] };
      const results = [
        await post(network, CREATE, { input }, key),
        await post(network, LIST, {}, key),
        await post(network, DELETE, { ids: [target.id] }, key),
      ];
      return [role, ...results.map(({ codes }) => codes.join() || "done")];
    }));
    expect(outcomes).toEqual([
      ["ADMIN", "done", "done", "done"],
      ["CONNECT", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"],
      ["VIEWER", "FORBIDDEN", "done", "FORBIDDEN"],
      ["GUEST", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"],
    ]);
  }));

Deno.test("Whatever its roles and permissions, a key can never create a key with rights that it lacks", () => {
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
    /** Indexes of rights of the creator that the new key gets, so that some creations succeed. */
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
        await store.remove((await keysIn(store)).map(({ id }) => id), LOCAL_ORIGIN, () => {});
        const creator = await create({ name: "creator", roles: given.creatorRoles, permissions: toInput(held) });
        const input = { name: "child", roles: wanted.roles, permissions: toInput(wanted.permissions) };
        const result = await post(network, CREATE, { input }, creator.key);

        const wantedRights = rightsByDesign(wanted.roles, wanted.permissions);
        if (creatorRights.has("API_KEY:CREATE_ANY") && wantedRights.isSubsetOf(creatorRights)) {
          const child = createdKey(result);
          expect(rightsByDesign(child.roles, pairsOf(child)).isSubsetOf(creatorRights)).toBe(true);
          expect(rightsByDesign(child.roles, pairsOf(child))).toEqual(wantedRights);
          succeeded++;
        } else {
          expect(result.codes).toEqual(["FORBIDDEN"]);
          const named = result.messages.join().match(/[A-Z_]+:[A-Z]+_(ANY|OWN)/)?.[0] ?? "";
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
