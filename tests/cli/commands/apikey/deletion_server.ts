/** A server of this program with stored keys, and a proxy before it that records requests and can act before each of them. */
import type { KeyStore } from "../../../../src/store/key_store.ts";
import type { StoredKey } from "../../../../src/store/stored_key.ts";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";
import { runAtTerminal, type Running } from "../../../program/terminal_host.ts";
import { LOCAL_ORIGIN } from "../../../server/graphql/graphql.ts";
import { withHttp } from "../../../server/http/http_server.ts";
import { newKey, newKeyWithSecret } from "../../../store/stored_key.ts";

/** What a request of the program does. */
export type Kind = "read again" | "delete" | "other";

export interface Fixture {
  /** The variables with which the program uses the server, with the key "admin". */
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly Kind[];
  /** The names of the remaining keys. */
  readonly names: () => Promise<readonly string[]>;
}

export interface FixtureOptions {
  /** Runs before the server gets a request. If it returns a response, the server does not get the request. */
  readonly before?: (kind: Kind, store: KeyStore) => Promise<Response | void>;
}

/** Runs a test with a server of this program that has the key "admin" with the role ADMIN, and these keys. */
export function withKeys(
  keys: readonly StoredKey[],
  test: (fixture: Fixture) => Promise<void>,
  { before = () => Promise.resolve() }: FixtureOptions = {},
): Promise<void> {
  return withHttp(async ({ store, url }) => {
    const { key: admin, secret } = await newKeyWithSecret("admin", { roles: ["ADMIN"] });
    // deno-lint-ignore no-await-in-loop -- keeps the order of creation
    for (const key of [admin, ...keys]) await store.add(key, LOCAL_ORIGIN, () => {});
    const requests: Kind[] = [];
    await using proxy: TestServer = startServer(async ({ body, headers }) => {
      const kind = body.includes("ReadApiKeys") ? "read again" : body.includes("DeleteApiKeys") ? "delete" : "other";
      requests.push(kind);
      const response = await before(kind, store);
      if (response instanceof Response) return response;
      return await fetch(url, { method: "POST", body, headers: forwarded(headers) });
    });
    await test({
      requests,
      env: { SERVICE_API_URL: proxy.url, SERVICE_API_KEY: secret },
      names: async () => await Array.fromAsync(store.list(), ({ name }) => name),
    });
  });
}

function forwarded(headers: Headers): Readonly<Record<string, string>> {
  return { "content-type": "application/json", authorization: headers.get("authorization") ?? "" };
}

/** Keys named `ci 1`, `ci 2` and so on. */
export function ciKeys(count: number): Promise<readonly StoredKey[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => newKey(`ci ${index + 1}`)));
}

/** The arguments of a deletion. */
export const remove = (...flags: readonly string[]): readonly string[] => ["apikey", "--delete", ...flags];

/** Runs a deletion at a terminal. */
export function atTerminal(env: Readonly<Record<string, string>>, ...flags: readonly string[]): Running {
  return runAtTerminal(remove(...flags), { env, columns: 100 });
}
