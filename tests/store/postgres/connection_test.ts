/** Connections to PostgreSQL: authentication, lost connections, and restarts of the server. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import type { DatabaseAddress } from "../../../src/store/postgres_database.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { until } from "../../server/until.ts";
import { readTrail } from "../audit_trail_contract.ts";
import { addAll, allowAny, inParallel, inSequence, listKeys, LOCAL } from "../changes.ts";
import { PASSWORD, testOnPostgres } from "./server.ts";
import { failureAt, withStoreAt } from "./store.ts";
import { type Proxy, withProxy } from "./proxy.ts";
import { activeState, newKey } from "../stored_key.ts";

/** A timeout that a test can wait for, in milliseconds. */
const SHORT_TIMEOUT = 1000;
const LONG_TIMEOUT = 40_000;

function throughProxy(address: DatabaseAddress, { port }: Proxy): DatabaseAddress {
  return { ...address, port };
}

/** Returns the failure that a promise rejects with; `undefined` if the promise is fulfilled. */
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

/** Fails if `act` takes longer than `limit` milliseconds. */
async function within(limit: number, act: () => Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`took longer than ${limit} ms`)), limit);
  await Promise.race([act(), promise]).finally(() => clearTimeout(timer));
}

await testOnPostgres("Connections to PostgreSQL", {}, (server) => {
  const invalidAddresses: readonly (readonly [string, Partial<DatabaseAddress>, string])[] = [
    ["wrong password", { password: "Tr0ub4dor&3" }, "password authentication failed"],
    ["nonexistent user", { user: "missing" }, "password authentication failed"],
    ["nonexistent database", { database: "nowhere" }, '"nowhere" does not exist'],
  ];
  for (const [what, part, reason] of invalidAddresses) {
    Deno.test(`PostgreSQL: with a ${what}, opening fails with UNREACHABLE and the message contains the reason but no password`, () =>
      server.withNewDatabase(async (name) => {
        const { code, message } = await failureAt({ ...server.address(name), ...part });
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
        expect(message).toContain(reason);
        for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "Tr0ub4dor&3"]) {
          expect(message).not.toContain(secret);
        }
      }));
  }

  Deno.test("PostgreSQL: if the server requires a password and none is set, opening fails at once, names PGPASSWORD and closes the connection", () =>
    // The server does not drop a database while a client has not logged in.
    within(LONG_TIMEOUT / 2, () =>
      server.withNewDatabase(async (name) => {
        const { code, message } = await failureAt({ ...server.address(name), password: "" }, LONG_TIMEOUT);
        expect(code).toBe("UNREACHABLE");
        expect(message).toBe(
          `Cannot use the database 127.0.0.1:${server.port}/${name}: the server requires a password, but none is set. ` +
            "Set PGPASSWORD, or add the password to the URL in SERVICE_API_DATABASE_URL or in the profile.",
        );
      })));

  Deno.test("PostgreSQL: calls fail with UNREACHABLE before their timeout while the server is stopped, and succeed after its restart", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [key, other] = await Promise.all([newKey("deploy"), newKey("other")]);
        await addAll(store, [key]);
        await server.stop();
        try {
          await within(LONG_TIMEOUT / 2, async () => {
            const { code, message } = await failureAt(server.address(name), LONG_TIMEOUT);
            expect(code).toBe("UNREACHABLE");
            expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
            expect(message).toContain("Check that the server is running");
            expect(message).not.toContain(PASSWORD);
            const reads = await inParallel(100, () => codeOf(store.findBySecretHash(key.secretHash)));
            const changes = [
              store.add(other, LOCAL, allowAny),
              store.remove([key.id], LOCAL, allowAny),
              store.recordUses(new Map([[key.id, LOCAL.at]])),
              store.dropEventsBefore(new Date()),
              store.listEvents(undefined, 10),
              listKeys(store),
            ];
            const codes = [...reads, ...await Promise.all(changes.map(codeOf))];
            expect(new Set(codes)).toEqual(new Set(["UNREACHABLE"]));
          });
        } finally {
          await server.start();
        }
        expect(await listKeys(store)).toEqual([key]);
        await store.add(other, LOCAL, allowAny);
        expect(await listKeys(store)).toEqual([key, other]);
      }, LONG_TIMEOUT)
    ));

  Deno.test("PostgreSQL: an idle store still works after a restart of the server", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const key = await newKey("deploy");
        await addAll(store, [key]);
        await inParallel(30, () => store.isEmpty());
        await server.stop();
        await server.start();
        const states = await inParallel(30, () => store.findBySecretHash(key.secretHash));
        expect(new Set(states.map((state) => state?.id))).toEqual(new Set([key.id]));
      })
    ));

  Deno.test("PostgreSQL: if the server stops during a change, the change fails with UNREACHABLE and nothing is changed", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const [old, fresh] = await Promise.all([newKey("deploy"), newKey("deploy")]);
        await addAll(store, [old]);
        // A prepared transaction keeps its locks while the server stops, so the change cannot continue.
        await server.as(
          "service",
          name,
          (run) => run("BEGIN; SELECT FROM api_key FOR UPDATE; PREPARE TRANSACTION 'x'"),
        );
        const change = codeOf(store.add(fresh, LOCAL, allowAny));
        await server.untilWaiting(name);
        try {
          await server.stop();
          expect(await change).toBe("UNREACHABLE");
        } finally {
          await server.start();
          await server.execute(name, "ROLLBACK PREPARED 'x'");
        }
        expect(await listKeys(store)).toEqual([old]);
      })
    ));

  Deno.test("PostgreSQL: if the server restarts under load, no change is partial, and a failed change has no effect, unless its message says that it may have one", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const outcomes = new Map<string, "done" | "failed" | "unknown">();
        let count = 0;
        let isOver = false;
        async function work(): Promise<void> {
          const key = await newKey(`key ${++count}`);
          const { message = "done", code = "done" } = await failureIn(store.add(key, LOCAL, allowAny)) ?? {};
          expect(code).toMatch(/^(done|UNREACHABLE)$/);
          const isUnknown = message.includes("may have taken effect");
          outcomes.set(key.id, code === "done" ? code : isUnknown ? "unknown" : "failed");
          // Without this delay, a worker whose calls fail immediately would starve the other workers.
          if (code !== "done") await new Promise((resolve) => setTimeout(resolve, 1));
          if (!isOver) await work();
        }
        const working = inParallel(30, work);
        await inSequence(Array(5), async () => {
          const before = outcomes.size;
          await until(() => outcomes.size > before + 200);
          await server.stop();
          await server.start();
        });
        isOver = true;
        await working;
        const existing = (await listKeys(store)).map(({ id }) => id);
        const withOutcome = (outcome: string): readonly string[] =>
          [...outcomes].filter((entry) => entry[1] === outcome).map(([id]) => id);
        expect(new Set(withOutcome("done")).difference(new Set(existing))).toEqual(new Set());
        expect(new Set(withOutcome("failed")).intersection(new Set(existing))).toEqual(new Set());
        expect(withOutcome("failed").length).toBeGreaterThan(0);
        const events = await readTrail(store);
        expect(events.map(({ action, keyId }) => `${action} ${keyId}`).toSorted()).toEqual(
          existing.map((id) => `CREATE ${id}`).toSorted(),
        );
      })
    ));

  Deno.test("PostgreSQL: if the response to a commit is lost, the message says that the change may have taken effect", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          proxy.rule = (direction, bytes) => direction === "down" && bytes.includes("COMMIT\0") ? "close" : "forward";
          const { code, message, mayHaveExecuted } = await failureOfPromise(store.add(key, LOCAL, allowAny));
          proxy.rule = () => "forward";
          expect({ code, mayHaveExecuted }).toEqual({ code: "UNREACHABLE", mayHaveExecuted: true });
          expect(message).toContain("may have taken effect");
          expect(await listKeys(store)).toEqual([key]);
        }))
    ));

  Deno.test("PostgreSQL: calls fail within a few timeouts while the server does not respond, and succeed afterwards", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          await addAll(store, [key]);
          proxy.rule = () => "drop";
          await within(15 * SHORT_TIMEOUT, async () => {
            const codes = await inParallel(30, () => codeOf(store.findBySecretHash(key.secretHash)));
            expect(codes.filter((code) => code !== "TIMEOUT" && code !== "UNREACHABLE")).toEqual([]);
            expect((await failureAt(throughProxy(server.address(name), proxy), SHORT_TIMEOUT)).code).toBe(
              "UNREACHABLE",
            );
          });
          proxy.rule = () => "forward";
          expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
        }, SHORT_TIMEOUT))
    ));

  Deno.test("PostgreSQL: calls fail within a few timeouts while every connection is closed immediately, and succeed afterwards", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt(throughProxy(server.address(name), proxy), async (store) => {
          const key = await newKey("deploy");
          proxy.rule = () => "close";
          await within(15 * SHORT_TIMEOUT, async () => {
            const { message } = await failureAt(throughProxy(server.address(name), proxy), SHORT_TIMEOUT);
            expect(message).toContain(`127.0.0.1:${server.port}/${name}`);
            const codes = await inParallel(20, () => codeOf(store.add(key, LOCAL, allowAny)));
            expect(codes.filter((code) => code !== "TIMEOUT" && code !== "UNREACHABLE")).toEqual([]);
          });
          proxy.rule = () => "forward";
          expect(await listKeys(store)).toEqual([]);
          await store.add(key, LOCAL, allowAny);
          expect(await listKeys(store)).toEqual([key]);
        }, SHORT_TIMEOUT))
    ));

  Deno.test("PostgreSQL: if the server allows no more connections, opening fails and the message names max_connections", () =>
    server.withNewDatabase(async (name) => {
      await server.execute(name, `ALTER DATABASE ${name} CONNECTION LIMIT 1`);
      await withStoreAt(server.address(name), async () => {
        const { code, message } = await failureAt(server.address(name));
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain("too many connections");
        expect(message).toContain("max_connections");
      });
    }));
});
