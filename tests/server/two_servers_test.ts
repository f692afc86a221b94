/**
 * Two servers that share a store: after a change through one server, the next request to the other server sees the
 * change.
 */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { makeSecret } from "../../src/apikey/secret.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import { POSTGRES_MIGRATIONS } from "../../src/store/postgres_migrations.ts";
import { SQLITE_MIGRATIONS } from "../../src/store/sqlite_migrations.ts";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { testOnPostgres } from "../store/postgres/server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import {
  ADD_RESOURCE,
  type ApiKey,
  changedKey,
  CREATE,
  createdKey,
  DELETE,
  type Fetch,
  ME,
  post,
  READ,
  REMOVE_RESOURCE,
  type Result,
  ROTATE,
  serverOver,
  toInput,
  UPDATE,
} from "./graphql/graphql.ts";
import { fetchFrom, startHttp, statusOf } from "./http/http_server.ts";
import { until } from "./until.ts";

const UNKNOWN_SECRET = makeSecret(new Uint8Array(32).fill(3));

interface Pair {
  readonly one: Fetch;
  readonly two: Fetch;
  readonly admin: ApiKey;
  /** A key that authenticated on both servers. */
  readonly known: ApiKey;
  readonly oneUrl: string;
  readonly twoUrl: string;
  readonly data: SharedData;
}

/** The data that both servers share. */
interface SharedData {
  readonly openStore: () => Promise<KeyStore>;
  /** Runs SQL on the data, as another program would. */
  readonly execute: (sql: string) => Promise<unknown>;
  /** The SQL that makes the store look as if a newer version had migrated it. */
  readonly markAsNewer: string;
}

async function runOnTwoServers(data: SharedData, test: (pair: Pair) => Promise<void>): Promise<void> {
  const [first, second] = [await data.openStore(), await data.openStore()];
  const { create } = serverOver(first);
  const admin = await create({ name: "admin", roles: ["ADMIN"] });
  const known = await create({ name: "known", roles: ["GUEST"] });
  const servers = await Promise.all([startHttp(first), startHttp(second)]);
  const [one, two] = [fetchFrom(servers[0].url), fetchFrom(servers[1].url)];
  try {
    const results = await Promise.all([one, two].map((server) => post(server, ME, {}, known.key)));
    expect(results.map(({ status }) => status)).toEqual([200, 200]);
    await test({ one, two, admin, known, oneUrl: servers[0].url, twoUrl: servers[1].url, data });
  } finally {
    await Promise.all(servers.map((server) => server.stop(1000)));
  }
}

/** @param withData calls `use` with new data */
function testTwoServers(
  engine: string,
  withData: (use: (data: SharedData) => Promise<void>) => Promise<void>,
): void {
  const test = (rule: string, run: (pair: Pair) => Promise<void>): void =>
    Deno.test(`${engine}: ${rule}`, () => withData((data) => runOnTwoServers(data, run)));

  test("after a key is deleted through one server, both servers reject the key on its next request", async ({ one, two, admin, known }) => {
    expect((await post(one, DELETE, { ids: [known.id] }, admin.key)).data).toEqual({ apiKey: { delete: true } });
    expect((await post(two, ME, {}, known.key)).status).toBe(401);
    expect((await post(one, ME, {}, known.key)).status).toBe(401);
  });

  test("after a key is replaced through one server, the other server rejects the old secret and accepts the new one", async ({ one, two, admin, known }) => {
    const input = { name: "known", roles: ["VIEWER"], overwrite: true };
    const successor = createdKey(await post(one, CREATE, { input }, admin.key));
    expect((await post(two, ME, {}, known.key)).status).toBe(401);
    expect((await post(two, "{ me { roles } }", {}, successor.key)).data).toEqual({ me: { roles: ["VIEWER"] } });
  });

  test("after a key is disabled, enabled or rotated through one server, the other server sees it on the next request", async ({ one, two, admin, known }) => {
    const { id } = known;
    const use = async (secret: string): Promise<string> => {
      const { status, messages } = await post(two, ME, {}, secret);
      return [status, ...messages].join(" ");
    };
    await post(one, UPDATE, { input: { id, enabled: false } }, admin.key);
    expect(await use(known.key)).toContain("401 The key is disabled.");
    await post(one, UPDATE, { input: { id, enabled: true } }, admin.key);
    expect(await use(known.key)).toBe("200");
    const { key } = changedKey(await post(one, ROTATE, { input: { id, graceSeconds: 3600 } }, admin.key));
    expect([await use(known.key), await use(key)]).toEqual(["200", "200"]);
    const { key: last } = changedKey(await post(one, ROTATE, { input: { name: "known" } }, admin.key));
    expect(await use(key)).toContain("401 The key was rotated");
    expect([(await use(known.key)).slice(0, 3), await use(last)]).toEqual(["401", "200"]);
  });

  test("after a key is given other rights through one server, the other server uses them on the next request", async ({ one, two, admin, known }) => {
    const names = async (): Promise<readonly unknown[]> =>
      (await post(two, "{ apiKeys { name } }", {}, known.key)).codes;
    await post(one, UPDATE, { input: { id: known.id, roles: ["VIEWER"] } }, admin.key);
    expect(await names()).toEqual([]);
    await post(one, UPDATE, { input: { id: known.id, roles: ["GUEST"] } }, admin.key);
    expect(await names()).toEqual(["FORBIDDEN"]);
  });

  test("if a key expires, both servers reject it on its next request, even if they accepted it before", async ({ one, two, known, data }) => {
    await data.execute(`UPDATE api_key SET expires_at = '2020-01-01T00:00:00.000Z' WHERE id = '${known.id}'`);
    const results = await Promise.all([one, two].map((server) => post(server, ME, {}, known.key)));
    expect(results.map(({ status, messages }) => [status, messages])).toEqual(
      results.map(() => [401, [expect.stringMatching(/^The key has expired\. /)]]),
    );
  });

  test("pages hold all keys in every order, and two renamings at once to one name have exactly one winner", async ({ one, two, admin, known }) => {
    const pageOf =
      "query ($sort: ApiKeySort) { apiKeyConnection(first: 1, sort: $sort) { edges { node { name } } pageInfo { endCursor } } }";
    for (const sort of ["CREATED", "NAME", "USED", "EXPIRES"]) {
      // deno-lint-ignore no-await-in-loop -- few requests
      const { data, text } = await post(two, pageOf, { sort }, admin.key);
      expect(data).toMatchObject({ apiKeyConnection: { edges: [{ node: { name: "admin" } }] } });
      const after = /"endCursor":"([^"]+)"/.exec(text)?.[1];
      // deno-lint-ignore no-await-in-loop -- few requests
      const next = await post(two, pageOf.replace("first: 1", `first: 1, after: "${after}"`), { sort }, admin.key);
      expect(next.data).toMatchObject({ apiKeyConnection: { edges: [{ node: { name: "known" } }] } });
    }
    const rename = async (server: Fetch, id: string): Promise<readonly unknown[]> =>
      (await post(server, UPDATE, { input: { id, name: "one name" } }, admin.key)).codes;
    const outcomes = await Promise.all([rename(one, admin.id), rename(two, known.id)]);
    expect(outcomes.flat()).toEqual(["ALREADY_EXISTS"]);
  });

  test("text that cannot be a key id matches no key, and the audit trail records the text without secrets", async ({ one, admin }) => {
    for (const id of ["\0", "\ud800", "", "x".repeat(100_000), "'; --", admin.key]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await post(one, READ, { id }, admin.key)).data).toEqual({ apiKey: null });
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect((await post(one, DELETE, { ids: [id] }, admin.key)).data).toEqual({ apiKey: { delete: false } });
    }
    const { codes, text } = await post(one, "{ auditEvents { outcome key { id } } }", {}, admin.key);
    expect(codes).toEqual([]);
    expect(text.match(/NOT_FOUND/g)).toHaveLength(6);
    expect(text).not.toContain(admin.key);
  });

  test("if another program changes the roles and the revision of a key, both servers use the new roles on its next request", async ({ one, two, admin, known, data }) => {
    const LIST_NAMES = "{ apiKeys { name } }";
    const codesOf = (secret: string): Promise<unknown> =>
      Promise.all([one, two].map(async (server) => (await post(server, LIST_NAMES, {}, secret)).codes));
    expect(await codesOf(known.key)).toEqual([["FORBIDDEN"], ["FORBIDDEN"]]);
    expect(await codesOf(admin.key)).toEqual([[], []]);
    await data.execute(`UPDATE api_key SET roles = 'VIEWER', revision = revision + 1 WHERE id = '${known.id}'`);
    await data.execute(`UPDATE api_key SET roles = 'GUEST', revision = revision + 1 WHERE id = '${admin.id}'`);
    expect(await codesOf(known.key)).toEqual([[], []]);
    expect(await codesOf(admin.key)).toEqual([["FORBIDDEN"], ["FORBIDDEN"]]);
  });

  test("after a resource is added or removed through one server, the other server sees it on the next request", async ({ one, two, admin, known, twoUrl }) => {
    const grant = (server: Fetch): Promise<Result> =>
      post(server, UPDATE, { input: { id: known.id, permissions: toInput(["ORDERS:READ_ANY"]) } }, admin.key);
    const verify = async (secret: string): Promise<number> =>
      await statusOf(new URL("/verify?can=ORDERS:READ_ANY", twoUrl), { headers: { "x-api-key": secret } });
    const input = { name: "ORDERS" };
    expect([(await grant(two)).codes, await verify(admin.key), await verify(known.key)]).toEqual([["USAGE"], 400, 400]);
    expect((await post(one, ADD_RESOURCE, { input }, admin.key)).codes).toEqual([]);
    expect([await verify(admin.key), await verify(known.key)]).toEqual([204, 403]);
    expect([(await grant(two)).codes, await verify(known.key)]).toEqual([[], 204]);
    const removal = await post(two, REMOVE_RESOURCE, input, admin.key);
    expect([removal.codes, removal.messages]).toEqual([["FAILED"], [expect.stringContaining('the key "known"')]]);
    await post(one, UPDATE, { input: { id: known.id, permissions: [] } }, admin.key);
    expect((await post(one, REMOVE_RESOURCE, input, admin.key)).data).toEqual({ resource: { remove: true } });
    expect([(await grant(two)).codes, await verify(admin.key)]).toEqual([["USAGE"], 400]);
    expect((await post(two, "{ resources { name } }", {}, known.key)).data).toEqual({ resources: [] });
  });

  test("if a newer version migrates the store, valid and unknown keys get 503, and so does /readyz", async ({ two, twoUrl, known, data }) => {
    await data.execute(data.markAsNewer);
    const results = await Promise.all([known.key, UNKNOWN_SECRET].map((secret) => post(two, ME, {}, secret)));
    expect(results.map(({ status, codes }) => [status, codes])).toEqual([[503, ["UNREACHABLE"]], [503, [
      "UNREACHABLE",
    ]]]);
    expect(await statusOf(new URL("/readyz", twoUrl))).toBe(503);
  });
}

testTwoServers(
  "SQLite",
  (use) =>
    inTemporaryDirectory((directory) =>
      use({
        openStore: () => openSqliteStore({ directory, busyTimeout: 5000 }),
        execute: (sql) => {
          using database = new DatabaseSync(`${directory}/keys.db`);
          return Promise.try(() => database.exec(sql));
        },
        markAsNewer: `PRAGMA user_version = ${SQLITE_MIGRATIONS.length + 1}`,
      })
    ),
);

await testOnPostgres("two servers on PostgreSQL", {}, (server) => {
  const withData = (use: (data: SharedData) => Promise<void>): Promise<void> =>
    server.withNewDatabase((name) =>
      use({
        openStore: () => openPostgresStore({ address: server.address(name), timeout: 10_000 }),
        execute: (sql) => server.execute(name, sql),
        markAsNewer: `UPDATE schema_version SET version = ${POSTGRES_MIGRATIONS.length + 1}`,
      })
    );
  testTwoServers("PostgreSQL", withData);

  Deno.test("PostgreSQL: the gate lets no key pass while the database is stopped, and refuses a revoked key on the next request after a restart", () =>
    withData((data) =>
      runOnTwoServers(data, async ({ oneUrl, twoUrl, one, admin, known }) => {
        const verify = (secret: string): Promise<readonly number[]> =>
          Promise.all(
            [oneUrl, twoUrl].map((url) => statusOf(new URL("/verify", url), { headers: { "x-api-key": secret } })),
          );
        expect(await verify(known.key)).toEqual([204, 204]);
        await server.stop();
        expect(await verify(known.key)).toEqual([503, 503]);
        await server.start();
        await until(async () => (await verify(admin.key)).every((status) => status === 204));
        expect(await verify(known.key)).toEqual([204, 204]);
        expect((await post(one, DELETE, { ids: [known.id] }, admin.key)).data).toEqual({ apiKey: { delete: true } });
        expect(await verify(known.key)).toEqual([401, 401]);
      })
    ));
});
