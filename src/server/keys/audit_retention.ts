/** Deletes old events of the audit trail, so slowly that a wrong clock cannot empty the audit trail. */
import type { KeyStore } from "../../store/key_store.ts";

const DAY = 86_400_000;

export interface RetentionOptions {
  readonly store: Pick<KeyStore, "eventTimes" | "dropEventsBefore">;
  /** How long events stay in the audit trail, in milliseconds. */
  readonly retention: number;
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
}

/**
 * Returns a function that deletes old events. The age of an event is measured against the clock or the newest event,
 * whichever is earlier. In each 24 h, calls of the function delete at most the events of 24 h.
 *
 * @returns a function that throws a `Failure` `UNREACHABLE` or `TIMEOUT` if the store is unavailable
 */
export function createRetention({ store, retention, now, elapsed }: RetentionOptions): () => Promise<void> {
  const start = elapsed();
  let currentDay = -1;
  /** The time from which on no event may be deleted on the current day, in milliseconds since the epoch. */
  let limit = 0;
  return async () => {
    const times = await store.eventTimes();
    if (times === undefined) return;
    const day = Math.floor((elapsed() - start) / DAY);
    if (day !== currentDay) {
      currentDay = day;
      limit = times.oldest.getTime() + DAY;
    }
    const latest = Math.min(now().getTime(), times.newest.getTime());
    await store.dropEventsBefore(new Date(Math.min(latest - retention, limit)));
  };
}
