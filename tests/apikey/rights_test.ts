/** The rights that roles and permissions grant on the embedded server. */
import { expect } from "expect";
import fc from "fast-check";
import { ACTIONS, type Permission, RESOURCES } from "../../src/apikey/permission.ts";
import { EVERY_RIGHT, grantsRight, missingRights, requireSomeRights, rightsOf } from "../../src/apikey/rights.ts";
import { ROLES } from "../../src/apikey/role.ts";
import { failureOf } from "./failure_of.ts";
import { rightsByDesign } from "./rights_by_design.ts";

const anyRoles = fc.array(fc.constantFrom(...ROLES), { maxLength: 5 });
const anyPermissions = fc.array(
  fc.tuple(fc.constantFrom(...RESOURCES), fc.constantFrom(...ACTIONS))
    .map(([resource, action]): Permission => `${resource}:${action}`),
  { maxLength: 30 },
);
const anyGrant = fc.record({
  roles: fc.oneof(fc.constant([]), anyRoles),
  permissions: anyPermissions,
});

for (const role of ROLES) {
  Deno.test(`${role} grants exactly the rights that rights_by_design.ts lists for it`, () => {
    expect(new Set<string>(rightsOf([role], []))).toEqual(rightsByDesign([role], []));
  });
}

Deno.test("The local caller, who needs no key, has the same rights as ADMIN", () => {
  expect(EVERY_RIGHT).toEqual(rightsOf(["ADMIN"], []));
});

Deno.test("An _ANY permission includes the _OWN permission, but an _OWN permission does not include the _ANY permission", () => {
  expect(new Set(rightsOf([], ["DOCKER:DELETE_ANY"]))).toEqual(new Set(["DOCKER:DELETE_ANY", "DOCKER:DELETE_OWN"]));
  expect([...rightsOf([], ["DOCKER:DELETE_OWN"])]).toEqual(["DOCKER:DELETE_OWN"]);
});

Deno.test("grantsRight agrees with rightsOf for every right", () => {
  fc.assert(fc.property(anyGrant, ({ roles, permissions }) => {
    const rights = rightsOf(roles, permissions);
    expect([...EVERY_RIGHT].filter((right) => grantsRight(roles, permissions, right))).toEqual([...rights]);
  }));
});

Deno.test("A key without any role or permission is rejected as NO_RIGHTS, and one role or permission is enough", () => {
  const { code, message } = failureOf(() => requireSomeRights([], []));
  expect(code).toBe("NO_RIGHTS");
  expect(message).toBe("A key needs at least one role or permission. Add --roles or --permissions.");
  expect(() => requireSomeRights(["GUEST"], [])).not.toThrow();
  expect(() => requireSomeRights([], ["ME:READ_OWN"])).not.toThrow();
});

Deno.test("Roles and permissions together grant the union of their rights", () => {
  fc.assert(fc.property(anyGrant, ({ roles, permissions }) => {
    expect(new Set<string>(rightsOf(roles, permissions))).toEqual(rightsByDesign(roles, permissions));
  }));
});

Deno.test("The missing rights are the rights that are required but not held", () => {
  fc.assert(fc.property(anyGrant, anyGrant, (one, other) => {
    const held = rightsOf(one.roles, one.permissions);
    const required = rightsOf(other.roles, other.permissions);
    const missing = missingRights(held, required);
    expect(new Set(missing)).toEqual(required.difference(held));
    expect(missingRights(rightsOf(one.roles, [...one.permissions, ...missing]), required)).toEqual([]);
  }));
});
