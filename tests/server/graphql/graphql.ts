/** Runs the GraphQL server inside the test process, without a network, and sends operations to this or another server. */
import * as z from "zod";
import { hashSecret } from "../../../src/apikey/secret.ts";
import { createGraphqlHandler, type HandlerOptions } from "../../../src/server/graphql/handler.ts";
import { DEFAULT_LIMITS } from "../../../src/server/graphql/limits.ts";
import { toFetch } from "../../../src/server/open_server.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import type { StoredKey } from "../../../src/store/stored_key.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory, withNewStore } from "../../store/temporary_store.ts";

export const GRAPHQL_URL = "http://127.0.0.1/graphql";

/** The time that the clock of the server always shows. */
export const NOW = new Date("2026-02-03T04:05:06.789Z");

/** The origin of a change by the local caller. */
export const LOCAL_ORIGIN = { at: NOW, actor: null, address: null, requestId: null };

/** The server, as a function from request to response. */
export type Fetch = (request: Request) => Promise<Response>;

export interface Result {
  readonly status: number;
  readonly headers: Headers;
  /** The body. */
  readonly text: string;
  /** `data` of the body. */
  readonly data: unknown;
  readonly messages: readonly string[];
  /** `extensions.code` of each error. */
  readonly codes: readonly (string | undefined)[];
}

const body = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({
    message: z.string(),
    extensions: z.object({ code: z.string().optional() }).optional(),
  })).default([]),
});

const key = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  roles: z.array(z.string()),
  permissions: z.array(z.object({ resource: z.string(), actions: z.array(z.string()) })),
  createdAt: z.string(),
});

const life = key.extend({
  enabled: z.boolean(),
  createdBy: z.string().nullable(),
  managedBy: z.string().nullable(),
  updatedAt: z.string().nullable(),
  expiresAt: z.string().nullable(),
  graceUntil: z.string().nullable(),
  revision: z.number(),
});

/** An `ApiKey` in a response, with everything about its life. */
export type LivingKey = z.infer<typeof life>;

/** An `ApiKey` in a response. */
export type ApiKey = z.infer<typeof key>;

const created = z.object({ apiKey: z.object({ create: key }) });
const listed = z.object({ apiKeys: z.array(key) });
const read = z.object({ apiKey: key.nullable() });

const FIELDS = "{ id key name description roles permissions { resource actions } createdAt }";

/** Everything about a key. */
export const LIFE_FIELDS = `{
  id key name description roles permissions { resource actions } createdAt
  enabled createdBy managedBy updatedAt expiresAt graceUntil revision
}`;

export const CREATE = `mutation ($input: CreateApiKeyInput!) { apiKey { create(input: $input) ${FIELDS} } }`;
export const DELETE = "mutation ($ids: [PrefixedID!]!) { apiKey { delete(input: { ids: $ids }) } }";
export const LIST = `{ apiKeys ${FIELDS} }`;
export const UPDATE = `mutation ($input: UpdateApiKeyInput!) { apiKey { update(input: $input) ${LIFE_FIELDS} } }`;
export const ROTATE = `mutation ($input: RotateApiKeyInput!) { apiKey { rotate(input: $input) ${LIFE_FIELDS} } }`;
export const ADD_RESOURCE =
  "mutation ($input: AddResourceInput!) { resource { add(input: $input) { name description } } }";
export const REMOVE_RESOURCE = "mutation ($name: String!) { resource { remove(name: $name) } }";
export const READ = `query ($id: PrefixedID!) { apiKey(id: $id) ${FIELDS} }`;
export const ME = "{ me { name } }";

/** Sends a request and reads the response. */
export async function send(fetch: Fetch, request: Request): Promise<Result> {
  const response = await fetch(request);
  const text = await response.text();
  const { data, errors } = body.parse(text === "" ? {} : JSON.parse(text));
  return {
    status: response.status,
    headers: response.headers,
    text,
    data,
    messages: errors.map(({ message }) => message),
    codes: errors.map(({ extensions }) => extensions?.code),
  };
}

/** Posts a GraphQL operation, with `secret` as the bearer key if it is given. */
export function post(
  fetch: Fetch,
  query: string,
  variables?: Readonly<Record<string, unknown>>,
  secret?: string,
  otherHeaders: Readonly<Record<string, string>> = {},
): Promise<Result> {
  const headers = new Headers({ "content-type": "application/json", ...otherHeaders });
  if (secret !== undefined) headers.set("authorization", `Bearer ${secret}`);
  return send(
    fetch,
    new Request(GRAPHQL_URL, { method: "POST", headers, body: JSON.stringify({ query, variables }) }),
  );
}

/** Returns the key in a result of {@linkcode CREATE}. */
export function createdKey({ data, messages }: Result): ApiKey {
  if (messages.length > 0) throw new Error(messages.join("; "));
  return created.parse(data).apiKey.create;
}

/** Returns the key in a result of {@linkcode UPDATE} or {@linkcode ROTATE}. */
export function changedKey({ data, messages }: Result): LivingKey {
  if (messages.length > 0) throw new Error(messages.join("; "));
  const { apiKey } = z.object({ apiKey: z.record(z.string(), life) }).parse(data);
  const [changed] = Object.values(apiKey);
  if (changed === undefined) throw new Error("no key");
  return changed;
}

/** Returns the ids of the keys in a result of {@linkcode LIST}. */
export function listedIds({ data }: Result): readonly string[] {
  return listed.parse(data).apiKeys.map(({ id }) => id);
}

/** Returns the key in a result of {@linkcode READ}. */
export function readKey({ data }: Result): ApiKey | null {
  return read.parse(data).apiKey;
}

/** Converts `RESOURCE:ACTION` pairs to the `permissions` of `CreateApiKeyInput`, with one group for each pair. */
export function toInput(
  permissions: readonly string[],
): readonly { readonly resource: string | undefined; readonly actions: readonly (string | undefined)[] }[] {
  return permissions.map((permission) => {
    const [resource, action] = permission.split(":");
    return { resource, actions: [action] };
  });
}

export function keysIn(store: KeyStore): Promise<readonly StoredKey[]> {
  return Array.fromAsync(store.list());
}

export async function namesIn(store: KeyStore): Promise<readonly string[]> {
  return (await keysIn(store)).map(({ name }) => name);
}

/** The errors that the server logged. */
export type ErrorLog = readonly { readonly message: string; readonly properties: Record<string, unknown> }[];

/** A server and its store. */
export interface TestServer {
  readonly store: KeyStore;
  /** The server as `serve` runs it: each request needs a key. */
  readonly network: Fetch;
  /** The server in embedded mode: a request without a key comes from the local caller. */
  readonly local: Fetch;
  readonly errorLog: ErrorLog;
  /** Creates a key as the local caller. */
  readonly create: (input: Readonly<Record<string, unknown>>) => Promise<ApiKey>;
  /** Creates a key with only these permissions. */
  readonly keyWith: (...permissions: readonly string[]) => Promise<ApiKey>;
}

/** Returns a handler for a store. The handler allows any number of failed authentications. */
export function handlerOver(
  options: Pick<HandlerOptions, "store" | "now" | "logError"> & Partial<HandlerOptions>,
): Fetch {
  return toFetch(
    createGraphqlHandler({
      hashSecret: async (secret) => (await hashSecret(secret)).toHex(),
      maxAuthFailures: 0,
      limits: DEFAULT_LIMITS,
      ...options,
    }).handle,
  );
}

/** @param options override the options of the handlers; the clock always shows `NOW` if they have no clock */
export function serverOver(
  store: KeyStore,
  options: Pick<Partial<HandlerOptions>, "now" | "lifetimes"> = {},
): TestServer {
  const errorLog: { message: string; properties: Record<string, unknown> }[] = [];
  const { now = () => NOW, lifetimes } = options;
  const handlerOptions = {
    store,
    now,
    logError: (message: string, properties: Record<string, unknown>) => void errorLog.push({ message, properties }),
  };
  const local = handlerOver({ ...handlerOptions, acceptsLocalCaller: true });
  const create: TestServer["create"] = async (input) => createdKey(await post(local, CREATE, { input }));
  let count = 0;
  return {
    store,
    network: handlerOver({ ...handlerOptions, lifetimes }),
    local,
    errorLog,
    create,
    keyWith: (...permissions) => create({ name: `key with ${count++}`, permissions: toInput(permissions) }),
  };
}

/** Runs a test on a new server with a new store. */
export function withServer(test: (server: TestServer) => Promise<void>): Promise<void> {
  return withNewStore((store) => test(serverOver(store)));
}

/** A clock that a test sets. */
export interface Clock {
  now: Date;
}

/** Runs a test on a new server with a new store. Both use the same clock, which starts at `NOW`. */
export function withClock(
  test: (server: TestServer, clock: Clock) => Promise<void>,
  options: Pick<HandlerOptions, "lifetimes"> = {},
): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const clock = { now: NOW };
    const now = (): Date => clock.now;
    const store = await openSqliteStore({ directory, busyTimeout: 5000, now });
    try {
      await test(serverOver(store, { ...options, now }), clock);
    } finally {
      await store.close();
    }
  });
}

/** Returns the time that is this many seconds after `NOW`, in RFC 3339. */
export function after(seconds: number): string {
  return new Date(NOW.getTime() + seconds * 1000).toISOString();
}
