/** A test server whose roles grant other rights than those of the embedded server. */
import { buildSchema, graphql } from "graphql";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import { ROLES } from "../../src/apikey/role.ts";
import { contractSdl } from "../contract.ts";
import { startServer, type TestServer } from "./foreign_server.ts";

/** A resource that only this server has. */
const OTHER_RESOURCE = "PLUGINS";

interface Group {
  readonly resource: string;
  readonly actions: readonly string[];
}

const VIEWER: readonly Group[] = [...RESOURCES, OTHER_RESOURCE].filter((resource) => resource !== "API_KEY").map(
  (resource) => ({ resource, actions: ["READ_ANY"] }),
);

/** What each role grants. An `_ANY` permission does not include the `_OWN` permission. */
const GRANTS: Readonly<Record<string, readonly Group[]>> = {
  ADMIN: [...RESOURCES, OTHER_RESOURCE].map((resource) => ({
    resource,
    actions: ACTIONS.filter((action) => action.endsWith("_ANY")),
  })),
  VIEWER,
  CONNECT: [...VIEWER, { resource: "CONNECT__REMOTE_ACCESS", actions: ["UPDATE_ANY"] }],
  GUEST: [{ resource: "ME", actions: ["READ_ANY"] }],
};

interface Given {
  readonly roles?: readonly string[];
  readonly permissions?: readonly Group[];
}

const QUERIES = {
  previewEffectivePermissions:
    "extend type Query { previewEffectivePermissions(roles: [Role!], permissions: [AddPermissionInput!]): [Permission!]! }",
  getPermissionsForRoles: "extend type Query { getPermissionsForRoles(roles: [Role!]!): [Permission!]! }",
};

/**
 * Starts the server with only some of the queries for rights. At first, it has no keys. It creates one key, with the id
 * `1` and the secret `fresh`.
 */
export function startServerWithOtherRoles(queries: readonly (keyof typeof QUERIES)[]): TestServer {
  const enums = { roles: ROLES, resources: [...RESOURCES, OTHER_RESOURCE], actions: ACTIONS };
  const schema = buildSchema(contractSdl(enums) + queries.map((query) => QUERIES[query]).join("\n"));
  const grantsOf = ({ roles = [], permissions = [] }: Given): readonly Group[] => [
    ...roles.flatMap((role) => GRANTS[role] ?? []),
    ...permissions,
  ];
  const keys: unknown[] = [];
  const rootValue = {
    apiKeys: keys,
    apiKey: {
      create: ({ input }: { readonly input: { readonly name: string } }) => {
        const key = { ...input, id: "1", key: "fresh", createdAt: "2026-01-01T00:00:00Z" };
        keys.push(key);
        return key;
      },
    },
    previewEffectivePermissions: grantsOf,
    getPermissionsForRoles: grantsOf,
  };
  return startServer(async ({ body }) => {
    const { query, variables } = JSON.parse(body);
    return Response.json(await graphql({ schema, source: query, variableValues: variables, rootValue }));
  });
}
