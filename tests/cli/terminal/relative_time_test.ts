/** Times as a distance from now. */
import { expect } from "expect";
import { relativeTime, timeAgo } from "../../../src/cli/terminal/relative_time.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

for (
  const [time, shown] of [
    ["2026-05-01T12:00:00Z", "now"],
    ["2026-05-01T11:59:01Z", "now"],
    ["2026-05-01T12:00:01Z", "in 1m"],
    ["2026-05-01T11:59:00Z", "1m ago"],
    ["2026-05-01T13:00:00+01:00", "now"],
    ["2026-05-01T14:59:59Z", "in 2h"],
    ["2026-05-01T13:59:59Z", "in 119m"],
    ["2026-05-03T11:59:59Z", "in 47h"],
    ["2026-04-29T12:00:00Z", "2d ago"],
    ["2026-07-29T12:00:00Z", "in 89d"],
    ["2026-08-29T11:59:59Z", "in 119d"],
    ["2026-08-29T12:00:00Z", "in 4mo"],
    ["2025-05-01T12:00:00Z", "12mo ago"],
    ["2028-04-29T12:00:00Z", "in 24mo"],
    ["2028-04-30T12:00:00Z", "in 2y"],
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
