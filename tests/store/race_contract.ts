/**
 * Concurrency tests that every `KeyStore` must pass, with several stores and processes. They run on SQLite and
 * PostgreSQL.
 */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { readTrail } from "./audit_trail_contract.ts";
import {
  addAll,
  addDeployer,
  addInParallel,
  allowAny,
  inParallel,
  inSequence,
  listKeys,
  LOCAL,
  rejectTakenName,
  REMOTE,
} from "./changes.ts";
import { FUTURE, renameTo, rotateTo } from "./update_contract.ts";
import { type Engine, withNewStore, withStore, withTwoStores } from "./engine.ts";
import { startRacer } from "./racers.ts";
import { newKey, newKeys } from "./stored_key.ts";

/** Returns the result of a change, or the code of its failure. */
async function outcomeOf(change: Promise<unknown>): Promise<unknown> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

/** Counts how often each value occurs. */
function tally(values: readonly unknown[]): Readonly<Record<string, number>> {
  const counts = Map.groupBy(values, String);
  return Object.fromEntries([...counts].map(([value, { length }]) => [value, length]));
}

/** Counts the events of the trail by action and outcome. */
async function tallyOfTrail(store: KeyStore): Promise<Readonly<Record<string, number>>> {
  return tally((await readTrail(store)).map(({ action, outcome }) => `${action} ${outcome}`));
}

/** Repeats `act` until `work` is done. */
async function repeatUntilDone(work: Promise<unknown>, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const end = work.finally(() => isOver = true);
  while (!isOver) {
    // deno-lint-ignore no-await-in-loop -- calls `act` one at a time
    await act();
    // deno-lint-ignore no-await-in-loop -- lets `work` continue
    await new Promise((resolve) => setTimeout(resolve));
  }
  await end;
}

/** Registers the tests for one database engine. */
export function testRaces(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("If two stores concurrently add a hundred keys with one name, all succeed, and each key after the first replaces the previous key", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await inParallel(100, () => newKey("deploy"));
      await Promise.all(keys.map((key, i) => (i % 2 === 0 ? one : two).add(key, LOCAL, allowAny)));
      const events = await readTrail(one);
      expect(await tallyOfTrail(two)).toEqual({ "CREATE DONE": 100, "REPLACE DONE": 99 });
      const created = events.filter(({ action }) => action === "CREATE").map(({ keyId }) => keyId);
      const replaced = events.filter(({ action }) => action === "REPLACE").map(({ keyId }) => keyId);
      expect(replaced).toEqual(created.slice(0, -1));
      expect((await listKeys(one)).map(({ id }) => id)).toEqual(created.slice(-1));
      expect(created.toSorted()).toEqual(keys.map(({ id }) => id).toSorted());
    }));

  test("While a key is replaced repeatedly, readers always see exactly one key with its name", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await inParallel(60, () => newKey("deploy"));
      await addAll(one, keys.slice(0, 1));
      const name = parseName("deploy");
      const seen: number[] = [];
      await repeatUntilDone(inSequence(keys.slice(1), (key) => one.add(key, LOCAL, allowAny)), async () => {
        const [found, all] = await Promise.all([two.findByName(name), listKeys(two)]);
        seen.push(all.length, found === undefined ? 0 : 1);
      });
      expect(tally(seen)).toEqual({ 1: seen.length });
    }));

  test("After a replacement, no store accepts the old secret", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await inParallel(30, () => newKey("deploy"));
      const known: string[] = [];
      await inSequence(keys.entries(), async ([i, key]) => {
        await one.add(key, LOCAL, allowAny);
        const hashes = keys.slice(0, i + 1).map(({ secretHash }) => secretHash);
        const states = await Promise.all(hashes.map((hash) => two.findBySecretHash(hash)));
        known.push(...states.flatMap((state) => state === undefined ? [] : [state.id]));
      });
      expect(known).toEqual(keys.map(({ id }) => id));
    }));

  test("Concurrent remove and recordUses calls with the same keys in different orders do not deadlock", () =>
    withTwoStores(engine, async (one, two) => {
      await inSequence(Array(5).keys(), async (round) => {
        const keys = await newKeys(40, `round ${round} key`);
        await addInParallel(one, keys);
        const ids = keys.map(({ id }) => id);
        const shuffles = [ids, ids.toReversed(), [...ids.slice(20), ...ids.slice(0, 20)], ids.toSorted()];
        const uses = shuffles.map((shuffle, i) => {
          const at = new Date(LOCAL.at.getTime() + i);
          return (i % 2 === 0 ? one : two).recordUses(new Map(shuffle.map((id) => [id, at])));
        });
        const removals = shuffles.map((shuffle, i) => (i % 2 === 0 ? two : one).remove(shuffle, LOCAL, allowAny));
        const [outcomes] = await Promise.all([Promise.all(removals), Promise.all(uses)]);
        expect(tally(outcomes)).toEqual({ true: 1, false: 3 });
      });
      expect(await one.isEmpty()).toBe(true);
    }));

  test("A hundred concurrent updates of one key by two stores all take effect", () =>
    withTwoStores(engine, async (one, two) => {
      const key = await newKey("deploy", { description: "" });
      await addAll(one, [key]);
      const marks = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x4e00 + i));
      const revisions = await Promise.all(marks.map(async (mark, i) => {
        const store = i % 2 === 0 ? one : two;
        const selector = i % 4 < 2 ? { id: key.id } : { name: key.name };
        const updated = await store.update(selector, LOCAL, { action: "UPDATE" }, (held) => ({
          ...held,
          description: `${held.description}${mark}`,
        }));
        return updated?.revision;
      }));
      expect(revisions.toSorted((a = 0, b = 0) => a - b)).toEqual(marks.map((_mark, i) => i + 2));
      expect([...(await one.findById(key.id))?.description ?? ""].toSorted()).toEqual(marks);
      expect(await tallyOfTrail(two)).toEqual({ "CREATE DONE": 1, "UPDATE DONE": 100 });
    }));

  test("If many keys are renamed to one name and created with it at once, exactly one gets the name", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(20);
      await addInParallel(one, keys);
      const outcomes = await Promise.all(keys.flatMap(({ id }, i) => [
        outcomeOf((i % 2 === 0 ? one : two).update({ id }, LOCAL, ...renameTo("wanted")).then(() => "won")),
        outcomeOf(
          newKey("wanted").then((key) => (i % 2 === 0 ? two : one).add(key, LOCAL, rejectTakenName)).then(() => "won"),
        ),
      ]));
      expect(tally(outcomes)).toEqual({ won: 1, ALREADY_EXISTS: 39 });
      expect((await listKeys(two)).filter(({ name }) => name === "wanted")).toHaveLength(1);
    }));

  test("While a key is replaced repeatedly, every update by its name finds a key", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await inParallel(40, () => newKey("deploy"));
      await addAll(one, keys.slice(0, 1));
      const name = parseName("deploy");
      const updated: unknown[] = [];
      await repeatUntilDone(inSequence(keys.slice(1), (key) => one.add(key, LOCAL, allowAny)), async () => {
        updated.push((await two.update({ name }, LOCAL, { action: "UPDATE" }, (held) => ({ ...held })))?.name);
      });
      expect(tally(updated)).toEqual({ deploy: updated.length });
    }));

  test("While a key is rotated repeatedly, its newest secret and the one before it are always active", () =>
    withTwoStores(engine, async (one, two) => {
      const key = await newKey("deploy");
      const secrets = [key, ...await newKeys(30, "secret")];
      await addAll(one, [key]);
      await inSequence(secrets.slice(1).entries(), async ([i, fresh]) => {
        const rotation = one.update({ id: key.id }, LOCAL, { action: "ROTATE" }, rotateTo(fresh, FUTURE));
        const during = await two.findBySecretHash(secrets[i]?.secretHash ?? fresh.secretHash);
        expect(during?.status).toBe("active");
        await rotation;
        const states = await Promise.all(secrets.map(({ secretHash }) => two.findBySecretHash(secretHash)));
        expect(states.map((state) => state?.status)).toEqual(
          secrets.map((_secret, n) => n === i || n === i + 1 ? "active" : undefined),
        );
      });
    }));

  test("Concurrent recordUses calls with the same keys in different orders do not deadlock, and the latest use is stored", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(200);
      await addInParallel(one, keys);
      const ids = keys.map(({ id }) => id);
      await inParallel(20, (i) => {
        const at = new Date(LOCAL.at.getTime() + i);
        return (i % 4 < 2 ? one : two).recordUses(
          new Map((i % 2 === 0 ? ids : ids.toReversed()).map((id) => [id, at])),
        );
      });
      const times = (await listKeys(two)).map(({ lastUsedAt }) => (lastUsedAt?.getTime() ?? 0) - LOCAL.at.getTime());
      expect(tally(times)).toEqual({ 19: 200 });
    }));

  test("Each of many concurrent writes succeeds or fails independently of the others", () =>
    withNewStore(engine, async (store) => {
      const [taken, gone] = await Promise.all([newKey("taken"), newKey("gone")]);
      await addAll(store, [taken, gone]);
      await store.remove([gone.id], LOCAL, allowAny);
      const fresh = await newKeys(50, "fresh");
      const clashes = await inParallel(50, (i) => newKey(`clash ${i}`, { secretHash: taken.secretHash }));
      const again = await inParallel(50, () => newKey("taken"));
      const outcomes = await Promise.all(fresh.flatMap((key, i) => {
        const [clash = key, second = key] = [clashes[i], again[i]];
        return [
          outcomeOf(store.add(key, LOCAL, rejectTakenName)),
          outcomeOf(store.add(clash, LOCAL, rejectTakenName)),
          outcomeOf(store.remove([gone.id], LOCAL, allowAny)),
          outcomeOf(store.add(second, LOCAL, rejectTakenName)),
        ];
      }));
      expect(outcomes).toEqual(fresh.flatMap(() => [undefined, "UNREACHABLE", false, "ALREADY_EXISTS"]));
      const names = (await listKeys(store)).map(({ name }) => String(name));
      expect(names.toSorted()).toEqual(["taken", ...fresh.map(({ name }) => String(name))].toSorted());
      expect(await tallyOfTrail(store)).toEqual({ "CREATE DONE": 52, "DELETE DONE": 1 });
    }));

  test("While keys are added and removed, list returns each of the other keys exactly once", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(1_100);
      await addInParallel(one, keys);
      const order = (await listKeys(one)).map(({ id }) => id);
      const seen: StoredKey[] = [];
      for await (const key of one.list()) {
        seen.push(key);
        if (seen.length === 500) await two.remove([...order.slice(0, 300), ...order.slice(1_050)], LOCAL, allowAny);
        if (seen.length === 600) await two.add(await newKey("late"), LOCAL, allowAny);
      }
      const ids = seen.map(({ id }) => id).filter((id) => order.slice(0, 1_050).includes(id));
      expect(ids).toEqual(order.slice(0, 1_050));
      expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    }));

  test("While four writers add events, a reader that always continues after the last event it has read misses no event", () =>
    withTwoStores(engine, async (one, two) => {
      await addDeployer(one);
      const read: string[] = [];
      const writing = inParallel(4, async (writer) => {
        const [mine, theirs] = writer % 2 === 0 ? [one, two] : [two, one];
        const keys = await newKeys(25, `writer ${writer} key`);
        await inSequence(keys, async (key) => {
          await mine.add(key, REMOTE, rejectTakenName);
          await theirs.remove([key.id], REMOTE, allowAny);
        });
      });
      const readOn = async (): Promise<void> => {
        read.push(...(await two.listEvents(read.at(-1), 7)).map(({ id }) => id));
      };
      await repeatUntilDone(writing, readOn);
      read.push(...(await readTrail(two, read.at(-1))).map(({ id }) => id));
      expect(read).toEqual((await readTrail(one)).map(({ id }) => id));
      expect(read.length).toBe(1 + 4 * 25 * 2);
    }));

  test("If ten processes open a new store and create keys with the same names, exactly one process succeeds for each name", () =>
    engine.withNewLocation(async (location) => {
      const names = Array.from({ length: 30 }, (_, i) => `key ${i}`);
      const racers = Array.from({ length: 10 }, () => startRacer(location.racer, names));
      await Promise.all(racers.map(({ ready }) => ready));
      const outcomes = await Promise.all(racers.map(({ run }) => run()));
      expect(names.map((_, i) => tally(outcomes.map((outcome) => outcome[i])))).toEqual(
        names.map(() => ({ won: 1, ALREADY_EXISTS: 9 })),
      );
      await withStore(location, async (store) => {
        expect((await listKeys(store)).map(({ name }) => String(name)).toSorted()).toEqual(names.toSorted());
        expect(await tallyOfTrail(store)).toEqual({ "CREATE DONE": 30 });
      });
    }));
}
