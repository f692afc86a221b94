/** The minimum GraphQL schema of a server with these API keys. A server may have more types and fields. */

export interface Enums {
  readonly roles: readonly string[];
  readonly resources: readonly string[];
  readonly actions: readonly string[];
}

/** The schema as SDL, with these members in its enums. */
export function contractSdl({ roles, resources, actions }: Enums): string {
  return `
scalar PrefixedID
enum Role { ${roles.join(" ")} }
enum Resource { ${resources.join(" ")} }
enum AuthAction { ${actions.join(" ")} }
type Permission { resource: Resource!  actions: [AuthAction!]! }
type ApiKey { id: PrefixedID!  key: String!  name: String!  description: String
              roles: [Role!]!  permissions: [Permission!]!  createdAt: String! }
input AddPermissionInput { resource: Resource!  actions: [AuthAction!]! }
input CreateApiKeyInput { name: String!  description: String  roles: [Role!]
                          permissions: [AddPermissionInput!]  overwrite: Boolean }
input DeleteApiKeyInput { ids: [PrefixedID!]! }
type ApiKeyMutations { create(input: CreateApiKeyInput!): ApiKey!  delete(input: DeleteApiKeyInput!): Boolean! }
type Query { apiKeys: [ApiKey!]!  apiKey(id: PrefixedID!): ApiKey }
type Mutation { apiKey: ApiKeyMutations! }
`;
}
