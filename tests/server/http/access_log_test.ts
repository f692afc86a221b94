/** What the access log records of each request. */
import { expect } from "expect";
import { changedKey, post, ROTATE } from "../graphql/graphql.ts";
import { gateBefore } from "../replaced_store.ts";
import { until } from "../until.ts";
import { Connection } from "./connection.ts";
import { pathOf, statusOf, withHttp } from "./http_server.ts";

Deno.test("A request is logged with its time, id, address, method, path, status, duration and key", () =>
  withHttp(async ({ network, create, accessLog }) => {
    const { id, key } = await create({ name: "guest", roles: ["GUEST"] });
    const before = new Date();
    expect((await post(network, "{ me { id } }", {}, key, { "x-request-id": "one" })).status).toBe(200);
    expect(accessLog).toEqual([{
      time: expect.any(Date),
      requestId: "one",
      address: "127.0.0.1",
      method: "POST",
      path: "/graphql",
      status: 200,
      duration: expect.any(Number),
      keyId: id,
      secret: undefined,
      code: undefined,
    }]);
    const [{ time = before, duration = -1 } = {}] = accessLog;
    expect(time.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(duration).toBeGreaterThan(0);
    expect(time.getTime() + duration).toBeLessThanOrEqual(Date.now() + 50);
  }));

Deno.test("A request that is not authenticated or not allowed is logged with the error code", () =>
  withHttp(async ({ network, create, at, accessLog }) => {
    const { id, key } = await create({ name: "guest", roles: ["GUEST"] });
    await post(network, "{ me { id } }");
    await post(network, "{ apiKeys { id } }", {}, key);
    await post(network, "{ nonsense }", {}, key);
    await statusOf(at("/nowhere"));
    const lines = accessLog.map(({ path, status, keyId, code }) => [path, status, keyId, code].join(" "));
    expect(lines).toEqual([
      "/graphql 401  UNAUTHENTICATED",
      `/graphql 200 ${id} FORBIDDEN`,
      `/graphql 200 ${id} `,
      "/nowhere 404  ",
    ]);
  }));

Deno.test("During the grace period of a rotation, the access log marks the requests that carry the old secret", () =>
  withHttp(async ({ local, network, create, at, accessLog }) => {
    const { id, key } = await create({
      name: "service",
      permissions: [{ resource: "PERMISSION", actions: ["READ_ANY"] }],
    });
    const use = async (secret: string): Promise<void> => {
      const headers = { authorization: `Bearer ${secret}` };
      await post(network, "{ me { id } }", {}, secret);
      await post(network, "{ apiKeys { id } }", {}, secret);
      await statusOf(at("/verify"), { headers });
      await statusOf(at("/verify?can=DOCKER:READ_ANY"), { headers });
      await statusOf(at("/verify/any"), { headers });
      await statusOf(at("/introspect"), { method: "POST", headers, body: new URLSearchParams({ token: secret }) });
      await statusOf(at("/introspect"), { method: "POST", headers, body: new URLSearchParams() });
    };
    await use(key);
    const rotated = changedKey(await post(local, ROTATE, { input: { id, graceSeconds: 2_000_000_000 } }));
    await use(rotated.key);
    await use(key);
    expect(accessLog.map(({ keyId, secret }) => [keyId, secret])).toEqual([
      ...Array.from({ length: 14 }, () => [id, undefined]),
      ...Array.from({ length: 7 }, () => [id, "previous"]),
    ]);
  }));

Deno.test("The access log contains no secrets, queries or variables, and secrets in paths are masked", () =>
  withHttp(async ({ network, create, url, at, accessLog }) => {
    const { key } = await create({ name: "admin", roles: ["ADMIN"] });
    await post(network, "{ me { id } }", { hidden: "in-variables" }, key);
    await Promise.all([
      statusOf(`${url}?query={me{id}}&hidden=in-query`, { headers: { authorization: `Bearer ${key}` } }),
      statusOf(`${url}?key=${key}`),
      statusOf(at(`/nowhere/${key}/in-path?${key}`)),
      statusOf(url, { headers: { "x-request-id": key } }),
      statusOf(url, { headers: { authorization: key } }),
    ]);
    const text = JSON.stringify(accessLog);
    expect(accessLog).toHaveLength(6);
    expect(text).not.toContain(key.slice(0, 16));
    expect(text).not.toMatch(/in-variables|in-query|\?/);
    expect(text).toContain("/nowhere/sak_…/in-path");
  }));

Deno.test("If the client disconnects before the response, the request is logged with status 499", () => {
  const gate = gateBefore("isEmpty");
  return withHttp(async ({ url, create, accessLog, network }) => {
    const { id, key } = await create({ name: "admin", roles: ["ADMIN"] });
    {
      using connection = await Connection.to(url);
      await connection.request("GET", pathOf("{ apiKeysExist }"), { Authorization: `Bearer ${key}` });
      await gate.reached;
    }
    expect((await post(network, "{ __typename }", {}, key)).status).toBe(200);
    gate.open();
    await until(() => accessLog.length === 2);
    expect(accessLog.map(({ status, keyId }) => [status, keyId])).toEqual([[200, id], [499, id]]);
  }, { wrap: gate.wrap });
});
