/** `lastUsedAt`: when a key last let somebody in, without a write for each request. */
import { expect } from "expect";
import { LastUse } from "../../../src/server/auth/last_use.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { newKey } from "../../store/stored_key.ts";
import { inTemporaryDirectory, withNewStore, withStoreIn } from "../../store/temporary_store.ts";
import { asInput, ask, type Handler, serverOver } from "../graphql/graphql.ts";
import { startHttp, withHttp } from "../http/http_server.ts";

const LAST_USE = "query ($id: PrefixedID!) { apiKey(id: $id) { lastUsedAt } }";
const START = Date.parse("2026-02-03T04:05:06.789Z");

async function lastUse(handler: Handler, id: string, secret: string): Promise<unknown> {
  const { data, codes } = await ask(handler, LAST_USE, { id }, secret);
  expect(codes).toEqual([]);
  return data;
}

/** The answer to {@linkcode LAST_USE} for so many milliseconds after the start. */
function used(after: number | null): unknown {
  return { apiKey: { lastUsedAt: after === null ? null : new Date(START + after).toISOString() } };
}

/** A store whose methods are counted, by name. */
function counted(store: KeyStore, calls: string[]): KeyStore {
  return new Proxy<KeyStore>(store, {
    get: (target, name: keyof KeyStore) => {
      calls.push(name);
      return target[name].bind(target);
    },
  });
}

Deno.test("lastUsedAt is null for a new key, and the time of its last request ever after, at once", () => {
  let time = START;
  return withHttp(async ({ network, create }) => {
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    expect(await lastUse(network, id, reader)).toEqual(used(null));
    time = START + 5;
    await ask(network, "{ me { id } }", {}, key);
    time = START + 7;
    expect(await lastUse(network, id, reader)).toEqual(used(5));
    await ask(network, "{ nonsense }", {}, key);
    expect(await lastUse(network, id, reader)).toEqual(used(7));
  }, { now: () => new Date(time) });
});

Deno.test("a key that reads itself is being used", () => {
  let time = START;
  return withHttp(async ({ network, create }) => {
    const { id, key } = await create({ name: "used", permissions: asInput(["API_KEY:READ_OWN"]) });
    time = START + 5;
    expect(await lastUse(network, id, key)).toEqual(used(5));
    const { data } = await ask(network, "{ apiKeys { lastUsedAt } }", {}, key);
    expect(data).toEqual({ apiKeys: [{ lastUsedAt: new Date(time).toISOString() }] });
  }, { now: () => new Date(time) });
});

Deno.test("a key that is created or replaced was not used, whatever became of the one before", () =>
  withHttp(async ({ network, create }) => {
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const old = await create({ name: "used", roles: ["GUEST"] });
    await ask(network, "{ me { id } }", {}, old.key);
    const { id } = await create({ name: "used", roles: ["GUEST"], overwrite: true });
    expect(await lastUse(network, id, reader)).toEqual(used(null));
  }));

Deno.test("times of last use are written when the server stops, and another server tells them", () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const { create } = serverOver(store);
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    const server = await startHttp(store, { now: () => new Date(START + 5) });
    const response = await fetch(`${server.url}?query={me{id}}`, { headers: { authorization: `Bearer ${key}` } });
    expect(await response.json()).toEqual({ data: { me: { id } } });
    expect((await store.findById(id))?.lastUsedAt).toBe(null);
    expect(await server.stop(5000)).toBe(0);
    await withStoreIn(directory, async (again) => {
      expect((await again.findById(id))?.lastUsedAt).toEqual(new Date(START + 5));
      expect(await lastUse(serverOver(again).network, id, reader)).toEqual(used(5));
    });
  }));

Deno.test("a thousand requests write nothing", () => {
  const calls: string[] = [];
  return withHttp(async ({ network, create }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    calls.length = 0;
    for (let i = 0; i < 10; i++) {
      // deno-lint-ignore no-await-in-loop -- a hundred at once are enough
      await Promise.all(Array.from({ length: 100 }, () => ask(network, "{ me { id } }", {}, key)));
    }
    expect(calls.filter((name) => name === "findIdBySecretHash")).toHaveLength(1000);
    expect(new Set(calls)).toEqual(new Set(["findIdBySecretHash", "findById"]));
  }, { wrap: (store) => counted(store, calls) });
});

Deno.test("a key that is not let in was not used", () =>
  withHttp(async ({ network, create, store, server }) => {
    const { id, key } = await create({ name: "used", roles: ["GUEST"] });
    const wrong = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
    expect((await ask(network, "{ me { id } }", {}, wrong)).status).toBe(401);
    const { key: reader } = await create({ name: "reader", roles: ["VIEWER"] });
    expect(await lastUse(network, id, reader)).toEqual(used(null));
    expect((await store.findById(id))?.lastUsedAt).toBe(null);
    await server.stop(1000);
  }));

Deno.test("all times that are not written yet are written together, and then no more", () =>
  withNewStore(async (store) => {
    const [one, two] = [await newKey("one"), await newKey("two")];
    const nobody = { at: new Date(START), actor: null, address: null, requestId: null };
    await store.add(one, nobody, () => {});
    await store.add(two, nobody, () => {});
    const calls: string[] = [];
    const lastUse = new LastUse(counted(store, calls));
    lastUse.record(one.id, new Date(START + 1));
    lastUse.record(two.id, new Date(START + 2));
    lastUse.record(one.id, new Date(START + 3));
    await lastUse.write();
    await lastUse.write();
    expect(calls).toEqual(["recordUses"]);
    expect((await store.findById(one.id))?.lastUsedAt).toEqual(new Date(START + 3));
    expect((await store.findById(two.id))?.lastUsedAt).toEqual(new Date(START + 2));
  }));

Deno.test("what could not be written is kept for the next time, unless there is something newer", async () => {
  const written: (readonly (readonly [string, number])[])[] = [];
  let isAway = true;
  const away: KeyStore["recordUses"] = (uses) => {
    if (isAway) return Promise.reject(new Error("away"));
    written.push([...uses].map(([id, at]) => [id, at.getTime() - START]));
    return Promise.resolve();
  };
  await withNewStore(async (store) => {
    const lastUse = new LastUse(
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) => name === "recordUses" ? away : target[name].bind(target),
      }),
    );
    lastUse.record("one", new Date(START + 1));
    lastUse.record("two", new Date(START + 2));
    const writing = lastUse.write();
    lastUse.record("two", new Date(START + 3));
    await expect(writing).rejects.toThrow("away");
    expect(lastUse.of({ id: "one", lastUsedAt: null })).toEqual(new Date(START + 1));
    isAway = false;
    await lastUse.write();
    expect(written).toEqual([[["one", 1], ["two", 3]]]);
  });
});

Deno.test("of the time in the store and the one that is not written yet the later one is told", () =>
  withNewStore((store) => {
    const lastUse = new LastUse(store);
    lastUse.record("one", new Date(START));
    expect(lastUse.of({ id: "one", lastUsedAt: new Date(START - 1) })).toEqual(new Date(START));
    expect(lastUse.of({ id: "one", lastUsedAt: new Date(START + 1) })).toEqual(new Date(START + 1));
    expect(lastUse.of({ id: "two", lastUsedAt: new Date(START - 1) })).toEqual(new Date(START - 1));
    expect(lastUse.of({ id: "two", lastUsedAt: null })).toBe(null);
    return Promise.resolve();
  }));

Deno.test("times that cannot be written when the server stops are an error in the log, and it stops all the same", () => {
  const errors: string[] = [];
  return withHttp(async ({ network, create, server }) => {
    const { key } = await create({ name: "used", roles: ["GUEST"] });
    await ask(network, "{ me { id } }", {}, key);
    expect(await server.stop(1000)).toBe(0);
    expect(errors).toEqual(["The times of last use were not written: {error}"]);
  }, {
    logError: (message) => void errors.push(message),
    wrap: (store) =>
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) =>
          name === "recordUses" ? () => Promise.reject(new Error("away")) : target[name].bind(target),
      }),
  });
});
