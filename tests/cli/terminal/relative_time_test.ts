/** Times as a distance from now. */
import { expect } from "expect";
import { relativeTime, timeAgo } from "../../../src/cli/terminal/relative_time.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

for (
  const [time, shown] of [
    ["2026-05-01T12:00:00Z", "now"],
    ["2026-05-01T13:00:00+01:00", "now"],
    ["2026-05-01T12:00:00.001Z", "in 1s"],
    ["2026-05-01T11:59:59.999Z", "1s ago"],
    ["2026-05-01T12:00:04Z", "in 4s"],
    ["2026-05-01T12:00:59.499Z", "in 59s"],
    ["2026-05-01T12:00:59.500Z", "in 1m"],
    ["2026-05-01T11:59:00Z", "1m ago"],
    ["2026-05-01T13:59:29Z", "in 119m"],
    ["2026-05-01T13:59:30Z", "in 2h"],
    ["2026-05-03T11:29:59Z", "in 47h"],
    ["2026-05-03T11:30:00Z", "in 2d"],
    ["2026-04-29T12:00:00Z", "2d ago"],
    ["2026-05-31T11:59:59Z", "in 30d"],
    ["2026-08-28T23:59:59Z", "in 119d"],
    ["2026-08-29T00:00:00Z", "in 4mo"],
    ["2025-05-01T12:00:00Z", "12mo ago"],
    ["2028-04-05T11:59:59Z", "in 23mo"],
    ["2028-04-05T12:00:00Z", "in 2y"],
    ["2036-04-28T12:00:00Z", "in 10y"],
    ["yesterday", "yesterday"],
  ] as const
) {
  Deno.test(`at noon, ${time} is shown as ${shown}`, () => {
    expect(relativeTime(time, NOW)).toBe(shown);
  });
}

Deno.test("the time of an event that the clock of the server puts into the future is now", () => {
  const now = new Date("2026-05-01T12:00:00Z");
  expect(timeAgo("2026-05-01T12:00:01Z", now)).toBe("now");
  expect(timeAgo("2026-05-01T11:58:00Z", now)).toBe("2m ago");
});

Deno.test("the time of an event in the last minute is now", () => {
  expect(timeAgo("2026-05-01T11:59:00.001Z", NOW)).toBe("now");
  expect(timeAgo("2026-05-01T11:59:00Z", NOW)).toBe("1m ago");
  expect(timeAgo("long ago", NOW)).toBe("long ago");
});
