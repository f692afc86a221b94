/** Expiry and grace periods in the SQLite store, by an injected clock. */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { fillSqlite } from "../../scripts/fill_store.ts";
import type { KeyStatus } from "../../src/store/lookups/key_state.ts";
import { openSqliteStore, openSqliteStoreOnDemand } from "../../src/store/sqlite.ts";
import { addAll } from "./changes.ts";
import { newKey } from "./stored_key.ts";
import { inTemporaryDirectory } from "./temporary_store.ts";

const MOMENT = new Date("2030-01-01T00:00:00.000Z");

for (const open of [openSqliteStore, openSqliteStoreOnDemand]) {
  Deno.test(`SQLite: a key of a store from ${open.name} is rejected from the millisecond of its expiry on, and its previous secret from the end of the grace period on`, () =>
    inTemporaryDirectory(async (directory) => {
      let now = MOMENT;
      const store = await open({ directory, busyTimeout: 5_000, now: () => now });
      try {
        const [previous, shorter] = await Promise.all([newKey("previous"), newKey("shorter")]);
        const graceUntil = new Date(MOMENT.getTime() - 1000);
        const secrets = [
          await newKey("expiring", { expiresAt: MOMENT, previousSecretHash: previous.secretHash, graceUntil: MOMENT }),
          previous,
          await newKey("lasting", { previousSecretHash: shorter.secretHash, graceUntil }),
          shorter,
        ];
        await addAll(store, [secrets[0], secrets[2]].filter((key) => key !== undefined));
        const statusesAt = async (offset: number): Promise<readonly (KeyStatus | undefined)[]> => {
          now = new Date(MOMENT.getTime() + offset);
          return await Promise.all(
            secrets.map(async ({ secretHash }) => (await store.findBySecretHash(secretHash))?.status),
          );
        };
        expect(await statusesAt(-1001)).toEqual(["active", "active", "active", "active"]);
        expect(await statusesAt(-1000)).toEqual(["active", "active", "active", "rotated"]);
        expect(await statusesAt(-1)).toEqual(["active", "active", "active", "rotated"]);
        expect(await statusesAt(0)).toEqual(["expired", "rotated", "active", "rotated"]);
        expect(await statusesAt(1)).toEqual(["expired", "rotated", "active", "rotated"]);
        expect(await statusesAt(-1)).toEqual(["active", "active", "active", "rotated"]);
      } finally {
        await store.close();
      }
    }));
}

Deno.test("SQLite: countKeys counts the keys of all pages, even if there are gaps, and lets other requests run between two pages", () =>
  inTemporaryDirectory(async (directory) => {
    let turns = 0;
    const nextTurn = (): Promise<void> => Promise.resolve(void turns++);
    const store = await openSqliteStore({ directory, busyTimeout: 5_000, now: () => MOMENT, nextTurn });
    try {
      fillSqlite(`${directory}/keys.db`, 2500);
      const database = new DatabaseSync(`${directory}/keys.db`);
      database.exec("DELETE FROM api_key WHERE number BETWEEN 700 AND 1199");
      database.close();
      await addAll(store, [
        await newKey("expired", { expiresAt: MOMENT }),
        await newKey("expiring", { expiresAt: new Date(MOMENT.getTime() + 1) }),
      ]);
      turns = 0;
      const nextExpiry = new Date(MOMENT.getTime() + 1);
      expect(await store.countKeys()).toEqual({ active: 2001, disabled: 0, expired: 1, nextExpiry });
      expect(turns).toBe(3);
    } finally {
      await store.close();
    }
  }));
