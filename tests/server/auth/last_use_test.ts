/** `lastUsedAt`: when a key last authenticated a request. Requests do not write it one by one. */
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

/** So many milliseconds after the start of the test. */
function after(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

async function lastUsedAt(fetch: Fetch, id: string, secret: string): Promise<unknown> {
  const { data, codes } = await post(fetch, LAST_USE, { id }, secret);
  expect(codes).toEqual([]);
  return data;
}

/** What {@linkcode lastUsedAt} returns for a time. */
function used(time: Date | null): unknown {
  return { apiKey: { lastUsedAt: time?.toISOString() ?? null } };
}

Deno.test("lastUsedAt is null for a new key, then the time of its last request, valid or not", () => {
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

Deno.test("A key that reads itself is used by that request", () =>
  withHttp(async ({ network, create }) => {
    const { id, key } = await create({ name: "used", permissions: toInput(["API_KEY:READ_OWN"]) });
    expect(await lastUsedAt(network, id, key)).toEqual(used(NOW));
  }, { now: () => NOW }));

Deno.test("A mistyped key does not count as a use", () =>
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

Deno.test("A hundred requests write nothing, and look up the key each time", () => {
  const calls: string[] = [];
  return withHttp(async ({ url, create }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    calls.length = 0;
    const headers = { authorization: `Bearer ${key}` };
    await Promise.all(Array.from({ length: 100 }, () => statusOf(`${url}?query={me{id}}`, { headers })));
    expect(calls.filter((name) => name === "findIdBySecretHash")).toHaveLength(100);
    expect(new Set(calls)).toEqual(new Set(["findIdBySecretHash", "findById"]));
  }, { wrap: (store) => recordCalls(store, calls) });
});

Deno.test("All unwritten times are written together, once", () =>
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

Deno.test("After a failed write, times are kept for the next write unless there are newer ones", () =>
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

Deno.test("Of the stored and the unwritten time the later one is reported", () =>
  withNewStore((store) => {
    const lastUse = new LastUse(store);
    lastUse.record("one", NOW);
    expect(lastUse.of({ id: "one", lastUsedAt: after(-1) })).toEqual(NOW);
    expect(lastUse.of({ id: "one", lastUsedAt: after(1) })).toEqual(after(1));
    expect(lastUse.of({ id: "two", lastUsedAt: after(-1) })).toEqual(after(-1));
    expect(lastUse.of({ id: "two", lastUsedAt: null })).toBe(null);
    return Promise.resolve();
  }));

Deno.test("If times cannot be written when the server stops, it logs an error and stops", () =>
  withHttp(async ({ network, create, server, errorLog }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    await post(network, ME, {}, key);
    expect(await server.stop(1000)).toBe(0);
    expect(errorLog.map(({ message }) => message)).toEqual(["Could not write the times of last use: {error}"]);
  }, {
    wrap: (store) => replaceMethods(store, { recordUses: () => Promise.reject(new Error("unavailable")) }),
  }));
