/** Spec section 2, "Permission pair format", and how a list of pairs is read and grouped. */
import { expect } from "expect";
import fc from "fast-check";
import {
  type Action,
  ACTIONS,
  groupByResource,
  parsePermissions,
  type Permission,
  type Resource,
  RESOURCES,
  ungroup,
} from "../../src/apikey/permission.ts";
import { failureOf } from "./failure_of.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES } from "./rights_by_design.ts";

const anyPermission = fc.tuple(fc.constantFrom<Resource>(...RESOURCES), fc.constantFrom<Action>(...ACTIONS))
  .map(([resource, action]): Permission => `${resource}:${action}`);
const anyPermissions = fc.uniqueArray(anyPermission, { maxLength: 60 });

/** The message of the refusal, once its code is checked. */
function refusalOf(list: string): string {
  const { code, message } = failureOf(() => parsePermissions(list));
  expect([list, code]).toEqual([list, "INVALID_PERMISSION"]);
  return message;
}

Deno.test("The resources and actions are those of the specification", () => {
  expect([...RESOURCES].toSorted()).toEqual(SPEC_RESOURCES.toSorted());
  expect([...ACTIONS].toSorted()).toEqual(SPEC_ACTIONS.toSorted());
});

Deno.test("Every pair of the specification is accepted", () => {
  const pairs = SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));
  expect(parsePermissions(pairs.join(","))).toEqual(pairs);
});

Deno.test("Resources and actions are accepted in any case", () => {
  expect(parsePermissions("docker:read_any,Connect__Remote_Access:Update_Own")).toEqual([
    "DOCKER:READ_ANY",
    "CONNECT__REMOTE_ACCESS:UPDATE_OWN",
  ]);
});

Deno.test("Spaces around the commas of permissions do not matter", () => {
  expect(parsePermissions(" DOCKER:READ_ANY ,\tVMS:READ_OWN ")).toEqual(["DOCKER:READ_ANY", "VMS:READ_OWN"]);
});

Deno.test("A permission given twice counts once, in the place of its first appearance", () => {
  expect(parsePermissions("VMS:READ_OWN,docker:read_any,vms:read_own,DOCKER:READ_ANY")).toEqual([
    "VMS:READ_OWN",
    "DOCKER:READ_ANY",
  ]);
});

Deno.test("A blank list of permissions is the empty list", () => {
  expect(parsePermissions("")).toEqual([]);
  expect(parsePermissions(" \t ")).toEqual([]);
});

Deno.test("A comma too many in a list of permissions is refused", () => {
  for (const list of ["DOCKER:READ_ANY,", ",DOCKER:READ_ANY", "DOCKER:READ_ANY,,VMS:READ_ANY", ",", " , "]) {
    expect(refusalOf(list)).toContain("comma");
  }
});

Deno.test("What is not of the form RESOURCE:ACTION is refused, and the message says so", () => {
  for (const wrong of ["DOCKER", "DOCKER:", ":READ_ANY", ":", "DOCKER:READ_ANY:X", "DOCKER::READ_ANY", "READ_ANY"]) {
    const message = refusalOf(`VMS:READ_ANY,${wrong}`);
    expect(message).toContain(JSON.stringify(wrong));
    expect(message).toContain("RESOURCE:ACTION");
  }
});

Deno.test("An unknown resource is named, with the nearest permission there is", () => {
  const message = refusalOf("VMS:READ_ANY,DOCKR:READ_ANY");
  expect(message).toContain('no resource "DOCKR"');
  expect(message).toContain("did you mean DOCKER:READ_ANY?");
  expect(message).toContain("apikey --help");
});

Deno.test("An unknown action is named, with the nearest permission there is", () => {
  const message = refusalOf("DOCKER:FLY");
  expect(message).toContain('no action "FLY"');
  expect(message).toContain('"DOCKER:FLY"');
  expect(message).toMatch(/did you mean DOCKER:[A-Z]+_(ANY|OWN)\?/);
  expect(refusalOf("docker:raed_any")).toContain("did you mean DOCKER:READ_ANY?");
});

Deno.test("Things that only look like permissions are refused", () => {
  for (
    const wrong of ["*:READ_ANY", "DOCKER:*", "DOCKER:READ", "DOCKER=READ_ANY", "DOCKER.READ_ANY", "DOC KER:READ_ANY"]
  ) {
    expect(refusalOf(wrong)).toContain(JSON.stringify(wrong));
  }
});

Deno.test("A resource that lacks one letter is recognized", () => {
  for (const resource of SPEC_RESOURCES.filter((word) => word.length > 4)) {
    for (let i = 0; i < resource.length; i++) {
      const typo = `${resource.slice(0, i)}${resource.slice(i + 1)}`;
      expect(refusalOf(`${typo}:READ_OWN`)).toContain(`did you mean ${resource}:READ_OWN?`);
    }
  }
});

Deno.test("A resource with two neighbouring letters swapped is recognized", () => {
  for (const resource of SPEC_RESOURCES) {
    for (let i = 0; i + 1 < resource.length; i++) {
      const typo = `${resource.slice(0, i)}${resource[i + 1]}${resource[i]}${resource.slice(i + 2)}`;
      if (typo === resource) continue;
      expect(refusalOf(`${typo}:READ_OWN`)).toContain(`did you mean ${resource}:READ_OWN?`);
    }
  }
});

Deno.test("A refused permission that is long or full of control characters makes a short, harmless message", () => {
  const message = refusalOf(`DOCKER:\x1b[2J${"\n".repeat(100_000)}x`);
  expect(message.length).toBeLessThan(1_500);
  expect(message).not.toContain("\x1b");
  expect(message).not.toContain("\n");
});

Deno.test("Any list of permissions, joined with commas and read again, is the same list", () => {
  fc.assert(fc.property(anyPermissions, (permissions) => {
    expect(parsePermissions(permissions.join(","))).toEqual(permissions);
  }));
});

Deno.test("Any list of permissions, grouped by resource and ungrouped, holds the same permissions", () => {
  fc.assert(fc.property(anyPermissions, (permissions) => {
    const back = ungroup(groupByResource(permissions));
    expect(new Set(back)).toEqual(new Set(permissions));
    expect(back.length).toBe(permissions.length);
    expect(ungroup(groupByResource(back))).toEqual(back);
  }));
});

Deno.test("Grouping names each resource once and keeps the order of first appearance", () => {
  fc.assert(fc.property(anyPermissions, (permissions) => {
    const groups = groupByResource(permissions);
    expect(groups.map(({ resource }) => String(resource))).toEqual([
      ...new Set(permissions.map((permission) => permission.replace(/:.*/, ""))),
    ]);
    for (const { resource, actions } of groups) {
      const ofResource = permissions.filter((permission) => permission.startsWith(`${resource}:`));
      expect(actions.map((action) => `${resource}:${action}`)).toEqual(ofResource);
    }
  }));
});

Deno.test("Groups that name a resource or an action twice ungroup to each pair once", () => {
  expect(ungroup([
    { resource: "VMS", actions: ["READ_ANY", "READ_ANY"] },
    { resource: "DOCKER", actions: ["READ_OWN"] },
    { resource: "VMS", actions: ["DELETE_OWN", "READ_ANY"] },
    { resource: "LOGS", actions: [] },
  ])).toEqual(["VMS:READ_ANY", "DOCKER:READ_OWN", "VMS:DELETE_OWN"]);
});

Deno.test("a role among the permissions is told where it belongs", () => {
  expect(refusalOf("viewer")).toBe('"viewer" is a role, not a permission: give it with --roles.');
});

Deno.test("an action and a resource in the wrong order are suggested in the right one", () => {
  expect(refusalOf("UPDATE_ANY:VMS")).toContain("did you mean VMS:UPDATE_ANY?");
});
