/** Counts, sizes and durations as they are written in flags. */
import { expect } from "expect";
import { parseDuration } from "../../../src/cli/settings/duration.ts";
import { parseCount, parseSize } from "../../../src/cli/settings/number.ts";

const DAY = 24 * 3_600_000;

for (
  const [text, count] of [["0", 0], ["1", 1], ["65535", 65_535], ["007", 7], ["1000000000", 1_000_000_000]] as const
) {
  Deno.test(`the count ${text} is ${count}`, () => expect(parseCount(text, "--flag")).toBe(count));
}

for (
  const text of [
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x10",
    "1 000",
    "1000000001",
    "9".repeat(400),
    "NaN",
    "Infinity",
    "٣",
  ]
) {
  Deno.test(`${JSON.stringify(text.slice(0, 20))} is no count`, () => {
    const refused = expect(() => parseCount(text, "--flag"));
    refused.toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: expect.stringContaining("--flag takes a number from 0 to 1000000000"),
      }),
    );
  });
}

Deno.test("a count is at most what its flag allows", () => {
  expect(parseCount("65535", "--port", 65_535)).toBe(65_535);
  expect(() => parseCount("65536", "--port", 65_535)).toThrow(
    '--port takes a number from 0 to 65535, and not "65536".',
  );
});

for (
  const [text, bytes] of [
    ["1", 1],
    ["1B", 1],
    ["500KB", 500_000],
    ["500 kb", 500_000],
    ["1MB", 1_000_000],
    [" 1mb ", 1_000_000],
    ["1KiB", 1024],
    ["2MiB", 2_097_152],
    ["100MB", 100_000_000],
    ["100000000", 100_000_000],
  ] as const
) {
  Deno.test(`the size ${JSON.stringify(text)} is ${bytes} bytes`, () => expect(parseSize(text, "--flag")).toBe(bytes));
}

for (
  const text of ["", "0", "0MB", "-1", "1.5MB", "1GB", "101MB", "100MiB", "MB", "1M", "1 M B", "1e3", "999999999999"]
) {
  Deno.test(`${JSON.stringify(text)} is no size`, () => {
    expect(() => parseSize(text, "--flag")).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: `--flag takes a size from 1B to 100MB, such as 500KB or 1MB, and not ${JSON.stringify(text)}.`,
      }),
    );
  });
}

for (
  const [text, milliseconds] of [
    ["1ms", 1],
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5m", 90_000],
    ["2h", 7_200_000],
    ["24h", DAY],
    ["1d", DAY],
    ["0.5d", DAY / 2],
    [" 30 s ", 30_000],
    ["0.9ms", 1],
  ] as const
) {
  Deno.test(`the duration ${JSON.stringify(text)} is ${milliseconds} ms`, () => {
    expect(parseDuration(text, "--flag")).toBe(milliseconds);
  });
}

for (
  const text of [
    "",
    "0s",
    "0.1ms",
    "-1s",
    "30",
    "s",
    "1w",
    "1D",
    "1 day",
    "1h30m",
    "25h",
    "2d",
    "1e3s",
    "9".repeat(400) + "d",
  ]
) {
  Deno.test(`${JSON.stringify(text.slice(0, 20))} is no duration`, () => {
    expect(() => parseDuration(text, "--flag")).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: expect.stringMatching(/^--flag takes a duration from 1ms to 24h,/),
      }),
    );
  });
}

Deno.test("where years make sense a duration may have as many days", () => {
  expect(parseDuration("365d", "--audit-retention", 3650 * DAY)).toBe(365 * DAY);
  expect(parseDuration("3650d", "--audit-retention", 3650 * DAY)).toBe(3650 * DAY);
  expect(() => parseDuration("3651d", "--audit-retention", 3650 * DAY)).toThrow(/from 1ms to 3650d/);
});
