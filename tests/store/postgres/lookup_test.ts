/** Look-ups by secret on PostgreSQL: how many statements they need, and that they see every committed change. */
import { expect } from "expect";
import type { KeyStore } from "../../../src/store/key_store.ts";
import type { StoredKey } from "../../../src/store/stored_key.ts";
import { addAll, addInParallel } from "../changes.ts";
import { activeState, newKey, newKeys } from "../stored_key.ts";
import { type Proxy, withProxy } from "./proxy.ts";
import { testOnPostgres } from "./server.ts";
import { withStoreAt } from "./store.ts";

/** Records what is sent to the database while `act` runs. */
async function recordSent(proxy: Proxy, act: () => Promise<void>): Promise<string> {
  let sent = "";
  proxy.rule = (direction, bytes) => {
    if (direction === "up") sent += bytes;
    return "forward";
  };
  await act();
  return sent;
}

/** Looks a key up until the store uses the results of earlier look-ups. */
async function warmUp(store: KeyStore, { secretHash }: StoredKey): Promise<void> {
  for (let i = 0; i < 5; i++) {
    // deno-lint-ignore no-await-in-loop -- look-ups at the same time would share a query
    await store.findBySecretHash(secretHash);
  }
}

await testOnPostgres("Look-ups on PostgreSQL", {}, (server) => {
  Deno.test("PostgreSQL: look-ups of 300 keys at the same time need one query for the secrets and one for the ids", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt({ ...server.address(name), port: proxy.port }, async (store) => {
          const keys = await newKeys(300);
          await addInParallel(store, keys);
          const sent = await recordSent(proxy, async () => {
            const states = await Promise.all(keys.map(({ secretHash }) => store.findBySecretHash(secretHash)));
            const found = await Promise.all([...keys, { id: "key_nowhere" }].map(({ id }) => store.findById(id)));
            expect(states).toEqual(keys.map(activeState));
            expect(found).toEqual([...keys, undefined]);
          });
          // The message Sync ends each query.
          expect(sent.split("S\0\0\0\x04")).toHaveLength(3);
        }))
    ));

  Deno.test("PostgreSQL: while nothing changes, another look-up asks only for the version of the data, for an unknown secret too", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt({ ...server.address(name), port: proxy.port }, async (store) => {
          const [key, unknown] = await Promise.all([newKey("deploy"), newKey("unknown")]);
          await addAll(store, [key]);
          const lookUp = async (): Promise<void> => {
            const states = await Promise.all(
              [key, unknown].map(({ secretHash }) => store.findBySecretHash(secretHash)),
            );
            expect(states).toEqual([activeState(key), undefined]);
          };
          // The database server changes its own tables at times. Then the next look-up is a whole one.
          const sent: string[] = [];
          // deno-lint-ignore no-await-in-loop -- look-ups at the same time would share a query
          while (sent.length < 10) sent.push(await recordSent(proxy, lookUp));
          expect(sent[0]).toContain("find by secrets");
          expect(sent.filter((bytes) => bytes.includes("read moment") && !bytes.includes("find by secrets"))).not
            .toEqual([]);
        }))
    ));

  const changes: readonly (readonly [title: string, sql: string, changed: object | undefined])[] = [
    ["was disabled", "UPDATE api_key SET enabled = false", { status: "disabled" }],
    ["was deleted", "DELETE FROM api_key", undefined],
    ["has expired", "UPDATE api_key SET expires_at = now()", { status: "expired" }],
    ["was changed", "UPDATE api_key SET revision = 2", { revision: 2 }],
    [
      "was rotated",
      "UPDATE api_key SET previous_sha256 = secret_sha256, secret_sha256 = sha256('new')",
      { status: "rotated", isPrevious: true },
    ],
    ["may have new resources", "UPDATE schema_version SET resources_revision = 1", { resourcesRevision: 1 }],
  ];
  for (const [title, sql, changed] of changes) {
    Deno.test(`PostgreSQL: the first look-up after another process commits sees that the key ${title}, and not before`, () =>
      server.withNewDatabase((name) =>
        withStoreAt(server.address(name), async (store) => {
          const key = await newKey("deploy");
          await addAll(store, [key]);
          await server.as("service", name, async (run) => {
            await warmUp(store, key);
            await run("BEGIN");
            await run(sql);
            await warmUp(store, key);
            expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
            await run("COMMIT");
            expect(await store.findBySecretHash(key.secretHash)).toEqual(
              changed && { ...activeState(key), ...changed },
            );
          });
        })
      ));
  }

  Deno.test("PostgreSQL: a look-up finds a key that was added after the last look-up of its secret", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        const key = await newKey("deploy");
        await warmUp(store, key);
        await withStoreAt(server.address(name), (other) => addAll(other, [key]));
        expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      })
    ));
});
