/** Spec section 2, "Roles", and how a list of them is read. */
import { expect } from "expect";
import fc from "fast-check";
import { parseRoles, ROLES } from "../../src/apikey/role.ts";
import { failureOf } from "./failure_of.ts";
import { SPEC_ROLES } from "./rights_by_design.ts";

const anyRoles = fc.uniqueArray(fc.constantFrom(...ROLES));

Deno.test("The roles are the four of the specification", () => {
  expect([...ROLES].toSorted()).toEqual(SPEC_ROLES.toSorted());
});

Deno.test("Roles are accepted in any case", () => {
  expect(parseRoles("admin,Viewer,gUEST,CONNECT")).toEqual(["ADMIN", "VIEWER", "GUEST", "CONNECT"]);
});

Deno.test("Spaces around the commas of roles do not matter", () => {
  expect(parseRoles("  VIEWER ,\tGUEST  , CONNECT ")).toEqual(["VIEWER", "GUEST", "CONNECT"]);
});

Deno.test("A role given twice counts once, in the place of its first appearance", () => {
  expect(parseRoles("GUEST,admin,guest,ADMIN,VIEWER")).toEqual(["GUEST", "ADMIN", "VIEWER"]);
});

Deno.test("A blank list of roles is the empty list", () => {
  expect(parseRoles("")).toEqual([]);
  expect(parseRoles("  \t")).toEqual([]);
});

Deno.test("A comma too many in a list of roles is refused", () => {
  for (const list of ["ADMIN,", ",ADMIN", "ADMIN,,GUEST", "ADMIN, ,GUEST", ",", " , "]) {
    const { code, message } = failureOf(() => parseRoles(list));
    expect([list, code]).toEqual([list, "INVALID_ROLE"]);
    expect(message).toContain("comma");
  }
});

Deno.test("An unknown role is refused, and the message names it, the nearest one and the list", () => {
  const { code, message } = failureOf(() => parseRoles("GUEST,amdin"));
  expect(code).toBe("INVALID_ROLE");
  expect(message).toContain('"amdin"');
  expect(message).toContain("did you mean ADMIN?");
  for (const role of SPEC_ROLES) expect(message).toContain(role);
});

Deno.test("Things that only look like roles are refused", () => {
  for (const list of ["ADMIN VIEWER", "ADMIN;VIEWER", "ADMINS", "AD MIN", '"ADMIN"', "*", "ADMIN:READ_ANY"]) {
    expect([list, failureOf(() => parseRoles(list)).code]).toEqual([list, "INVALID_ROLE"]);
  }
});

Deno.test("A role that lacks one letter is recognized", () => {
  for (const role of SPEC_ROLES) {
    for (let i = 0; i < role.length; i++) {
      const typo = `${role.slice(0, i)}${role.slice(i + 1)}`;
      expect(failureOf(() => parseRoles(typo)).message).toContain(`${JSON.stringify(typo)}; did you mean ${role}?`);
    }
  }
});

Deno.test("A refused role that is long or full of control characters makes a short, harmless message", () => {
  const { message } = failureOf(() => parseRoles(`\x1b[2J${"x".repeat(100_000)}`));
  expect(message.length).toBeLessThan(300);
  expect(message).not.toContain("\x1b");
});

Deno.test("Any list of roles, joined with commas and read again, is the same list", () => {
  fc.assert(fc.property(anyRoles, (roles) => expect(parseRoles(roles.join(","))).toEqual(roles)));
});

Deno.test("Any list with something in it that is no role is refused whole", () => {
  const noRole = fc.string({ unit: "binary" }).filter((text) =>
    !text.includes(",") && text.trim() !== "" && !SPEC_ROLES.includes(text.trim().toUpperCase())
  );
  fc.assert(
    fc.property(anyRoles, noRole, anyRoles, (before, wrong, after) => {
      const { code } = failureOf(() => parseRoles([...before, wrong, ...after].join(",")));
      expect(code).toBe("INVALID_ROLE");
    }),
  );
});

Deno.test("a permission among the roles is told where it belongs, and no role is suggested in its place", () => {
  expect(failureOf(() => parseRoles("DOCKER:READ_ANY")).message).toBe(
    '"DOCKER:READ_ANY" is a permission, not a role: give it with --permissions.',
  );
});
