/** The embedded server as its callers see it: requests in, answers out, with no network between. */
import * as v from "valibot";
import type { KeyStore } from "../../../src/store/key_store.ts";
import type { StoredKey } from "../../../src/store/stored_key.ts";
import { hashSecret } from "../../../src/apikey/secret.ts";
import { LOCAL_CALLER } from "../../../src/server/auth/caller.ts";
import { createGraphqlHandler, type HandlerOptions } from "../../../src/server/graphql/handler.ts";
import { DEFAULT_LIMITS } from "../../../src/server/graphql/limits.ts";
import { asFetch } from "../../../src/server/open_server.ts";
import { withNewStore } from "../../store/temporary_store.ts";

export const URL_OF_GRAPHQL = "http://127.0.0.1/graphql";

/** A fixed clock. */
export const NOW = new Date("2026-02-03T04:05:06.789Z");

/** The server, as a function from request to response. */
export type Handler = (request: Request) => Promise<Response>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly text: string;
  /** `data` of the body. */
  readonly data: unknown;
  readonly messages: readonly string[];
  /** `extensions.code` of the errors; `undefined` for an error without one. */
  readonly codes: readonly (string | undefined)[];
}

const body = v.object({
  data: v.optional(v.unknown()),
  errors: v.optional(v.array(v.object({
    message: v.string(),
    extensions: v.optional(v.object({ code: v.optional(v.string()) })),
  }))),
});

const key = v.object({
  id: v.string(),
  key: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  roles: v.array(v.string()),
  permissions: v.array(v.object({ resource: v.string(), actions: v.array(v.string()) })),
  createdAt: v.string(),
});

/** `ApiKey` of the contract. */
export type ShownKey = v.InferOutput<typeof key>;

const created = v.object({ apiKey: v.object({ create: key }) });
const listed = v.object({ apiKeys: v.array(key) });
const shown = v.object({ apiKey: v.nullable(key) });

const FIELDS = "{ id key name description roles permissions { resource actions } createdAt }";

export const CREATE = `mutation ($input: CreateApiKeyInput!) { apiKey { create(input: $input) ${FIELDS} } }`;
export const DELETE = "mutation ($ids: [PrefixedID!]!) { apiKey { delete(input: { ids: $ids }) } }";
export const LIST = `{ apiKeys ${FIELDS} }`;
export const READ = `query ($id: PrefixedID!) { apiKey(id: $id) ${FIELDS} }`;

/** Sends a request and reads the answer. */
export async function send(handler: Handler, request: Request): Promise<Answer> {
  const response = await handler(request);
  const text = await response.text();
  const { data, errors = [] } = text === "" ? {} : v.parse(body, JSON.parse(text));
  return {
    status: response.status,
    headers: response.headers,
    text,
    data,
    messages: errors.map(({ message }) => message),
    codes: errors.map(({ extensions }) => extensions?.code),
  };
}

/** Sends a GraphQL operation, with `secret` as the bearer key if there is one, and other headers. */
export function ask(
  handler: Handler,
  query: string,
  variables?: Readonly<Record<string, unknown>>,
  secret?: string,
  others: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const headers = new Headers({ "content-type": "application/json", ...others });
  if (secret !== undefined) headers.set("authorization", `Bearer ${secret}`);
  return send(
    handler,
    new Request(URL_OF_GRAPHQL, { method: "POST", headers, body: JSON.stringify({ query, variables }) }),
  );
}

/** `CreateApiKeyInput`, as loosely as a caller may fill it. */
export type CreateInput = Readonly<Record<string, unknown>>;

/** The key in an answer to {@linkcode CREATE}. */
export function createdKey(answer: Answer): ShownKey {
  if (answer.messages.length > 0) throw new Error(answer.messages.join("; "));
  return v.parse(created, answer.data).apiKey.create;
}

/** The keys in an answer to {@linkcode LIST}. */
export function listedKeys(answer: Answer): readonly ShownKey[] {
  return v.parse(listed, answer.data).apiKeys;
}

/** The key in an answer to {@linkcode READ}. */
export function readKey(answer: Answer): ShownKey | null {
  return v.parse(shown, answer.data).apiKey;
}

/** Permissions in the shape that `CreateApiKeyInput` has for them, one group a pair. */
export function asInput(
  permissions: readonly string[],
): readonly { readonly resource: string | undefined; readonly actions: readonly (string | undefined)[] }[] {
  return permissions.map((permission) => {
    const [resource, action] = permission.split(":");
    return { resource, actions: [action] };
  });
}

/** Every key of a store. */
export function keysIn(store: KeyStore): Promise<readonly StoredKey[]> {
  return Array.fromAsync(store.list());
}

/** What errors the server told its log of. */
export type ErrorLog = readonly { readonly message: string; readonly properties: Record<string, unknown> }[];

/** A handler over a store. */
export interface TestServer {
  readonly store: KeyStore;
  /** The server as it is on the network: everybody needs a key. */
  readonly network: Handler;
  /** The server as it is inside the program: who has no key is the local caller. */
  readonly local: Handler;
  readonly errorLog: ErrorLog;
  /** Makes a key as the local caller. */
  readonly create: (input: CreateInput) => Promise<ShownKey>;
  /** Makes a key with just these permissions. */
  readonly keyWith: (...permissions: readonly string[]) => Promise<ShownKey>;
}

/** A handler over any store, for requests that nothing is held against. */
export function handlerOver(
  options: Pick<HandlerOptions, "store" | "now" | "logError"> & Partial<HandlerOptions>,
): Handler {
  return asFetch(
    createGraphqlHandler({
      hashSecret: async (secret) => (await hashSecret(secret)).toHex(),
      maxAuthFailures: 0,
      limits: DEFAULT_LIMITS,
      ...options,
    }).answer,
  );
}

/** The server over any store. */
export function serverOver(store: KeyStore): TestServer {
  const errorLog: { message: string; properties: Record<string, unknown> }[] = [];
  const options = {
    store,
    now: () => NOW,
    logError: (message: string, properties: Record<string, unknown>) => {
      errorLog.push({ message, properties });
    },
  };
  const local = handlerOver({ ...options, anonymous: LOCAL_CALLER });
  const create = async (input: CreateInput): Promise<ShownKey> => createdKey(await ask(local, CREATE, { input }));
  let made = 0;
  return {
    store,
    network: handlerOver(options),
    local,
    errorLog,
    create,
    keyWith: (...permissions) => create({ name: `key with ${made++}`, permissions: asInput(permissions) }),
  };
}

/** Runs a test on a new server over a new store. */
export function withServer(test: (server: TestServer) => Promise<void>): Promise<void> {
  return withNewStore((store) => test(serverOver(store)));
}
