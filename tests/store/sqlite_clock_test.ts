/** Expiry and grace periods in the SQLite store, by an injected clock. */
import { expect } from "expect";
import type { KeyStatus } from "../../src/store/stored_key.ts";
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
