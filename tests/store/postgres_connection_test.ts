/** What the PostgreSQL store does about the way to its server: passwords, and a server that goes and comes back. */
import { expect } from "expect";
import { Failure } from "../../src/apikey/failure.ts";
import type { DatabaseAddress } from "../../src/store/postgres_database.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { until } from "../server/until.ts";
import { trail } from "./audit_trail_contract.ts";
import { addAll, anyway, atOnce, inTurn, listed, LOCAL } from "./changes.ts";
import { PASSWORD, testOnPostgres } from "./postgres_server.ts";
import { refusalAt, withStoreAt } from "./postgres_store.ts";
import { type Proxy, withProxy } from "./proxy.ts";
import { newKey } from "./stored_key.ts";

/** A timeout, in milliseconds, that tests are willing to wait for. */
const SHORT = 1000;

function throughProxy(address: DatabaseAddress, { port }: Proxy): DatabaseAddress {
  return { ...address, port };
}

/** The failure of a promise; `undefined` when there is none. */
async function failureIn(promise: Promise<unknown>): Promise<Failure | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await failureIn(promise))?.code ?? "done";
}

/** Fails when `act` takes too long, in milliseconds. */
async function within(limit: number, act: () => Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it takes longer than ${limit} ms`)), limit);
  await Promise.race([act(), promise]).finally(() => clearTimeout(timer));
}

await testOnPostgres("The way to PostgreSQL", {}, (server) => {
  const wrong: readonly (readonly [string, Partial<DatabaseAddress>, string])[] = [
    ["wrong password", { password: "Tr0ub4dor&3" }, "password authentication failed"],
    ["user that is not there", { user: "somebody" }, "password authentication failed"],
    ["database that is not there", { database: "nowhere" }, '"nowhere" does not exist'],
  ];
  for (const [what, part, reason] of wrong) {
    Deno.test(`PostgreSQL: a ${what} is UNREACHABLE, told with the place and the reason, and no password`, () =>
      server.withNewDatabase(async (name) => {
        const { code, message } = await refusalAt({ ...server.address(name), ...part });
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
        expect(message).toContain(reason);
        for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "Tr0ub4dor&3"]) {
          expect(message).not.toContain(secret);
        }
      }));
  }

  Deno.test("PostgreSQL: a password of any characters is a password like any other", () =>
    server.withNewDatabase(async (name) => {
      expect(PASSWORD).toMatch(/[/:@ %?#]{5}|%\?#/);
      await withStoreAt(server.address(name), async (store) => expect(await store.isEmpty()).toBe(true));
    }));

  Deno.test("PostgreSQL: while the server is stopped everything is UNREACHABLE at once, and then the store goes on", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [key, other] = await Promise.all([newKey("deploy"), newKey("other")]);
        await addAll(store, [key]);
        await server.stop();
        try {
          await within(2_000, async () => {
            const { code, message } = await refusalAt(server.address(name));
            expect(code).toBe("UNREACHABLE");
            expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
            expect(message).toContain("Is it running");
            expect(message).not.toContain(PASSWORD);
            const reads = await atOnce(100, () => codeOf(store.findIdBySecretHash(key.secretHash)));
            const changes = [
              store.add(other, LOCAL, anyway),
              store.remove([key.id], LOCAL, anyway),
              store.recordUses(new Map([[key.id, LOCAL.at]])),
              store.dropEventsBefore(new Date()),
              store.listEvents(undefined, 10),
              listed(store),
            ];
            const codes = [...reads, ...await Promise.all(changes.map(codeOf))];
            expect(new Set(codes)).toEqual(new Set(["UNREACHABLE"]));
          });
        } finally {
          await server.start();
        }
        expect(await listed(store)).toEqual([key]);
        await store.add(other, LOCAL, anyway);
        expect(await listed(store)).toEqual([key, other]);
      })
    ));

  Deno.test("PostgreSQL: a store that nobody used while the server was restarted works as if nothing had been", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const key = await newKey("deploy");
        await addAll(store, [key]);
        await atOnce(30, () => store.isEmpty());
        await server.stop();
        await server.start();
        const ids = await atOnce(30, () => store.findIdBySecretHash(key.secretHash));
        expect(new Set(ids)).toEqual(new Set([key.id]));
      })
    ));

  Deno.test("PostgreSQL: a change that the stop of the server interrupts fails and does not take place", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
        await addAll(store, [old]);
        // A prepared transaction keeps its locks while the server is stopped: nothing lets the change go on.
        await server.as(
          "service",
          name,
          (run) => run("BEGIN; SELECT FROM api_key FOR UPDATE; PREPARE TRANSACTION 'x'"),
        );
        const change = codeOf(store.add(fresh, LOCAL, anyway));
        await server.untilWaiting(name);
        try {
          await server.stop();
          expect(await change).toBe("UNREACHABLE");
        } finally {
          await server.start();
          await server.execute(name, "ROLLBACK PREPARED 'x'");
        }
        expect(await listed(store)).toEqual([old]);
      })
    ));

  Deno.test("PostgreSQL: under load, a server that is restarted takes no half changes and no changes that were refused", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const outcomes = new Map<string, "done" | "failed" | "doubtful">();
        let asked = 0;
        let isOver = false;
        async function work(): Promise<void> {
          const key = await newKey(`key ${++asked}`);
          const { message = "done", code = "done" } = await failureIn(store.add(key, LOCAL, anyway)) ?? {};
          expect(code).toMatch(/^(done|UNREACHABLE)$/);
          const isDoubtful = message.includes("may have been carried out");
          outcomes.set(key.id, code === "done" ? code : isDoubtful ? "doubtful" : "failed");
          // What is refused at once would else leave nobody else a turn.
          if (code !== "done") await new Promise((resolve) => setTimeout(resolve, 1));
          if (!isOver) await work();
        }
        const working = atOnce(30, work);
        await inTurn(Array(5), async () => {
          const before = outcomes.size;
          await until(() => outcomes.size > before + 200);
          await server.stop();
          await server.start();
        });
        isOver = true;
        await working;
        const there = (await listed(store)).map(({ id }) => id);
        const withOutcome = (outcome: string): readonly string[] =>
          [...outcomes].filter((entry) => entry[1] === outcome).map(([id]) => id);
        expect(new Set(withOutcome("done")).difference(new Set(there))).toEqual(new Set());
        expect(new Set(withOutcome("failed")).intersection(new Set(there))).toEqual(new Set());
        expect(withOutcome("failed").length).toBeGreaterThan(0);
        const events = await trail(store);
        expect(events.map(({ action, keyId }) => `${action} ${keyId}`).toSorted()).toEqual(
          there.map((id) => `CREATE ${id}`).toSorted(),
        );
      })
    ));

  Deno.test("PostgreSQL: whoever misses the answer to a change is told that it may have been carried out", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          proxy.rule = (direction, bytes) => direction === "down" && bytes.includes("COMMIT\0") ? "close" : "pass";
          const { code, message } = await failureOfPromise(store.add(key, LOCAL, anyway));
          proxy.rule = () => "pass";
          expect(code).toBe("UNREACHABLE");
          expect(message).toContain("may have been carried out");
          expect(await listed(store)).toEqual([key]);
        }))
    ));

  Deno.test("PostgreSQL: a server that says nothing is given up after the timeout, and used again when it is back", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          await addAll(store, [key]);
          proxy.rule = () => "lose";
          await within(5 * SHORT, async () => {
            const codes = await atOnce(30, () => codeOf(store.findIdBySecretHash(key.secretHash)));
            expect(codes.filter((code) => code !== "TIMEOUT" && code !== "UNREACHABLE")).toEqual([]);
            expect((await refusalAt(throughProxy(server.address(name), proxy), SHORT)).code).toBe("UNREACHABLE");
          });
          proxy.rule = () => "pass";
          expect(await store.findIdBySecretHash(key.secretHash)).toBe(key.id);
        }, SHORT))
    ));

  Deno.test("PostgreSQL: where every connection is closed as soon as it is made, the store is given up after a while", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          proxy.rule = () => "close";
          await within(6 * SHORT, async () => {
            const { message } = await refusalAt(throughProxy(server.address(name), proxy), SHORT);
            expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
            const codes = await atOnce(20, () => codeOf(store.add(key, LOCAL, anyway)));
            expect(codes.filter((code) => code !== "TIMEOUT" && code !== "UNREACHABLE")).toEqual([]);
          });
          proxy.rule = () => "pass";
          expect(await listed(store)).toEqual([]);
          await store.add(key, LOCAL, anyway);
          expect(await listed(store)).toEqual([key]);
        }, SHORT))
    ));

  Deno.test("PostgreSQL: a server with no connection left says so", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `ALTER DATABASE ${name} CONNECTION LIMIT 1`);
      await withStoreAt(server.address(name), async () => {
        const { code, message } = await refusalAt(server.address(name));
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain("too many connections");
        expect(message).toContain("max_connections");
      });
    }));
});
