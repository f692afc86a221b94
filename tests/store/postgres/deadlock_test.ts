/** Deadlocks and serialization failures of PostgreSQL: changes avoid them, and repeat what the database rolled back. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import type { Origin } from "../../../src/store/audit_event.ts";
import { openPostgresStore } from "../../../src/store/postgres.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import type { StoredKey } from "../../../src/store/stored_key.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { readTrail } from "../audit_trail_contract.ts";
import { addAll, allowAny, inSequence, listKeys, LOCAL, rejectTakenName, REMOTE } from "../changes.ts";
import { newKey } from "../stored_key.ts";
import { FUTURE, renameTo, rotateTo, set } from "../update_contract.ts";
import { testOnPostgres } from "./server.ts";

/** The origin of a change that a key requests. */
function by({ id, name }: StoredKey): Origin {
  return { ...REMOTE, actor: { id, name } };
}

/** Returns "done", or the code of the failure of a change. */
async function outcomeOf(change: Promise<unknown>): Promise<string> {
  try {
    await change;
    return "done";
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

await testOnPostgres("PostgreSQL deadlocks", {}, (server) => {
  /** Runs a test with two stores on a new database. Both stores add the errors that they retry to `retried`. */
  function withTwoStores(
    test: (one: KeyStore, two: KeyStore, name: string, retried: readonly string[]) => Promise<void>,
    timeout = 30_000,
  ): Promise<void> {
    return server.withNewDatabase(async (name) => {
      const retried: string[] = [];
      const options = {
        address: server.address(name),
        timeout,
        onRetry: (reason: string) => retried.push(reason),
      };
      const one = await openPostgresStore(options);
      const two = await openPostgresStore(options);
      try {
        await test(one, two, name, retried);
      } finally {
        await Promise.all([one.close(), two.close()]);
      }
    });
  }

  Deno.test("PostgreSQL: keys that delete and replace each other at the same time do not deadlock", () =>
    withTwoStores(async (one, two, _name, retried) => {
      await inSequence(Array(20).keys(), async (round) => {
        const [a, b] = await Promise.all([newKey(`a ${round}`), newKey(`b ${round}`)]);
        const [newA, newB] = await Promise.all([newKey(a.name), newKey(b.name)]);
        await addAll(one, [a, b]);
        const outcomes = await Promise.all([
          outcomeOf(one.remove([b.id], by(a), allowAny)),
          outcomeOf(two.remove([a.id], by(b), allowAny)),
          outcomeOf(one.add(newB, by(a), allowAny)),
          outcomeOf(two.add(newA, by(b), allowAny)),
        ]);
        expect(outcomes.filter((outcome) => outcome !== "done" && outcome !== "UNAUTHENTICATED")).toEqual([]);
        expect(outcomes).toContain("done");
      });
      expect(retried).toEqual([]);
    }));

  Deno.test("PostgreSQL: a key that replaces itself while its keys are deleted in any order does not deadlock", () =>
    withTwoStores(async (one, two, _name, retried) => {
      await inSequence(Array(10).keys(), async (round) => {
        const parent = await newKey(`parent ${round}`);
        const created = { createdBy: parent.id };
        const names = Array.from({ length: 40 }, (_, i) => `child ${round} ${i}`);
        const children = await Promise.all(names.map((name) => newKey(name, created)));
        await addAll(one, [...children.slice(0, 20), parent, ...children.slice(20)]);
        const [successor, child] = await Promise.all([newKey(parent.name, created), newKey("new", created)]);
        const ids = [...children.slice(10, 30), parent].map(({ id }) => id);
        const outcomes = await Promise.all([
          outcomeOf(one.add(successor, by(parent), allowAny)),
          outcomeOf(two.remove(ids.slice(0, -1).toReversed(), LOCAL, allowAny)),
          outcomeOf(one.remove(ids, LOCAL, allowAny)),
          outcomeOf(two.add(child, by(parent), allowAny)),
        ]);
        expect(outcomes.filter((outcome) => outcome !== "done" && outcome !== "UNAUTHENTICATED")).toEqual([]);
        await one.remove([child.id], LOCAL, allowAny);
      });
      expect(retried).toEqual([]);
    }));

  Deno.test("PostgreSQL: keys that update, rotate, rename, replace, delete and use each other at the same time do not deadlock", () =>
    withTwoStores(async (one, two, _name, retried) => {
      await inSequence(Array(20).keys(), async (round) => {
        const names = ["a", "b", "c", "d"].map((name) => `${name} ${round}`);
        const [a, b, c, d] = await Promise.all([
          newKey(`a ${round}`),
          newKey(`b ${round}`),
          newKey(`c ${round}`),
          newKey(`d ${round}`),
        ]);
        const [newA, newC, fresh] = await Promise.all([newKey(a.name), newKey(c.name), newKey("fresh")]);
        const keys = round % 2 === 0 ? [a, b, c, d] : [d, c, b, a];
        await addAll(one, keys);
        const uses = keys.map(({ id }): [string, Date] => [id, LOCAL.at]);
        const update = { action: "UPDATE" } as const;
        const outcomes = await Promise.all([
          outcomeOf(one.update({ id: a.id }, by(b), ...renameTo(b.name))),
          outcomeOf(two.update({ id: b.id }, by(a), ...renameTo(a.name))),
          outcomeOf(one.update({ name: c.name }, by(d), ...renameTo(d.name))),
          outcomeOf(two.update({ name: d.name }, by(c), ...renameTo(c.name))),
          outcomeOf(one.update({ name: d.name }, by(a), { action: "ROTATE" }, rotateTo(fresh, FUTURE))),
          outcomeOf(two.update({ name: a.name }, by(c), update, set({ enabled: false }))),
          outcomeOf(one.add(newA, by(c), allowAny)),
          outcomeOf(two.add(newC, by(c), allowAny)),
          outcomeOf(one.remove([d.id, b.id], by(a), allowAny)),
          outcomeOf(two.recordUses(new Map(uses.toReversed()))),
          outcomeOf(one.recordUses(new Map(uses))),
        ]);
        const expected = ["done", "UNAUTHENTICATED", "ALREADY_EXISTS"];
        expect(outcomes.filter((outcome) => !expected.includes(outcome))).toEqual([]);
        const left = (await listKeys(two)).filter(({ name }) => names.includes(name));
        await one.remove(left.map(({ id }) => id), LOCAL, allowAny);
      });
      expect(await listKeys(one)).toEqual([]);
      expect(retried).toEqual([]);
    }));

  Deno.test("PostgreSQL: if the database ends a change because of a deadlock with another program, the change is repeated and takes effect once", () =>
    withTwoStores(async (one, two, name, retried) => {
      const [a, b] = await Promise.all([newKey("a"), newKey("b")]);
      await addAll(one, [a, b]);
      await server.as("admin", name, async (run) => {
        // The other program waits longer before it looks for a deadlock, so the database ends the change.
        await run("SET deadlock_timeout = '1min'; BEGIN");
        await run(`SELECT FROM api_key WHERE id = '${b.id}' FOR UPDATE`);
        const removal = outcomeOf(two.remove([a.id, b.id], LOCAL, allowAny));
        await server.untilWaiting(name);
        await run(`SELECT FROM api_key WHERE id = '${a.id}' FOR UPDATE`);
        await run("COMMIT");
        expect(await removal).toBe("done");
      });
      expect(retried).toEqual(["deadlock detected"]);
      expect(await one.isEmpty()).toBe(true);
      expect((await readTrail(one)).map(({ action, keyId }) => [action, keyId])).toEqual([
        ["CREATE", a.id],
        ["CREATE", b.id],
        ["DELETE", a.id],
        ["DELETE", b.id],
      ]);
    }));

  /** Makes the next inserts of keys fail with a serialization failure, each after a delay in seconds. */
  function failInserts(name: string, times: number, delay = 0): Promise<unknown> {
    return server.as("admin", name, (run) =>
      run(`
        CREATE SEQUENCE failures;
        GRANT USAGE ON failures TO service;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('service_api.failures') > ${times} THEN RETURN NEW; END IF;
          PERFORM pg_sleep(${delay});
          RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';
        END $$;
        CREATE TRIGGER fail BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION fail()`));
  }

  Deno.test("PostgreSQL: if the database rolls a change back with a serialization failure, the change is repeated", () =>
    withTwoStores(async (store, _other, name, retried) => {
      await failInserts(name, 2);
      const key = await newKey("deploy");
      await store.add(key, LOCAL, rejectTakenName);
      expect(await listKeys(store)).toEqual([key]);
      expect(retried).toEqual(Array(2).fill("could not serialize access"));
      expect(await readTrail(store)).toHaveLength(1);
    }));

  for (
    const [limit, timeout, delay, min, max] of [
      ["ten attempts", 30_000, 0, 9, 9],
      ["its timeout", 2000, 0.5, 1, 4],
    ] as const
  ) {
    Deno.test(`PostgreSQL: a change that the database keeps rolling back fails with TIMEOUT after ${limit}`, () =>
      withTwoStores(async (store, _other, name, retried) => {
        await failInserts(name, 1_000_000, delay);
        const { code, message } = await failureOfPromise(store.add(await newKey("deploy"), LOCAL, allowAny));
        expect(code).toBe("TIMEOUT");
        expect(retried.length).toBeGreaterThanOrEqual(min);
        expect(retried.length).toBeLessThanOrEqual(max);
        expect(message).toContain("busy with other changes: could not serialize access. Nothing was changed.");
        expect(await listKeys(store)).toEqual([]);
      }, timeout));
  }
});
