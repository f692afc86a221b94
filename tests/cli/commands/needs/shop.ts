/** A schema that states permissions, as a server other than the embedded one could publish it. */
import { buildSchema, graphql, introspectionFromSchema } from "graphql";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";

const SHOP = `
  scalar PrefixedID
  enum Role { ADMIN GUEST }
  enum Resource { API_KEY ORDERS DOCKER }
  enum AuthAction { READ_ANY CREATE_ANY }
  interface Node { id: ID!  owner: Owner }
  type Owner { id: ID! }
  type Order implements Node { id: ID!  owner: Owner  lines: [String!]! @needs(READ_ANY, ORDERS) }
  type Container implements Node { id: ID!  owner: Owner @needs(READ_ANY, DOCKER)  logs: String @needs(READ_ANY, LOGS) }
  union Hit = Order | Container
  input AddPermissionInput { resource: Resource!  actions: [AuthAction!]! }
  input CreateApiKeyInput { name: String!  roles: [Role!]  permissions: [AddPermissionInput!]  overwrite: Boolean }
  input UpdateApiKeyInput { id: PrefixedID!  roles: [Role!]  enabled: Boolean  managedBy: String }
  input AddRoleForApiKeyInput { apiKeyId: PrefixedID!  role: Role! }
  input RotateApiKeyInput { id: PrefixedID }
  type ApiKey { id: PrefixedID!  name: String! }
  type ApiKeyMutations {
    create(input: CreateApiKeyInput!): ApiKey! @needs(CREATE_ANY, API_KEY)
    update(input: UpdateApiKeyInput!): ApiKey! @needs(UPDATE_ANY, API_KEY)
    addRole(input: AddRoleForApiKeyInput!): Boolean! @needs(UPDATE_ANY, API_KEY)
    rotate(input: RotateApiKeyInput!): ApiKey! @needs(UPDATE_ANY, API_KEY)
    ping: Boolean!
  }
  type Query {
    apiKeys: [ApiKey!]! @needs(READ_ANY, API_KEY)
    orders: [Order!]! @needs(READ_ANY, ORDERS)
    node(id: ID, old: Int @deprecated): Node
    search: [Hit!]!
    me: ApiKey
    version: String!
  }
  type Mutation { apiKey: ApiKeyMutations! }
  type Subscription { changes: ApiKey @needs(READ_ANY, LOGS) }
`;

/** The schema as SDL with `@usePermissions`, without a definition of this directive. */
export const SHOP_SDL = SHOP.replaceAll(
  /@needs\((\w+), (\w+)\)/g,
  '@usePermissions(action: "$1", resource: "$2")',
);

const SECTION = `#### Required Permissions:

- Action: **$3**
- Resource: **$4**

#### Description:

Not this one:
#### Required Permissions:
- Action: **DELETE_ANY**
- Resource: **FLASH**`;

/** The schema with permissions only in descriptions, as introspection shows it. */
const DESCRIBED = buildSchema(
  SHOP.replaceAll(/(\w+(?:\([^()]*\))?): (\S+) @needs\((\w+), (\w+)\)/g, `"""${SECTION}"""\n$1: $2`),
);

/** The result of an introspection query, as JSON. */
export const SHOP_INTROSPECTION = JSON.stringify({ data: introspectionFromSchema(DESCRIBED) });

/** Starts a server that answers only introspection. */
export function startShop(schema = DESCRIBED): TestServer {
  return startServer(async ({ body }) => Response.json(await graphql({ schema, source: JSON.parse(body).query })));
}
