/** Permissions (spec section 2, "Permission pair format"): how lists of them are parsed and grouped. */
import { expect } from "expect";
import fc from "fast-check";
import {
  type Action,
  ACTIONS,
  groupByResource,
  OWN_RESOURCES,
  parsePermissionsOf,
  type Permission,
  type Resource,
  RESOURCES,
  ungroup,
} from "../../src/apikey/permission.ts";
import { failureOf } from "./failure_of.ts";
import { UnknownName } from "../../src/apikey/unknown_name.ts";
import { SPEC_ACTIONS, SPEC_RESOURCES } from "./rights_by_design.ts";

const anyPermission = fc.tuple(fc.constantFrom<Resource>(...RESOURCES), fc.constantFrom<Action>(...ACTIONS))
  .map(([resource, action]): Permission => `${resource}:${action}`);
const anyPermissions = fc.uniqueArray(anyPermission, { maxLength: 60 });

function parsePermissions(list: string): readonly Permission[] {
  return parsePermissionsOf(OWN_RESOURCES, [list]);
}

/** Returns the message for an invalid list. Checks that the failure has the code `INVALID_PERMISSION`. */
function rejectionOf(list: string): string {
  const { code, message } = failureOf(() => parsePermissions(list));
  expect([list, code]).toEqual([list, "INVALID_PERMISSION"]);
  return message;
}

Deno.test("The resources and actions are those of the specification, and every pair of a resource and an action is valid", () => {
  expect([...RESOURCES].toSorted()).toEqual(SPEC_RESOURCES.toSorted());
  expect([...ACTIONS].toSorted()).toEqual(SPEC_ACTIONS.toSorted());
  const pairs = SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));
  expect(parsePermissions(pairs.join(","))).toEqual(pairs);
});

Deno.test("Permissions may be in upper or lower case, with spaces around commas", () => {
  expect(parsePermissions(" docker:read_any ,\tConnect__Remote_Access:Update_Own ")).toEqual([
    "DOCKER:READ_ANY",
    "CONNECT__REMOTE_ACCESS:UPDATE_OWN",
  ]);
});

Deno.test("Duplicate permissions are removed, and the others keep their order", () => {
  expect(parsePermissions("VMS:READ_OWN,docker:read_any,vms:read_own,DOCKER:READ_ANY")).toEqual([
    "VMS:READ_OWN",
    "DOCKER:READ_ANY",
  ]);
});

Deno.test("Blank text is parsed as an empty list of permissions", () => {
  expect(parsePermissions(" \t ")).toEqual([]);
});

Deno.test("An extra comma in a list of permissions is rejected", () => {
  for (const list of ["DOCKER:READ_ANY,", ",DOCKER:READ_ANY", "DOCKER:READ_ANY,,VMS:READ_ANY", ","]) {
    expect(rejectionOf(list)).toBe("The list of permissions contains an empty item. Remove the extra comma.");
  }
});

Deno.test("A permission that does not have the form RESOURCE:ACTION is rejected", () => {
  for (const invalid of ["DOCKER", "DOCKER:", ":READ_ANY", ":", "DOCKER:READ_ANY:X", "DOCKER::READ_ANY"]) {
    expect(rejectionOf(`VMS:READ_ANY,${invalid}`)).toContain(
      `${JSON.stringify(invalid)} does not have the form RESOURCE:ACTION. `,
    );
  }
});

Deno.test("The message for an unknown resource suggests the nearest resource and says how to list the valid words", () => {
  expect(rejectionOf("VMS:READ_ANY,DOCKR:READ_ANY")).toBe(
    '"DOCKR" in "DOCKR:READ_ANY" is not a resource. Did you mean DOCKER? ' +
      'To list the resources, run "service-api help rights" and "service-api resource list".',
  );
});

Deno.test("The message for a pair with a missing part gives an example", () => {
  expect(rejectionOf("dockr")).toContain(" An example is DOCKER:READ_ANY. ");
  expect(rejectionOf(":update_any")).toContain(" An example is DOCKER:UPDATE_ANY. ");
  expect(rejectionOf("VMS:READ_ANY:X")).toContain(" Did you mean VMS:READ_ANY? ");
});

Deno.test("The message for a resource that is like no other suggests none", () => {
  expect(rejectionOf("KUBERNETES:READ_ANY")).toBe(
    '"KUBERNETES" in "KUBERNETES:READ_ANY" is not a resource. ' +
      'To list the resources, run "service-api help rights" and "service-api resource list".',
  );
});

Deno.test("The message for an unknown action suggests the nearest action, or lists the actions if none is near", () => {
  expect(rejectionOf("DOCKER:FLY")).toBe(
    '"FLY" in "DOCKER:FLY" is not an action. The actions are CREATE_ANY, CREATE_OWN, READ_ANY, READ_OWN, ' +
      'UPDATE_ANY, UPDATE_OWN, DELETE_ANY, DELETE_OWN. To list the resources and actions, run "service-api help rights".',
  );
  expect(rejectionOf("docker:raed_any")).toContain(
    '"raed_any" in "docker:raed_any" is not an action. Did you mean READ_ANY?',
  );
});

Deno.test("If the action is unknown, the message does not call the resource unknown, because the server may know it", () => {
  expect(rejectionOf("GPU:REED_ANY")).toMatch(
    /^"REED_ANY" in "GPU:REED_ANY" is not an action\. Did you mean READ_ANY\? /,
  );
});

Deno.test("If an action comes before its resource, the message suggests the right order", () => {
  expect(rejectionOf("UPDATE_ANY:VMS")).toContain("Did you mean VMS:UPDATE_ANY?");
});

Deno.test("A role in a list of permissions is rejected, and the message names --roles", () => {
  expect(rejectionOf("viewer")).toBe('"viewer" is a role, not a permission. Pass it with --roles.');
});

Deno.test("If two adjacent letters of a resource with more than two letters are swapped, or one letter of a long resource is missing, the message suggests that resource", () => {
  for (const resource of SPEC_RESOURCES.filter(({ length }) => length > 2)) {
    for (let i = 0; i < resource.length; i++) {
      const [start, end] = [resource.slice(0, i), resource.slice(i + 2)];
      const typos = [
        ...(resource.length > 4 ? [resource.slice(0, i) + resource.slice(i + 1)] : []),
        ...(i + 1 < resource.length ? [`${start}${resource[i + 1]}${resource[i]}${end}`] : []),
      ];
      for (const typo of typos.filter((word) => word !== resource)) {
        expect(rejectionOf(`${typo}:READ_OWN`)).toContain(`Did you mean ${resource}?`);
      }
    }
  }
});

Deno.test("The message for a long permission with control characters is short and contains no control characters", () => {
  const message = rejectionOf(`DOCKER:\x1b[2J${"\n".repeat(100_000)}x`);
  expect(message.length).toBeLessThan(1_500);
  expect(message).not.toContain("\x1b");
  expect(message).not.toContain("\n");
});

const SERVER = { names: ["DOCKER", "VMS", "GPU"], every: ["DOCKER", "GPU"] } as const;

Deno.test("In a permission that a user types, * stands for every action, and for every resource of the server", () => {
  const onDocker = SPEC_ACTIONS.map((action) => `DOCKER:${action}`);
  expect(parsePermissionsOf(SERVER, ["docker:*"])).toEqual(onDocker);
  expect(parsePermissionsOf(SERVER, ["* : read_any"])).toEqual(["DOCKER:READ_ANY", "GPU:READ_ANY"]);
  expect(parsePermissionsOf(SERVER, ["*:*"])).toEqual([
    ...onDocker,
    ...SPEC_ACTIONS.map((action) => `GPU:${action}`),
  ]);
});

Deno.test("Several lists of permissions add up, and a permission that a wildcard repeats counts once", () => {
  expect(parsePermissionsOf(SERVER, ["GPU:READ_ANY,VMS:READ_OWN", "", "*:READ_ANY"])).toEqual([
    "GPU:READ_ANY",
    "VMS:READ_OWN",
    "DOCKER:READ_ANY",
  ]);
});

Deno.test("A wildcard for all resources cannot be expanded before the server has listed them, but one for all actions can", () => {
  const known = { ...SERVER, every: undefined };
  expect(failureOf(() => parsePermissionsOf(known, ["*:READ_ANY"]))).toBeInstanceOf(UnknownName);
  expect(parsePermissionsOf(known, ["VMS:*"])).toHaveLength(8);
});

for (
  const [list, message] of [
    ["*", /^"\*" does not have the form RESOURCE:ACTION\. An example is \*:READ_ANY\./],
    ["*:*:*", /^"\*:\*:\*" does not have the form RESOURCE:ACTION\. Did you mean \*:\*\?/],
    ["DOKER:*", /^"DOKER" in "DOKER:\*" is not a resource\. Did you mean DOCKER\?/],
    ["*:REED_ANY", /^"REED_ANY" in "\*:REED_ANY" is not an action\. Did you mean READ_ANY\?/],
    ["DOCK*:READ_ANY", /^"DOCK\*" in "DOCK\*:READ_ANY" is not a resource\. Did you mean DOCKER\?/],
    ["READ_ANY:*", /Did you mean \*:READ_ANY\?/],
  ] as const
) {
  Deno.test(`The wildcard ${list} is rejected, and the message suggests a valid one`, () => {
    const { code, message: text } = failureOf(() => parsePermissionsOf(SERVER, [list]));
    expect({ code, text }).toEqual({ code: "INVALID_PERMISSION", text: expect.stringMatching(message) });
  });
}

Deno.test("Every list of different permissions, joined with commas, parses to itself", () => {
  fc.assert(fc.property(anyPermissions, (permissions) => {
    expect(parsePermissions(permissions.join(","))).toEqual(permissions);
  }));
});

Deno.test("Grouping lists each resource once, and keeps the order of the resources and of their actions", () => {
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

Deno.test("Ungrouping returns each permission once, even if groups repeat resources or actions", () => {
  expect(ungroup([
    { resource: "VMS", actions: ["READ_ANY", "READ_ANY"] },
    { resource: "DOCKER", actions: ["READ_OWN"] },
    { resource: "VMS", actions: ["DELETE_OWN", "READ_ANY"] },
    { resource: "LOGS", actions: [] },
  ])).toEqual(["VMS:READ_ANY", "DOCKER:READ_OWN", "VMS:DELETE_OWN"]);
});
