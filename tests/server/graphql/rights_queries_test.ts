/** The queries about roles, permissions and the rights that they grant. */
import { expect } from "expect";
import * as z from "zod";
import { rightsByDesign, SPEC_ACTIONS, SPEC_RESOURCES, SPEC_ROLES } from "../../apikey/rights_by_design.ts";
import { post, toInput, withServer } from "./graphql.ts";

const groups = z.array(z.object({ resource: z.string(), actions: z.array(z.string()) }));

/** Sends a query and returns the permissions in its only field as `RESOURCE:ACTION` pairs. */
function permissionsIn(data: unknown): readonly string[] {
  return Object.values(z.record(z.string(), groups).parse(data)).flat().flatMap(({ resource, actions }) =>
    actions.map((action) => `${resource}:${action}`)
  );
}

Deno.test("apiKeyPossibleRoles, apiKeyPossiblePermissions and getAvailableAuthActions list everything in the specification", () =>
  withServer(async ({ local }) => {
    const { data } = await post(local, "{ apiKeyPossibleRoles getAvailableAuthActions }");
    expect(data).toEqual({ apiKeyPossibleRoles: SPEC_ROLES, getAvailableAuthActions: SPEC_ACTIONS });
    const all = await post(local, "{ apiKeyPossiblePermissions { resource actions } }");
    expect(permissionsIn(all.data)).toEqual(
      SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`)),
    );
  }));

Deno.test("getPermissionsForRoles and previewEffectivePermissions list the rights that a key would have", () =>
  withServer(async ({ local }) => {
    for (const role of SPEC_ROLES) {
      // deno-lint-ignore no-await-in-loop -- four queries
      const { data } = await post(local, `{ getPermissionsForRoles(roles: [${role}]) { resource actions } }`);
      expect([role, new Set(permissionsIn(data))]).toEqual([role, rightsByDesign([role], [])]);
    }
    const permissions = ["DOCKER:UPDATE_ANY", "VMS:READ_OWN"];
    const preview = `query ($roles: [Role!], $permissions: [AddPermissionInput!]) {
      previewEffectivePermissions(roles: $roles, permissions: $permissions) { resource actions }
    }`;
    const { data } = await post(local, preview, { roles: ["GUEST"], permissions: toInput(permissions) });
    expect(new Set(permissionsIn(data))).toEqual(rightsByDesign(["GUEST"], permissions));
    expect((await post(local, preview)).data).toEqual({ previewEffectivePermissions: [] });
  }));
