/** Servers for tests: one sends the responses that the test defines, and one has only the schema of `tests/contract.ts`. */
import { buildSchema, graphql } from "graphql";
import { ROLES } from "../../src/apikey/role.ts";
import { contractSdl } from "../contract.ts";

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  /** The requests received so far, in order. */
  readonly requests: readonly ReceivedRequest[];
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Starts a server on a free port of 127.0.0.1. It answers each request with the result of `answer`. */
export function startServer(
  answer: (request: ReceivedRequest) => Response | Promise<Response>,
  tls: { readonly cert?: string; readonly key?: string } = {},
): TestServer {
  const requests: ReceivedRequest[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls }, async (request) => {
    const { method, headers } = request;
    const received = { method, path: new URL(request.url).pathname, headers, body: await request.text() };
    requests.push(received);
    return await answer(received);
  });
  return {
    url: `${tls.cert === undefined ? "http://127.0.0.1" : "https://localhost"}:${server.addr.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export interface ForeignKey {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly roles?: readonly string[];
  readonly permissions?: readonly { readonly resource: string; readonly actions: readonly string[] }[];
}

/** The fields of a key that tests do not set. */
const DETAILS = { roles: ["GUEST"], permissions: [], createdAt: "2026-01-02T03:04:05.000Z" };

interface CreateArguments {
  readonly input: { readonly name: string };
}

/** The mutation with which most servers update keys. */
const UPDATE_SDL = `
input UpdateApiKeyInput { id: PrefixedID!  name: String  description: String
                          roles: [Role!]  permissions: [AddPermissionInput!] }
extend type ApiKeyMutations { update(input: UpdateApiKeyInput!): ApiKey! }
`;

interface UpdateArguments {
  readonly input: Partial<ForeignKey>;
}

/**
 * Starts a server that has only the schema of `tests/contract.ts`. If a name is taken, `create` returns the existing key.
 *
 * @param update if it is set, the server has the mutation `update`, which replaces the given members of a key. The
 * function gets the updated key and returns the key that the server stores and answers with.
 */
export function startForeignServer(
  existing: readonly ForeignKey[],
  { update }: { readonly update?: (key: ForeignKey) => ForeignKey } = {},
): TestServer & { readonly keys: ForeignKey[] } {
  const keys = existing.map((key): ForeignKey => ({ ...DETAILS, ...key }));
  const sdl = contractSdl({ roles: ROLES, resources: ["DOCKER"], actions: ["READ_ANY", "UPDATE_ANY"] });
  const schema = buildSchema(update === undefined ? sdl : `${sdl}${UPDATE_SDL}`);
  const create = ({ input: { name } }: CreateArguments): ForeignKey => {
    const known = keys.find((key) => key.name === name);
    if (known !== undefined) return known;
    const made = { id: `foreign:${crypto.randomUUID()}`, name, key: crypto.randomUUID(), ...DETAILS };
    keys.push(made);
    return made;
  };
  const remove = ({ input: { ids } }: { readonly input: { readonly ids: readonly string[] } }): boolean => {
    keys.splice(0, keys.length, ...keys.filter(({ id }) => !ids.includes(id)));
    return true;
  };
  const change = ({ input }: UpdateArguments): ForeignKey => {
    const index = keys.findIndex(({ id }) => id === input.id);
    const key = keys[index];
    if (key === undefined || update === undefined) throw new Error("API key not found");
    return keys[index] = update({ ...key, ...input });
  };
  const server = startServer(async ({ body }) => {
    const { query, variables } = JSON.parse(body);
    const mutations = { create, delete: remove, update: change };
    const rootValue = {
      apiKeys: () => keys,
      // The query has an argument, and the mutation has none.
      apiKey: ({ id }: { readonly id?: string }) => id === undefined ? mutations : keys.find((key) => key.id === id),
    };
    return Response.json(await graphql({ schema, source: query, variableValues: variables, rootValue }));
  });
  return { ...server, keys };
}
