/** What `KeyStore` promises when much happens at once, between stores and between processes, on whichever engine. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import { parseName } from "../../src/apikey/name.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { trail } from "./audit_trail_contract.ts";
import {
  addAll,
  addAtOnce,
  addDeployer,
  anyway,
  atOnce,
  inTurn,
  listed,
  LOCAL,
  REMOTE,
  unlessTaken,
} from "./changes.ts";
import { type Engine, withNewStore, withStore, withTwoStores } from "./engine.ts";
import { startRacer } from "./racers.ts";
import { newKey, newKeys } from "./stored_key.ts";

/** What became of a change: what it returned, or the code of its failure. */
async function outcomeOf(change: Promise<unknown>): Promise<unknown> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

/** How often each of some values occurs. */
function tally(values: readonly unknown[]): Readonly<Record<string, number>> {
  const counts = Map.groupBy(values, String);
  return Object.fromEntries([...counts].map(([value, { length }]) => [value, length]));
}

/** How often each action is in the trail with each outcome. */
async function tallyOfTrail(store: KeyStore): Promise<Readonly<Record<string, number>>> {
  return tally((await trail(store)).map(({ action, outcome }) => `${action} ${outcome}`));
}

/** Does `act` again and again until `work` is done. */
async function untilOver(work: Promise<unknown>, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const end = work.finally(() => isOver = true);
  while (!isOver) {
    // deno-lint-ignore no-await-in-loop -- that is what it is for
    await act();
    // deno-lint-ignore no-await-in-loop -- the work is to get its turn
    await new Promise((resolve) => setTimeout(resolve));
  }
  await end;
}

/** Registers the tests of the contract for an engine. */
export function testRaces(engine: Engine): void {
  const test = (rule: string, check: () => Promise<void>): void => Deno.test(`${engine.name}: ${rule}`, check);

  test("Of twenty who want one name through two stores at once, exactly one gets it", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await atOnce(20, () => newKey("deploy"));
      const outcomes = await Promise.all(
        keys.map((key, i) => outcomeOf((i % 2 === 0 ? one : two).add(key, LOCAL, unlessTaken))),
      );
      expect(tally(outcomes)).toEqual({ undefined: 1, ALREADY_EXISTS: 19 });
      expect(await listed(two)).toEqual([keys[outcomes.indexOf(undefined)]]);
      expect(await tallyOfTrail(one)).toEqual({ "CREATE DONE": 1 });
    }));

  for (const count of [20, 100]) {
    test(`${count} replacements of one key through two stores at once all succeed, one after the other`, () =>
      withTwoStores(engine, async (one, two) => {
        const keys = await atOnce(count, () => newKey("deploy"));
        await Promise.all(keys.map((key, i) => (i % 2 === 0 ? one : two).add(key, LOCAL, anyway)));
        const events = await trail(one);
        expect(await tallyOfTrail(two)).toEqual({ "CREATE DONE": count, "REPLACE DONE": count - 1 });
        const created = events.filter(({ action }) => action === "CREATE").map(({ keyId }) => keyId);
        const replaced = events.filter(({ action }) => action === "REPLACE").map(({ keyId }) => keyId);
        expect(replaced).toEqual(created.slice(0, -1));
        expect((await listed(one)).map(({ id }) => id)).toEqual(created.slice(-1));
        expect(created.toSorted()).toEqual(keys.map(({ id }) => id).toSorted());
      }));
  }

  test("While a key is replaced again and again, there is never a moment without one, nor one with two", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await atOnce(60, () => newKey("deploy"));
      await addAll(one, keys.slice(0, 1));
      const name = parseName("deploy");
      const seen: number[] = [];
      await untilOver(inTurn(keys.slice(1), (key) => one.add(key, LOCAL, anyway)), async () => {
        const [found, all] = await Promise.all([two.findByName(name), listed(two)]);
        seen.push(all.length, found === undefined ? 0 : 1);
      });
      expect(tally(seen)).toEqual({ 1: seen.length });
    }));

  test("From the end of a replacement on, no store knows the old secret", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await atOnce(30, () => newKey("deploy"));
      const known: (string | undefined)[] = [];
      await inTurn(keys.entries(), async ([i, key]) => {
        await one.add(key, LOCAL, anyway);
        const hashes = keys.slice(0, i + 1).map(({ secretHash }) => secretHash);
        known.push(...(await Promise.all(hashes.map((hash) => two.findIdBySecretHash(hash)))).filter(Boolean));
      });
      expect(known).toEqual(keys.map(({ id }) => id));
    }));

  test("Of twenty who remove one key through two stores at once, exactly one does", () =>
    withTwoStores(engine, async (one, two) => {
      const key = await newKey("deploy");
      await addAll(one, [key]);
      const outcomes = await atOnce(20, (i) => (i % 2 === 0 ? one : two).remove([key.id], LOCAL, anyway));
      expect(tally(outcomes)).toEqual({ true: 1, false: 19 });
      expect(await tallyOfTrail(one)).toEqual({ "CREATE DONE": 1, "DELETE DONE": 1, "DELETE NOT_FOUND": 19 });
    }));

  test("Removals of the same keys in different orders, with uses recorded meanwhile, never hold each other up for good", () =>
    withTwoStores(engine, async (one, two) => {
      await inTurn(Array(10).keys(), async (round) => {
        const keys = await newKeys(40, `round ${round} key`);
        await addAtOnce(one, keys);
        const ids = keys.map(({ id }) => id);
        const shuffles = [ids, ids.toReversed(), [...ids.slice(20), ...ids.slice(0, 20)], ids.toSorted()];
        const uses = shuffles.map((shuffle, i) => {
          const at = new Date(LOCAL.at.getTime() + i);
          return (i % 2 === 0 ? one : two).recordUses(new Map(shuffle.map((id) => [id, at])));
        });
        const removals = shuffles.map((shuffle, i) => (i % 2 === 0 ? two : one).remove(shuffle, LOCAL, anyway));
        const [outcomes] = await Promise.all([Promise.all(removals), Promise.all(uses)]);
        expect(tally(outcomes)).toEqual({ true: 1, false: 3 });
      });
      expect(await one.isEmpty()).toBe(true);
    }));

  test("Uses of the same thousand keys recorded in different orders at once are all recorded", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(1_000);
      await addAtOnce(one, keys);
      const ids = keys.map(({ id }) => id);
      await atOnce(20, (i) => {
        const at = new Date(LOCAL.at.getTime() + i);
        return (i % 4 < 2 ? one : two).recordUses(
          new Map((i % 2 === 0 ? ids : ids.toReversed()).map((id) => [id, at])),
        );
      });
      const times = (await listed(two)).map(({ lastUsedAt }) => (lastUsedAt?.getTime() ?? 0) - LOCAL.at.getTime());
      expect(tally(times)).toEqual({ 19: 1_000 });
    }));

  test("Of many writes at once, each one's outcome is its own, whatever becomes of the others", () =>
    withNewStore(engine, async (store) => {
      const [taken, gone] = await Promise.all([newKey("taken"), newKey("gone")]);
      await addAll(store, [taken, gone]);
      await store.remove([gone.id], LOCAL, anyway);
      const fresh = await newKeys(50, "fresh");
      const clashes = await atOnce(50, (i) => newKey(`clash ${i}`, { secretHash: taken.secretHash }));
      const again = await atOnce(50, () => newKey("taken"));
      const outcomes = await Promise.all(fresh.flatMap((key, i) => {
        const [clash = key, second = key] = [clashes[i], again[i]];
        return [
          outcomeOf(store.add(key, LOCAL, unlessTaken)),
          outcomeOf(store.add(clash, LOCAL, unlessTaken)),
          outcomeOf(store.remove([gone.id], LOCAL, anyway)),
          outcomeOf(store.add(second, LOCAL, unlessTaken)),
        ];
      }));
      expect(outcomes).toEqual(fresh.flatMap(() => [undefined, "UNREACHABLE", false, "ALREADY_EXISTS"]));
      const names = (await listed(store)).map(({ name }) => String(name));
      expect(names.toSorted()).toEqual(["taken", ...fresh.map(({ name }) => String(name))].toSorted());
      expect(await tallyOfTrail(store)).toEqual({ "CREATE DONE": 52, "DELETE DONE": 1, "DELETE NOT_FOUND": 50 });
    }));

  test("Whoever lists keys while others are removed and added still gets each of the rest once", () =>
    withTwoStores(engine, async (one, two) => {
      const keys = await newKeys(1_100);
      await addAtOnce(one, keys);
      const order = (await listed(one)).map(({ id }) => id);
      const seen: StoredKey[] = [];
      for await (const key of one.list()) {
        seen.push(key);
        if (seen.length === 500) await two.remove([...order.slice(0, 300), ...order.slice(1_050)], LOCAL, anyway);
        if (seen.length === 600) await two.add(await newKey("late"), LOCAL, anyway);
      }
      const ids = seen.map(({ id }) => id).filter((id) => order.slice(0, 1_050).includes(id));
      expect(ids).toEqual(order.slice(0, 1_050));
      expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    }));

  test("Whoever reads on from the last event misses none that four writers record meanwhile", () =>
    withTwoStores(engine, async (one, two) => {
      await addDeployer(one);
      const read: string[] = [];
      const writing = atOnce(4, async (writer) => {
        const [mine, theirs] = writer % 2 === 0 ? [one, two] : [two, one];
        const keys = await newKeys(25, `writer ${writer} key`);
        await inTurn(keys, async (key) => {
          await mine.add(key, REMOTE, unlessTaken);
          await theirs.remove([key.id], REMOTE, anyway);
        });
      });
      const readOn = async (): Promise<void> => {
        read.push(...(await two.listEvents(read.at(-1), 7)).map(({ id }) => id));
      };
      await untilOver(writing, readOn);
      read.push(...(await trail(two, read.at(-1))).map(({ id }) => id));
      expect(read).toEqual((await trail(one)).map(({ id }) => id));
      expect(read.length).toBe(1 + 4 * 25 * 2);
    }));

  test("Of ten processes that open a new store at once and race for names, exactly one wins each name", () =>
    engine.withNewPlace(async (place) => {
      const names = Array.from({ length: 30 }, (_, i) => `key ${i}`);
      const racers = Array.from({ length: 10 }, () => startRacer(place.racer, names));
      await Promise.all(racers.map(({ ready }) => ready));
      const outcomes = await Promise.all(racers.map(({ run }) => run()));
      expect(names.map((_, i) => tally(outcomes.map((outcome) => outcome[i])))).toEqual(
        names.map(() => ({ won: 1, ALREADY_EXISTS: 9 })),
      );
      await withStore(place, async (store) => {
        expect((await listed(store)).map(({ name }) => String(name)).toSorted()).toEqual(names.toSorted());
        expect(await tallyOfTrail(store)).toEqual({ "CREATE DONE": 30 });
      });
    }));
}
