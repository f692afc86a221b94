/** Roles (spec section 2, "Roles"): which roles exist, and how lists of them are parsed. */
import { expect } from "expect";
import fc from "fast-check";
import { parseRolesOf, type Role, ROLES } from "../../src/apikey/role.ts";
import { failureOf } from "./failure_of.ts";
import { SPEC_ROLES } from "./rights_by_design.ts";

const anyRoles = fc.uniqueArray(fc.constantFrom(...ROLES));

function parseRoles(list: string): readonly Role[] {
  return parseRolesOf(ROLES, [list]);
}

/** Returns the message for an invalid list. Checks that the failure has the code `INVALID_ROLE`. */
function rejectionOf(list: string): string {
  const { code, message } = failureOf(() => parseRoles(list));
  expect([list, code]).toEqual([list, "INVALID_ROLE"]);
  return message;
}

Deno.test("The roles are the four in the specification", () => {
  expect([...ROLES].toSorted()).toEqual(SPEC_ROLES.toSorted());
});

Deno.test("Roles may be in upper or lower case, with spaces around commas", () => {
  expect(parseRoles("  admin,Viewer ,\tgUEST  , CONNECT ")).toEqual(["ADMIN", "VIEWER", "GUEST", "CONNECT"]);
});

Deno.test("Duplicate roles are removed, and the others keep their order", () => {
  expect(parseRoles("GUEST,admin,guest,ADMIN,VIEWER")).toEqual(["GUEST", "ADMIN", "VIEWER"]);
});

Deno.test("Blank text is parsed as an empty list of roles", () => {
  expect(parseRoles("  \t")).toEqual([]);
});

Deno.test("An extra comma in a list of roles is rejected", () => {
  for (const list of ["ADMIN,", ",ADMIN", "ADMIN, ,GUEST", ","]) {
    expect(rejectionOf(list)).toBe("The list of roles contains an empty item. Remove the extra comma.");
  }
});

Deno.test("The message for an unknown role shows it, suggests the nearest role and lists all valid roles", () => {
  expect(rejectionOf("GUEST,amdin")).toBe(
    '"amdin" is not a role. Did you mean ADMIN? The roles are ADMIN, CONNECT, VIEWER, GUEST.',
  );
});

Deno.test("A permission in a list of roles is rejected, and the message names --permissions", () => {
  expect(rejectionOf("DOCKER:READ_ANY")).toBe(
    '"DOCKER:READ_ANY" is a permission, not a role. Pass it with --permissions.',
  );
});

Deno.test("If one letter of a role is missing, the message suggests that role", () => {
  for (const role of SPEC_ROLES) {
    for (let i = 0; i < role.length; i++) {
      const typo = `${role.slice(0, i)}${role.slice(i + 1)}`;
      expect(rejectionOf(typo)).toContain(`${JSON.stringify(typo)} is not a role. Did you mean ${role}?`);
    }
  }
});

Deno.test("The message for a long role with control characters is short and contains no control characters", () => {
  const message = rejectionOf(`\x1b[2J${"x".repeat(100_000)}`);
  expect(message.length).toBeLessThan(300);
  expect(message).not.toContain("\x1b");
});

Deno.test("Every list of different roles, joined with commas, parses to itself", () => {
  fc.assert(fc.property(anyRoles, (roles) => expect(parseRoles(roles.join(","))).toEqual(roles)));
});

Deno.test("One invalid role makes the whole list invalid", () => {
  const anyInvalid = fc.oneof(
    fc.constantFrom("ADMIN VIEWER", "ADMIN;VIEWER", "ADMINS", '"ADMIN"', "adm\u0131n", "*"),
    fc.string({ unit: "binary" }).filter((text) =>
      !text.includes(",") && text.trim() !== "" && !SPEC_ROLES.includes(text.trim().toUpperCase())
    ),
  );
  fc.assert(fc.property(anyRoles, anyInvalid, anyRoles, (before, invalid, after) => {
    rejectionOf([...before, invalid, ...after].join(","));
  }));
});
