/** Times as a distance from now. */
import { expect } from "expect";
import { relativeTime } from "../../../src/cli/terminal/relative_time.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

for (
  const [time, shown] of [
    ["2026-05-01T12:00:00Z", "now"],
    ["2026-05-01T11:59:01Z", "now"],
    ["2026-05-01T12:00:01Z", "in 1m"],
    ["2026-05-01T11:59:00Z", "1m ago"],
    ["2026-05-01T13:00:00+01:00", "now"],
    ["2026-05-01T14:59:59Z", "in 2h"],
    ["2026-04-30T12:00:00Z", "1d ago"],
    ["2026-04-01T12:00:00Z", "1mo ago"],
    ["2027-05-01T12:00:00Z", "in 1y"],
    ["yesterday", "yesterday"],
  ] as const
) {
  Deno.test(`at noon, ${time} is shown as ${shown}`, () => {
    expect(relativeTime(time, NOW)).toBe(shown);
  });
}
