/**
 * Two servers that share a store: after a change through one server, the next request to the other server sees the
 * change.
 */
import { expect } from "expect";
import type { KeyStore } from "../../src/store/key_store.ts";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { testOnPostgres } from "../store/postgres/server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { type ApiKey, CREATE, createdKey, DELETE, type Fetch, ME, post, READ, serverOver } from "./graphql/graphql.ts";
import { fetchFrom, startHttp } from "./http/http_server.ts";

interface Pair {
  readonly one: Fetch;
  readonly two: Fetch;
  readonly admin: ApiKey;
  /** A key that authenticated on both servers. */
  readonly known: ApiKey;
}

type OpenStore = () => Promise<KeyStore>;

async function runOnTwoServers(openStore: OpenStore, test: (pair: Pair) => Promise<void>): Promise<void> {
  const [first, second] = [await openStore(), await openStore()];
  const { create } = serverOver(first);
  const admin = await create({ name: "admin", roles: ["ADMIN"] });
  const known = await create({ name: "known", roles: ["GUEST"] });
  const servers = await Promise.all([startHttp(first), startHttp(second)]);
  const [one, two] = [fetchFrom(servers[0].url), fetchFrom(servers[1].url)];
  try {
    const results = await Promise.all([one, two].map((server) => post(server, ME, {}, known.key)));
    expect(results.map(({ status }) => status)).toEqual([200, 200]);
    await test({ one, two, admin, known });
  } finally {
    await Promise.all(servers.map((server) => server.stop(1000)));
  }
}

/** @param withDatabase calls `use` with a function that opens stores on one new database */
function testTwoServers(
  engine: string,
  withDatabase: (use: (openStore: OpenStore) => Promise<void>) => Promise<void>,
): void {
  const test = (rule: string, run: (pair: Pair) => Promise<void>): void =>
    Deno.test(`${engine}: ${rule}`, () => withDatabase((openStore) => runOnTwoServers(openStore, run)));

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
}

testTwoServers(
  "SQLite",
  (use) => inTemporaryDirectory((directory) => use(() => openSqliteStore({ directory, busyTimeout: 5000 }))),
);

await testOnPostgres("two servers on PostgreSQL", {}, (server) =>
  testTwoServers(
    "PostgreSQL",
    (use) =>
      server.withNewDatabase((name) =>
        use(() => openPostgresStore({ address: server.address(name), timeout: 10_000 }))
      ),
  ));
