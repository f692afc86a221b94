/** What the client reports about roles and permissions. It asks the server, because the same role differs by server. */
import { expect } from "expect";
import type { Permission } from "../../src/apikey/permission.ts";
import type { Role } from "../../src/apikey/role.ts";
import type { Client } from "../../src/client/client.ts";
import * as z from "zod";
import { rightsByDesign, SPEC_ACTIONS, SPEC_RESOURCES, SPEC_ROLES } from "../apikey/rights_by_design.ts";
import { post, withServer } from "../server/graphql/graphql.ts";
import { clientOver } from "./client_over.ts";
import { startServer, type TestServer } from "./foreign_server.ts";
import { startServerWithOtherRoles } from "./other_roles.ts";

interface KeyRights {
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
}

const CONNECT: KeyRights = { roles: ["CONNECT"], permissions: ["DOCKER:UPDATE_ANY", "DOCKER:READ_OWN", "ME:READ_ANY"] };

/** What the role CONNECT grants on the server with other roles. */
const GRANTED_TO_CONNECT = new Set([
  ...[...SPEC_RESOURCES, "PLUGINS"].filter((resource) => resource !== "API_KEY").map((name) => `${name}:READ_ANY`),
  "CONNECT__REMOTE_ACCESS:UPDATE_ANY",
]);

const EVERY_PERMISSION = SPEC_RESOURCES.flatMap((resource) => SPEC_ACTIONS.map((action) => `${resource}:${action}`));

const ANSWER = z.object({
  getPermissionsForRoles: z.array(z.object({ resource: z.string(), actions: z.array(z.string()) })),
  previewEffectivePermissions: z.array(z.unknown()),
});

function clientOf({ url }: TestServer): Client {
  return clientOver((request) => fetch(request), `${url}/graphql`);
}

for (const queries of [["previewEffectivePermissions"], ["getPermissionsForRoles"]] as const) {
  Deno.test(`the rights of a role are those that the server reports with ${queries.join()}`, async () => {
    await using server = startServerWithOtherRoles(queries);
    expect(await clientOf(server).effectivePermissions(CONNECT)).toEqual({
      roles: ["CONNECT"],
      byRoles: GRANTED_TO_CONNECT,
      byPermissions: new Set(CONNECT.permissions),
    });
  });
}

Deno.test("one request suffices if the server has previewEffectivePermissions", async () => {
  await using server = startServerWithOtherRoles(["previewEffectivePermissions", "getPermissionsForRoles"]);
  await clientOf(server).effectivePermissions(CONNECT);
  expect(server.requests).toHaveLength(1);
});

Deno.test("if the server reports no rights, those of the roles are unknown", async () => {
  await using server = startServerWithOtherRoles([]);
  const client = clientOf(server);
  expect(await client.effectivePermissions(CONNECT)).toEqual({
    roles: ["CONNECT"],
    byRoles: undefined,
    byPermissions: new Set(CONNECT.permissions),
  });
  expect(await client.effectivePermissions({ ...CONNECT, roles: [] })).toEqual({
    roles: [],
    byRoles: new Set(),
    byPermissions: new Set(CONNECT.permissions),
  });
});

const REFUSALS = {
  "that the key lacks a permission": { errors: [{ message: "no", extensions: { code: "FORBIDDEN" } }], data: null },
  "an error without a code": { errors: [{ message: "no" }], data: null },
  "control characters in place of a resource": {
    data: {
      byRoles: [{ resource: "\x1b[2J", actions: ["READ_ANY"] }],
      byPermissions: [],
      getPermissionsForRoles: [{ resource: "\x1b[2J", actions: ["READ_ANY"] }],
    },
  },
  "something else": "hello",
};

for (const [answer, body] of Object.entries(REFUSALS)) {
  Deno.test(`if the server answers with ${answer}, the rights of the roles are unknown, and roles have no description`, async () => {
    await using server = startServer(() => Response.json(body));
    const client = clientOf(server);
    expect((await client.effectivePermissions(CONNECT)).byRoles).toBeUndefined();
    expect(await client.roleDescriptions()).toEqual(new Map());
  });
}

Deno.test("if the server does not accept the key, asking for rights fails", async () => {
  await using server = startServer(() => new Response(null, { status: 401 }));
  await expect(clientOf(server).effectivePermissions(CONNECT)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  await expect(clientOf(server).roleDescriptions()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

Deno.test("roles are described as in the schema of the server", async () => {
  await using server = startServerWithOtherRoles([]);
  expect(await clientOf(server).roleDescriptions()).toEqual(new Map(SPEC_ROLES.map((role) => [role, ""])));
  await withServer(async ({ local }) => {
    expect((await clientOver(local).roleDescriptions()).get("VIEWER")).toBe("Read-only access");
  });
});

for (const role of ["ADMIN", "CONNECT", "VIEWER", "GUEST"] as const) {
  Deno.test(`the embedded server reports the rights of ${role}, and that _ANY includes _OWN`, () =>
    withServer(async ({ local }) => {
      const permissions: readonly Permission[] = ["DOCKER:UPDATE_ANY", "LOGS:READ_OWN"];
      const byRoles = rightsByDesign([role], []);
      expect(await clientOver(local).effectivePermissions({ roles: [role], permissions })).toEqual({
        roles: [role],
        byRoles,
        byPermissions: rightsByDesign([], permissions),
      });
      const { data } = await post(
        local,
        `{ getPermissionsForRoles(roles: [${role}]) { resource actions } previewEffectivePermissions { resource } }`,
      );
      const { getPermissionsForRoles, ...preview } = ANSWER.parse(data);
      expect(
        getPermissionsForRoles.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}`)),
      )
        .toEqual(EVERY_PERMISSION.filter((permission) => byRoles.has(permission)));
      expect(preview).toEqual({ previewEffectivePermissions: [] });
    }));
}
