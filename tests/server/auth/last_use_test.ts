/**
 * `lastUsedAt`: when a key last authenticated a request. The server keeps the times in memory and writes them together.
 */
import { expect } from "expect";
import { LastUse } from "../../../src/server/auth/last_use.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { newKey } from "../../store/stored_key.ts";
import { inTemporaryDirectory, withNewStore, withStoreIn } from "../../store/temporary_store.ts";
import { type Fetch, LOCAL_ORIGIN, ME, NOW, post, serverOver, toInput } from "../graphql/graphql.ts";
import { startHttp, statusOf, withHttp } from "../http/http_server.ts";
import { recordCalls, replaceMethods } from "../replaced_store.ts";

const LAST_USE = "query ($id: PrefixedID!) { apiKey(id: $id) { lastUsedAt } }";

/** Returns a time after `NOW`. */
function after(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

async function lastUsedAt(fetch: Fetch, id: string, secret: string): Promise<unknown> {
  const { data, codes } = await post(fetch, LAST_USE, { id }, secret);
  expect(codes).toEqual([]);
  return data;
}

/** Returns what {@linkcode lastUsedAt} returns for a key that was last used at this time. */
function used(time: Date | null): unknown {
  return { apiKey: { lastUsedAt: time?.toISOString() ?? null } };
}

Deno.test("lastUsedAt is null for a new key, and then the time of its last request, even if that request was invalid", () => {
  let time = NOW;
  return withHttp(async ({ network, create }) => {
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    expect(await lastUsedAt(network, id, reader)).toEqual(used(null));
    time = after(5);
    await post(network, ME, {}, key);
    time = after(7);
    expect(await lastUsedAt(network, id, reader)).toEqual(used(after(5)));
    await post(network, "{ nonsense }", {}, key);
    expect(await lastUsedAt(network, id, reader)).toEqual(used(after(7)));
  }, { now: () => time });
});

Deno.test("A request that reads the lastUsedAt of its own key gets the time of the request itself", () =>
  withHttp(async ({ network, create }) => {
    const { id, key } = await create({ name: "used", permissions: toInput(["API_KEY:READ_OWN"]) });
    expect(await lastUsedAt(network, id, key)).toEqual(used(NOW));
  }, { now: () => NOW }));

Deno.test("A request with a mistyped key does not change lastUsedAt", () =>
  withHttp(async ({ network, create }) => {
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    expect((await post(network, ME, {}, `${key}0`)).status).toBe(401);
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    expect(await lastUsedAt(network, id, reader)).toEqual(used(null));
  }));

Deno.test("Times of last use are written when the server stops, and another server reports them", () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const { create } = serverOver(store);
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    const server = await startHttp(store, { now: () => after(5) });
    expect(await statusOf(`${server.url}?query={me{id}}`, { headers: { authorization: `Bearer ${key}` } })).toBe(200);
    expect((await store.findById(id))?.lastUsedAt).toBe(null);
    expect(await server.stop(5000)).toBe(0);
    await withStoreIn(directory, async (again) => {
      expect(await lastUsedAt(serverOver(again).network, id, reader)).toEqual(used(after(5)));
    });
  }));

Deno.test("A hundred requests write nothing to the store, and each of them looks up its key", () => {
  const calls: string[] = [];
  return withHttp(async ({ url, create }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    calls.length = 0;
    const headers = { authorization: `Bearer ${key}` };
    await Promise.all(Array.from({ length: 100 }, () => statusOf(`${url}?query={me{id}}`, { headers })));
    expect(calls.filter((name) => name === "findBySecretHash")).toHaveLength(100);
    expect(new Set(calls)).toEqual(new Set(["findBySecretHash", "findById"]));
  }, { wrap: (store) => recordCalls(store, calls) });
});

Deno.test("LastUse.write writes all unwritten times in one call, and does not write them again", () =>
  withNewStore(async (store) => {
    const [one, two] = [await newKey("one"), await newKey("two")];
    await store.add(one, LOCAL_ORIGIN, () => {});
    await store.add(two, LOCAL_ORIGIN, () => {});
    const calls: string[] = [];
    const lastUse = new LastUse(recordCalls(store, calls));
    lastUse.record(one.id, after(1));
    lastUse.record(two.id, after(2));
    lastUse.record(one.id, after(3));
    await lastUse.write();
    await lastUse.write();
    expect(calls).toEqual(["recordUses"]);
    expect((await store.findById(one.id))?.lastUsedAt).toEqual(after(3));
    expect((await store.findById(two.id))?.lastUsedAt).toEqual(after(2));
  }));

Deno.test("If a write fails, the next write includes the times of the failed write, except those that newer times have replaced", () =>
  withNewStore(async (store) => {
    const written: ReadonlyMap<string, Date>[] = [];
    let isAvailable = false;
    const recordUses: KeyStore["recordUses"] = async (uses) => {
      await Promise.resolve();
      if (!isAvailable) throw new Error("unavailable");
      written.push(uses);
    };
    const lastUse = new LastUse(replaceMethods(store, { recordUses }));
    lastUse.record("one", after(1));
    lastUse.record("two", after(2));
    const writing = lastUse.write();
    lastUse.record("two", after(3));
    await expect(writing).rejects.toThrow("unavailable");
    expect(lastUse.of({ id: "one", lastUsedAt: null })).toEqual(after(1));
    isAvailable = true;
    await lastUse.write();
    expect(written).toEqual([new Map([["one", after(1)], ["two", after(3)]])]);
  }));

Deno.test("LastUse.of returns the later of the stored time and the unwritten time", () =>
  withNewStore((store) => {
    const lastUse = new LastUse(store);
    lastUse.record("one", NOW);
    expect(lastUse.of({ id: "one", lastUsedAt: after(-1) })).toEqual(NOW);
    expect(lastUse.of({ id: "one", lastUsedAt: after(1) })).toEqual(after(1));
    expect(lastUse.of({ id: "two", lastUsedAt: after(-1) })).toEqual(after(-1));
    expect(lastUse.of({ id: "two", lastUsedAt: null })).toBe(null);
    return Promise.resolve();
  }));

Deno.test("If the times of last use cannot be written when the server stops, the server logs an error and still stops", () =>
  withHttp(async ({ network, create, server, errorLog }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    await post(network, ME, {}, key);
    expect(await server.stop(1000)).toBe(0);
    expect(errorLog.map(({ message }) => message)).toEqual(["Could not write the times of last use: {error}"]);
  }, {
    wrap: (store) => replaceMethods(store, { recordUses: () => Promise.reject(new Error("unavailable")) }),
  }));
