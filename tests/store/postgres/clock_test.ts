/** Expiry and grace periods in the PostgreSQL store, by the clock of the database. */
import { expect } from "expect";
import { addAll } from "../changes.ts";
import { newKey } from "../stored_key.ts";
import { testOnPostgres } from "./server.ts";
import { withStoreAt } from "./store.ts";

const YEAR = 365 * 86_400_000;

/** Runs `act` while the clock of this process, but not that of the database, differs by a number of milliseconds. */
async function withClockOff(offset: number, act: () => Promise<void>): Promise<void> {
  const RealDate = Date;
  class ShiftedDate extends RealDate {
    static override now(): number {
      return RealDate.now() + offset;
    }
    constructor(...[value = ShiftedDate.now()]: readonly (string | number)[]) {
      super(value);
    }
  }
  Object.defineProperty(globalThis, "Date", { value: ShiftedDate, configurable: true, writable: true });
  try {
    await act();
  } finally {
    Object.defineProperty(globalThis, "Date", { value: RealDate, configurable: true, writable: true });
  }
}

await testOnPostgres("The clock of PostgreSQL", {}, (server) => {
  for (
    const [time, current, previous] of [
      ["clock_timestamp() + '1 h'", "active", "active"],
      ["clock_timestamp()", "expired", "rotated"],
    ] as const
  ) {
    Deno.test(`PostgreSQL: a key whose expiry and grace period end at ${time} is ${current}, whatever the clock of the server says`, () =>
      server.withNewDatabase(async (name) => {
        const old = await newKey("old");
        const key = await newKey("deploy", { previousSecretHash: old.secretHash });
        await withStoreAt(server.address(name), async (store) => {
          const check = async (): Promise<void> => {
            const states = await Promise.all([key, old].map(({ secretHash }) => store.findBySecretHash(secretHash)));
            expect(states.map((state) => state?.status)).toEqual([current, previous]);
          };
          await addAll(store, [key]);
          await server.execute(name, `UPDATE api_key SET expires_at = ${time}, grace_until = ${time}`);
          await check();
          await withClockOff(YEAR, check);
          await withClockOff(-YEAR, check);
        });
      }));
  }
});
