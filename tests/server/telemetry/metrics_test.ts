/** When the metrics count the keys, and what they show between two counts. */
import { expect } from "expect";
import { createMetrics, type Metrics } from "../../../src/server/telemetry/metrics.ts";
import type { KeyCounts } from "../../../src/store/key_store.ts";

interface Scraper {
  /** Reads the value of a metric without labels, or of its label `state="active"`. */
  readonly read: (name: string) => Promise<string | undefined>;
  readonly observer: Metrics["observer"];
  readonly errors: readonly string[];
  /** How often the keys were counted. */
  counts: number;
  /** The time in milliseconds. */
  time: number;
  /** Counts the keys. */
  count: () => Promise<KeyCounts>;
  isUp: () => Promise<boolean>;
}

function startScraping(): Scraper {
  const errors: string[] = [];
  const metrics = createMetrics({
    store: {
      countKeys: () => {
        scraper.counts++;
        return scraper.count();
      },
      poolUse: () => undefined,
    },
    isStoreUp: () => scraper.isUp(),
    now: () => new Date(scraper.time),
    clock: () => scraper.time,
    logError: (message) => void errors.push(message),
  });
  const scraper: Scraper = {
    read: async (name) => {
      const pattern = new RegExp(`^${name}(?:\\{state="active"\\})? (.*)$`, "m");
      return pattern.exec(await metrics.render())?.[1];
    },
    observer: metrics.observer,
    errors,
    counts: 0,
    time: 0,
    count: () => Promise.resolve(keys(scraper.counts)),
    isUp: () => Promise.resolve(true),
  };
  return scraper;
}

function keys(active: number, nextExpiry: Date | null = null): KeyCounts {
  return { active, disabled: 0, expired: 0, nextExpiry };
}

Deno.test("The server counts the keys when it is asked, but not again within 15 s", async () => {
  const scraper = startScraping();
  expect(await Promise.all([scraper.read("service_api_keys"), scraper.read("service_api_keys")])).toEqual(["1", "1"]);
  scraper.time = 14_999;
  expect([await scraper.read("service_api_keys"), scraper.counts]).toEqual(["1", 1]);
  scraper.time = 15_000;
  expect([await scraper.read("service_api_keys"), scraper.counts]).toEqual(["2", 2]);
});

Deno.test("If counting takes 1 s, the server counts at most every 100 s", async () => {
  const scraper = startScraping();
  scraper.count = () => {
    scraper.time += 1000;
    return Promise.resolve(keys(scraper.counts));
  };
  expect(await scraper.read("service_api_keys")).toBe("1");
  scraper.time = 100_999;
  expect(await scraper.read("service_api_keys")).toBe("1");
  scraper.time = 101_000;
  expect(await scraper.read("service_api_keys")).toBe("2");
});

Deno.test("The time to the next expiry decreases between two counts, and ends at 0", async () => {
  const scraper = startScraping();
  const NEXT = "service_api_next_key_expiry_seconds";
  scraper.count = () => Promise.resolve(keys(1, new Date(10_000)));
  expect(await scraper.read(NEXT)).toBe("10");
  scraper.time = 2500;
  expect(await scraper.read(NEXT)).toBe("7.5");
  scraper.time = 12_000;
  expect(await scraper.read(NEXT)).toBe("0");
  scraper.count = () => Promise.resolve(keys(1));
  scraper.time = 15_000;
  expect(await scraper.read(NEXT)).toBeUndefined();
});

Deno.test("If the keys cannot be counted, the metrics keep the last counts, and the log says why", async () => {
  const scraper = startScraping();
  expect(await scraper.read("service_api_keys")).toBe("1");
  scraper.count = () => Promise.reject(new Error("no"));
  scraper.time = 15_000;
  expect(await scraper.read("service_api_keys")).toBe("1");
  expect(scraper.errors).toEqual(["Could not count the keys for the metrics: {error}"]);
  scraper.time = 30_000;
  scraper.count = () => Promise.resolve(keys(7));
  expect(await scraper.read("service_api_keys")).toBe("7");
});

Deno.test("If the store hangs, the metrics still arrive, and say that the store does not respond", async () => {
  const scraper = startScraping();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  scraper.isUp = () => promise;
  scraper.observer.verification("valid");
  expect(await scraper.read("service_api_store_up")).toBe("0");
  expect(scraper.counts).toBe(0);
  resolve(true);
  expect(await scraper.read("service_api_store_up")).toBe("1");
});

Deno.test("The duration of a failed operation of the store counts too, and its error is passed on", async () => {
  const scraper = startScraping();
  await expect(scraper.observer.store("find", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await scraper.read('service_api_store_operation_duration_seconds_count\\{operation="find"\\}')).toBe("1");
});
