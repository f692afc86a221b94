/** Counts, limits, sizes and durations in settings. */
import { expect } from "expect";
import { durationUpToDays, durationUpToOneDay } from "../../../src/cli/settings/duration.ts";
import { countSchema, countUpTo, limitSchema, sizeSchema } from "../../../src/cli/settings/number.ts";
import { parseSetting, type TextSchema } from "../../../src/cli/settings/schema.ts";

const DAY = 24 * 3_600_000;

function parse(schema: TextSchema<number>, value: string): number {
  return parseSetting({ name: "--flag", value }, schema);
}

for (
  const [what, schema, accepted, rejected, message] of [
    [
      "count",
      countSchema(),
      [["0", 0], ["007", 7], ["1000000000", 1_000_000_000]],
      ["", "-1", "1.5", "1e3", "0x10", "1 000", "1000000001", "٣"],
      "--flag must be a whole number from 0 to 1000000000, not VALUE.",
    ],
    [
      "port",
      countUpTo(65_535),
      [["65535", 65_535]],
      ["65536"],
      "--flag must be a whole number from 0 to 65535, not VALUE.",
    ],
    ["limit, where 0 means none,", limitSchema(), [["0", Infinity], ["5", 5]], ["x"], "--flag must be a whole number"],
    [
      "size",
      sizeSchema(),
      [["1", 1], ["1B", 1], ["500 kb", 500_000], [" 1mb ", 1_000_000], ["2MiB", 2_097_152], ["100MB", 100_000_000]],
      ["", "0", "1.5MB", "1GB", "100MiB", "MB", "1M"],
      "--flag must be a size from 1B to 100MB, for example 500KB or 1MB, not VALUE.",
    ],
    [
      "duration",
      durationUpToOneDay(),
      [["1ms", 1], ["0.9ms", 1], [" 30 s ", 30_000], ["1.5m", 90_000], ["2h", 7_200_000], ["1d", DAY]],
      ["", "0s", "0.1ms", "-1s", "30", "s", "1w", "1D", "1h30m", "25h", `${"9".repeat(400)}d`],
      "--flag must be a duration from 1ms to 24h, for example 500ms, 30s or 2m, not ",
    ],
    [
      "duration of years",
      durationUpToDays(3650),
      [["3650d", 3650 * DAY], ["520w", 3640 * DAY]],
      ["3651d"],
      "--flag must be a duration from 1ms to 3650d, for example 36h or 90d, not VALUE.",
    ],
  ] as const
) {
  Deno.test(`a ${what} may be ${accepted.map(([text]) => JSON.stringify(text)).join(", ")}`, () => {
    expect(accepted.map(([text]) => parse(schema, text))).toEqual(accepted.map(([, value]) => value));
  });

  Deno.test(`an invalid ${what} is a usage error, and the message names the flag and shows the value`, () => {
    for (const text of rejected) {
      expect(() => parse(schema, text)).toThrow(expect.objectContaining({
        code: "USAGE",
        message: expect.stringContaining(message.replace("VALUE", JSON.stringify(text))),
      }));
    }
  });
}
