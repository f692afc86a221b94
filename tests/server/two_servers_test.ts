/** Two servers on one store: what is changed through one holds for the other from the next request on. */
import { expect } from "expect";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import { testOnPostgres } from "../store/postgres_server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { ask, CREATE, createdKey, DELETE, type Handler, READ, serverOver, type ShownKey } from "./graphql/graphql.ts";
import { fetchAt, startHttp } from "./http/http_server.ts";

interface Pair {
  readonly one: Handler;
  readonly two: Handler;
  readonly admin: ShownKey;
  /** A key that both servers have let in. */
  readonly known: ShownKey;
}

type Open = () => Promise<KeyStore>;

const ME = "{ me { name roles } }";

async function runOnTwoServers(open: Open, test: (pair: Pair) => Promise<void>): Promise<void> {
  const [first, second] = [await open(), await open()];
  const { create } = serverOver(first);
  const [admin, known] = [
    await create({ name: "admin", roles: ["ADMIN"] }),
    await create({ name: "known", roles: ["GUEST"] }),
  ];
  const servers = await Promise.all([startHttp(first), startHttp(second)]);
  const [one, two] = [fetchAt(servers[0].url), fetchAt(servers[1].url)];
  try {
    const statuses = await Promise.all([one, two].map(async (server) => (await ask(server, ME, {}, known.key)).status));
    expect(statuses).toEqual([200, 200]);
    await test({ one, two, admin, known });
  } finally {
    await Promise.all(servers.map((server) => server.stop(1000)));
  }
}

/** @param withPlace hands over what opens stores in one new place */
function testTwoServers(engine: string, withPlace: (use: (open: Open) => Promise<void>) => Promise<void>): void {
  const withTwoServers = (test: (pair: Pair) => Promise<void>): Promise<void> =>
    withPlace((open) => runOnTwoServers(open, test));

  Deno.test(`${engine}: a key that is deleted through one server fails on the other on the very next request`, () =>
    withTwoServers(async ({ one, two, admin, known }) => {
      expect((await ask(one, DELETE, { ids: [known.id] }, admin.key)).data).toEqual({ apiKey: { delete: true } });
      expect((await ask(two, ME, {}, known.key)).status).toBe(401);
      expect((await ask(one, ME, {}, known.key)).status).toBe(401);
    }));

  Deno.test(`${engine}: a key that is overwritten through one server fails on the other on the very next request, and the new one works`, () =>
    withTwoServers(async ({ one, two, admin, known }) => {
      const input = { name: "known", roles: ["VIEWER"], overwrite: true };
      const fresh = createdKey(await ask(one, CREATE, { input }, admin.key));
      expect((await ask(two, ME, {}, known.key)).status).toBe(401);
      expect((await ask(two, ME, {}, fresh.key)).data).toEqual({ me: { name: "known", roles: ["VIEWER"] } });
    }));

  Deno.test(`${engine}: of two servers that are asked to create one name at once, one does`, () =>
    withTwoServers(async ({ one, two, admin }) => {
      const input = { name: "new", roles: ["GUEST"] };
      const answers = await Promise.all([one, two].map((server) => ask(server, CREATE, { input }, admin.key)));
      expect(answers.map(({ codes }) => codes.join()).toSorted()).toEqual(["", "ALREADY_EXISTS"]);
    }));

  Deno.test(`${engine}: a text that no key can have for an id is the id of no key, and not an error of the store`, () =>
    withTwoServers(async ({ one, admin }) => {
      for (const id of ["\0", "\ud800", "", "x".repeat(100_000), "'; --", admin.key]) {
        // deno-lint-ignore no-await-in-loop -- a short list
        expect((await ask(one, READ, { id }, admin.key)).data).toEqual({ apiKey: null });
        // deno-lint-ignore no-await-in-loop -- a short list
        expect((await ask(one, DELETE, { ids: [id] }, admin.key)).data).toEqual({ apiKey: { delete: false } });
      }
      const query = "{ auditEvents(first: 1000) { outcome key { id } } }";
      const { codes, text } = await ask(one, query, {}, admin.key);
      expect(codes).toEqual([]);
      expect(text.match(/NOT_FOUND/g)).toHaveLength(6);
      expect(text).not.toContain(admin.key);
    }));
}

testTwoServers(
  "SQLite",
  (use) => inTemporaryDirectory((directory) => use(() => openSqliteStore({ directory, busyTimeout: 5000 }))),
);

await testOnPostgres(
  "two servers on PostgreSQL",
  {},
  (server) =>
    testTwoServers(
      "PostgreSQL",
      (use) =>
        server.withNewDatabase((name) =>
          use(() => openPostgresStore({ address: server.address(name), timeout: 10_000 }))
        ),
    ),
);
