/** Durations, times and expiries as users state them. */
import { expect } from "expect";
import fc from "fast-check";
import { expiryFrom, parseDuration, parseTime } from "../../src/apikey/lifetime.ts";
import { failureOf } from "./failure_of.ts";

const NOW = new Date("2026-11-12T13:14:15.016Z");

Deno.test("a duration is a whole number and s, m, h, d or w", () => {
  const durations = ["0s", "1s", " 90 m ", "36h", "90d", "2w", "365000d"];
  expect(durations.map(parseDuration)).toEqual(
    [0, 1, 90 * 60, 36 * 3600, 90 * 86_400, 14 * 86_400, 365_000 * 86_400].map((seconds) => seconds * 1000),
  );
});

for (
  const text of [
    "",
    "90",
    "d",
    "-1d",
    "+1d",
    "1.5d",
    "1D",
    "1d12h",
    "500ms",
    "1 y",
    "١d",
    "365001d",
    `${"9".repeat(400)}d`,
  ]
) {
  Deno.test(`the duration ${JSON.stringify(text.slice(0, 10))} is rejected, and the message shows how to write one`, () => {
    const { code, message } = failureOf(() => parseDuration(text));
    expect(code).toBe("USAGE");
    expect(message).toContain(JSON.stringify(text.slice(0, 80)).slice(0, -1));
    expect(message).toContain("for example 36h or 90d");
  });
}

for (
  const [text, expected] of [
    ["2026-12-31T23:59:59Z", "2026-12-31T23:59:59.000Z"],
    [" 2026-12-31t23:59:59z ", "2026-12-31T23:59:59.000Z"],
    ["2026-12-31T23:59:59.1Z", "2026-12-31T23:59:59.100Z"],
    ["2026-12-31T23:59:59.123999999Z", "2026-12-31T23:59:59.123Z"],
    ["2026-12-31T23:30:00-01:30", "2027-01-01T01:00:00.000Z"],
    ["2026-12-31T23:30:00+23:59", "2026-12-30T23:31:00.000Z"],
    ["2028-02-29T00:00:00-00:00", "2028-02-29T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ] as const
) {
  Deno.test(`the time ${JSON.stringify(text)} is ${expected}`, () => {
    expect(parseTime(text).toISOString()).toBe(expected);
  });
}

for (
  const text of [
    "",
    "tomorrow",
    "1798761599",
    "2026-12-31",
    "2026-12-31T23:59Z",
    "2026-12-31T23:59:59",
    "2026-12-31 23:59:59Z",
    "2026-12-31T23:59:59.Z",
    "2026-12-31T23:59:59+0100",
    "2026-12-31T23:59:59+24:00",
    "2026-12-31T24:00:00Z",
    "2026-12-31T23:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-04-00T00:00:00Z",
    "+012026-12-31T23:59:59Z",
    "26-12-31T23:59:59Z",
    "9999-12-31T23:59:59-00:01",
    "0000-01-01T00:00:00+00:01",
    "2026-12-31T23:59:59Z\u0000",
  ]
) {
  Deno.test(`${JSON.stringify(text)} is not a time, and the message shows how to write one`, () => {
    const { code, message } = failureOf(() => parseTime(text));
    expect(code).toBe("USAGE");
    expect(message).toContain("RFC 3339. Write it like 2026-12-31T23:59:59Z.");
  });
}

Deno.test("every time of the years 0 to 9999 is read as it is written", () => {
  const anyTime = fc.date({
    min: new Date("0000-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
    noInvalidDate: true,
  });
  fc.assert(fc.property(anyTime, (time) => expect(parseTime(time.toISOString())).toEqual(time)));
});

Deno.test("a key expires a duration from now or at a time, or not at all", () => {
  expect(expiryFrom({ expiresIn: "1d" }, NOW)).toEqual(new Date("2026-11-13T13:14:15.016Z"));
  expect(expiryFrom({ expiresAt: "2026-11-12T13:14:15.017Z" }, NOW)).toEqual(new Date("2026-11-12T13:14:15.017Z"));
  expect(expiryFrom({}, NOW)).toBeUndefined();
});

for (const flags of [{ expiresIn: "0s" }, { expiresAt: NOW.toISOString() }, { expiresAt: "2025-01-01T00:00:00Z" }]) {
  Deno.test(`an expiry that is not in the future is rejected: ${JSON.stringify(flags)}`, () => {
    const { code, message } = failureOf(() => expiryFrom(flags, NOW));
    expect(code).toBe("USAGE");
    expect(message).toContain("is not in the future. Choose a later time.");
  });
}

Deno.test("a duration and a time together are rejected", () => {
  const { code, message } = failureOf(() => expiryFrom({ expiresIn: "1d", expiresAt: "2027-01-01T00:00:00Z" }, NOW));
  expect([code, message]).toEqual(["USAGE", "Give either --expires-in or --expires-at, not both."]);
});
