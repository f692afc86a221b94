/** DESIGN, "Keys and rights": what roles and permissions let the holder of a key do. */
import { expect } from "expect";
import fc from "fast-check";
import { ACTIONS, type Permission, RESOURCES } from "../../src/apikey/permission.ts";
import { EVERY_RIGHT, missingRights, requireSomeRights, rightsOf } from "../../src/apikey/rights.ts";
import { ROLES } from "../../src/apikey/role.ts";
import { failureOf } from "./failure_of.ts";
import { rightsByDesign, SPEC_ACTIONS, SPEC_RESOURCES } from "./rights_by_design.ts";

const anyRoles = fc.array(fc.constantFrom(...ROLES), { maxLength: 5 });
const anyPermissions = fc.array(
  fc.tuple(fc.constantFrom(...RESOURCES), fc.constantFrom(...ACTIONS))
    .map(([resource, action]): Permission => `${resource}:${action}`),
  { maxLength: 30 },
);
const anyRights = fc.record({
  roles: fc.oneof(fc.constant([]), anyRoles),
  permissions: anyPermissions,
});

Deno.test("ADMIN may take every action on every resource", () => {
  const everything = SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));
  expect(new Set<string>(rightsOf(["ADMIN"], []))).toEqual(new Set(everything));
  expect(new Set<string>(EVERY_RIGHT)).toEqual(new Set(everything));
});

Deno.test("VIEWER may read every resource and do nothing else", () => {
  const reading = SPEC_RESOURCES.flatMap((resource) => [`${resource}:READ_ANY`, `${resource}:READ_OWN`]);
  expect(new Set<string>(rightsOf(["VIEWER"], []))).toEqual(new Set(reading));
});

Deno.test("CONNECT may take every action on the two connect resources and on no other", () => {
  const connecting = ["CONNECT", "CONNECT__REMOTE_ACCESS"].flatMap((resource) =>
    SPEC_ACTIONS.map((action) => `${resource}:${action}`)
  );
  expect(new Set<string>(rightsOf(["CONNECT"], []))).toEqual(new Set(connecting));
});

Deno.test("GUEST may read what it owns of ME and do nothing else", () => {
  expect([...rightsOf(["GUEST"], [])]).toEqual(["ME:READ_OWN"]);
});

Deno.test("A permission to do something to any contains the permission to do it to one's own", () => {
  expect(new Set(rightsOf([], ["DOCKER:DELETE_ANY"]))).toEqual(new Set(["DOCKER:DELETE_ANY", "DOCKER:DELETE_OWN"]));
});

Deno.test("A permission to do something to one's own contains nothing else", () => {
  expect([...rightsOf([], ["DOCKER:DELETE_OWN"])]).toEqual(["DOCKER:DELETE_OWN"]);
});

Deno.test("No roles and no permissions give no rights", () => {
  expect(rightsOf([], []).size).toBe(0);
});

Deno.test("A key without any role or permission is refused as NO_RIGHTS; either is enough", () => {
  const { code, message } = failureOf(() => requireSomeRights([], []));
  expect(code).toBe("NO_RIGHTS");
  expect(message).toContain("at least one role or permission");
  expect(() => requireSomeRights(["GUEST"], [])).not.toThrow();
  expect(() => requireSomeRights([], ["ME:READ_OWN"])).not.toThrow();
});

Deno.test("Any roles and permissions together give the rights that DESIGN says", () => {
  fc.assert(fc.property(anyRights, ({ roles, permissions }) => {
    expect(new Set<string>(rightsOf(roles, permissions))).toEqual(rightsByDesign(roles, permissions));
  }));
});

Deno.test("More roles or permissions never give fewer rights", () => {
  fc.assert(fc.property(anyRights, anyRights, (some, more) => {
    const few = rightsOf(some.roles, some.permissions);
    const many = rightsOf([...some.roles, ...more.roles], [...more.permissions, ...some.permissions]);
    expect(few.isSubsetOf(many)).toBe(true);
  }));
});

Deno.test("Rights are complete: spelled out as permissions they give themselves", () => {
  fc.assert(fc.property(anyRights, ({ roles, permissions }) => {
    const rights = rightsOf(roles, permissions);
    expect(rightsOf([], [...rights])).toEqual(rights);
  }));
});

Deno.test("Nothing is missing exactly when everything wanted is held, and what is missing is what is not held", () => {
  fc.assert(fc.property(anyRights, anyRights, (having, wanting) => {
    const held = rightsOf(having.roles, having.permissions);
    const wanted = rightsOf(wanting.roles, wanting.permissions);
    const missing = missingRights(held, wanted);
    expect(missing.length === 0).toBe(wanted.isSubsetOf(held));
    expect(new Set(missing)).toEqual(wanted.difference(held));
    expect(missingRights(rightsOf(having.roles, [...having.permissions, ...missing]), wanted)).toEqual([]);
  }));
});
