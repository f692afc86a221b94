/** How long events stay in the audit trail, even if a clock is wrong. */
import { expect } from "expect";
import { createRetention } from "../../../src/server/keys/audit_retention.ts";
import { inBatches } from "../../store/changes.ts";
import { withNewStore } from "../../store/temporary_store.ts";
import { LOCAL_ORIGIN, NOW } from "../graphql/graphql.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Trail {
  /** Sets the clock of the machine. */
  readonly setClock: (time: Date) => void;
  /** Records an event. */
  readonly record: (at: Date) => Promise<void>;
  /** Lets the server run for some hours. The server deletes old events every hour. */
  readonly run: (hours: number) => Promise<void>;
  /** Returns the ages of the events in days, as seen at `NOW`, oldest first. */
  readonly ages: () => Promise<readonly number[]>;
}

/** Runs a test on a trail with two events for each of the last 40 days. The retention period is 30 days. */
function withTrail(test: (trail: Trail) => Promise<void>): Promise<void> {
  return withNewStore(async (store) => {
    let clock = NOW;
    let elapsed = 0;
    const record = (at: Date): Promise<void> =>
      store.recordEvent({ ...LOCAL_ORIGIN, at, action: "CREATE", keyId: null, keyName: null, outcome: "DONE" });
    const ages = Array.from({ length: 80 }, (_, i) => i / 2);
    await inBatches(ages, (age) => record(new Date(NOW.getTime() - age * DAY)));
    const dropOldEvents = createRetention({ store, retention: 30 * DAY, now: () => clock, elapsed: () => elapsed });
    await test({
      setClock: (time) => void (clock = time),
      record,
      run: async (hours) => {
        for (let hour = 0; hour < hours; hour++) {
          elapsed += HOUR;
          clock = new Date(clock.getTime() + HOUR);
          // deno-lint-ignore no-await-in-loop -- the order matters
          await dropOldEvents();
        }
      },
      ages: async () => {
        const events = await store.listEvents(undefined, 1000);
        return events.map(({ at }) => (NOW.getTime() - at.getTime()) / DAY).toSorted((a, b) => b - a);
      },
    });
  });
}

Deno.test("In each 24 h, the server deletes at most the events of one day", () =>
  withTrail(async ({ run, ages }) => {
    expect((await ages())[0]).toBe(39.5);
    await run(23);
    expect((await ages())[0]).toBe(38.5);
    await run(24);
    expect((await ages())[0]).toBe(37.5);
  }));

Deno.test("A clock in 2099 and an event from 2099 delete at most the events of one day in 24 h", () =>
  withTrail(async ({ run, ages, setClock, record }) => {
    setClock(new Date("2099-01-01"));
    await record(new Date("2099-01-01"));
    await run(23);
    expect((await ages()).filter((age) => age >= 0)).toHaveLength(78);
    await run(48);
    expect((await ages()).filter((age) => age >= 0)).toHaveLength(74);
  }));

Deno.test("A clock in 2099 deletes only events that are older than the retention period before the newest event", () =>
  withTrail(async ({ run, ages, setClock }) => {
    setClock(new Date("2099-01-01"));
    await run(24 * 60);
    expect((await ages())[0]).toBe(30);
  }));

Deno.test("An event from 2099 deletes no event of the retention period", () =>
  withTrail(async ({ run, ages, record }) => {
    await record(new Date("2099-01-01"));
    await run(1);
    expect((await ages()).filter((age) => age >= 0 && age <= 29.5)).toHaveLength(60);
  }));

Deno.test("A clock in 1970 deletes no event", () =>
  withTrail(async ({ run, ages, setClock }) => {
    setClock(new Date(0));
    await run(24 * 60);
    expect(await ages()).toHaveLength(80);
  }));

Deno.test("If the server runs all the time, it deletes each event when its retention period ends", () =>
  withTrail(async ({ run, ages, record, setClock }) => {
    setClock(new Date(NOW.getTime() - 10 * DAY));
    await record(new Date(NOW.getTime() + 100 * DAY));
    await run(24 * 40);
    expect((await ages()).filter((age) => age >= 0)).toEqual([0]);
    await run(1);
    expect((await ages()).filter((age) => age >= 0)).toEqual([]);
  }));
