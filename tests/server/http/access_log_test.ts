/** What the access log is told of each request. */
import { expect } from "expect";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { Connection } from "./connection.ts";
import { ask } from "../graphql/graphql.ts";
import { withHttp } from "./http_server.ts";
import { until } from "../until.ts";

Deno.test("a request that is answered is logged with all there is to know of it", () =>
  withHttp(async ({ network, create, accesses }) => {
    const { id, key } = await create({ name: "guest", roles: ["GUEST"] });
    const before = new Date();
    expect((await ask(network, "{ me { id } }", {}, key, { "x-request-id": "one" })).status).toBe(200);
    expect(accesses).toEqual([{
      time: expect.any(Date),
      requestId: "one",
      address: "127.0.0.1",
      method: "POST",
      path: "/graphql",
      status: 200,
      duration: expect.any(Number),
      keyId: id,
      code: undefined,
    }]);
    const [{ time = before, duration = -1 } = {}] = accesses;
    expect(time.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(duration).toBeGreaterThan(0);
    expect(time.getTime() + duration).toBeLessThanOrEqual(Date.now() + 50);
  }));

Deno.test("what is refused is logged with the code of the refusal, and with the key if one was let in", () =>
  withHttp(async ({ network, create, at, accesses }) => {
    const { id, key } = await create({ name: "guest", roles: ["GUEST"] });
    await ask(network, "{ me { id } }");
    await ask(network, "{ apiKeys { id } }", {}, key);
    await ask(network, "{ nonsense }", {}, key);
    await Promise.all(
      [fetch(at("/healthz")), fetch(at("/nowhere"))].map(async (asked) => (await asked).body?.cancel()),
    );
    const lines = accesses.map(({ path, status, keyId, code }) => [path, status, keyId, code].join(" "));
    expect(new Set(lines)).toEqual(
      new Set([
        "/graphql 401  UNAUTHENTICATED",
        `/graphql 200 ${id} FORBIDDEN`,
        `/graphql 200 ${id} `,
        "/healthz 200  ",
        "/nowhere 404  ",
      ]),
    );
    expect(lines).toHaveLength(5);
  }));

Deno.test("nothing secret is logged: no key, no query, no variables, no secret in a path", () =>
  withHttp(async ({ network, create, url, at, accesses }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    await ask(network, "{ me { id } }", { hidden: "in-variables" }, key);
    const asked = [
      fetch(`${url}?query={me{id}}&hidden=in-query`, { headers: { authorization: `Bearer ${key}` } }),
      fetch(`${url}?key=${key}`),
      fetch(at(`/${key}`)),
      fetch(at(`/nowhere/${key}/in-path?${key}`)),
      fetch(url, { headers: { "x-request-id": key } }),
      fetch(url, { headers: { authorization: key } }),
    ];
    await Promise.all(asked.map(async (response) => (await response).body?.cancel()));
    const text = JSON.stringify(accesses);
    expect(accesses).toHaveLength(7);
    expect(text).not.toContain(key.slice(0, 16));
    expect(text).not.toMatch(/in-variables|in-query|\?/);
    expect(text).toContain("/nowhere/sak_…/in-path");
  }));

Deno.test("a client that leaves before it is answered is logged with 499", () => {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const wrap = (store: KeyStore): KeyStore =>
    new Proxy<KeyStore>(store, {
      get: (target, name: keyof KeyStore) =>
        name !== "isEmpty" ? target[name].bind(target) : async () => {
          reached.resolve();
          await opened.promise;
          return false;
        },
    });
  return withHttp(async ({ url, create, accesses, network }) => {
    const { id, key } = await create({ name: "admin", roles: ["ADMIN"] });
    {
      using connection = await Connection.to(url);
      await connection.request("GET", "/graphql?query={apiKeysExist}", { Authorization: `Bearer ${key}` });
      await reached.promise;
    }
    expect((await ask(network, "{ __typename }", {}, key)).status).toBe(200);
    opened.resolve();
    await until(() => accesses.length === 2);
    expect(accesses.map(({ status, keyId }) => [status, keyId])).toEqual([[200, id], [499, id]]);
  }, { wrap });
});

Deno.test("behind a trusted proxy the client's address is logged", () =>
  withHttp(async ({ url, accesses }) => {
    await (await fetch(url, { headers: { "x-forwarded-for": "10.0.0.1, 203.0.113.7" } })).body?.cancel();
    expect(accesses.map(({ address }) => address)).toEqual(["203.0.113.7"]);
  }, { trustedProxies: ["127.0.0.1"] }));
