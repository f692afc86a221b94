/** The flags that select keys. */
import { expect } from "expect";
import { parseFilter } from "../../../../src/cli/commands/apikey/filter_flags.ts";
import { failureOf } from "../../../apikey/failure_of.ts";

const NOW = new Date("2026-05-01T00:00:00Z");

Deno.test("the flags that select keys become one filter, and no flag becomes no filter", () => {
  expect(parseFilter({}, NOW)).toBeUndefined();
  expect(parseFilter({ match: " ci * ", expired: true, unused: "30d" }, NOW)).toEqual({
    match: "ci *",
    expired: true,
    unusedSince: new Date("2026-04-01T00:00:00Z"),
  });
});

Deno.test("--unused accepts 5m, and rejects 299s and what is not a duration", () => {
  expect(parseFilter({ unused: "5m" }, NOW)).toEqual({ unusedSince: new Date("2026-04-30T23:55:00Z") });
  expect(failureOf(() => parseFilter({ unused: "299s" }, NOW))).toMatchObject({
    code: "USAGE",
    message: "--unused must be at least 5m, because servers record the use of a key late. " +
      "--unused 5m includes keys that were never used and were created more than 5 minutes ago.",
  });
  expect(failureOf(() => parseFilter({ unused: "never" }, NOW))).toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/ not "never"\. --unused 5m includes keys that were never used/),
  });
  expect(failureOf(() => parseFilter({ unused: "90" }, NOW))).toMatchObject({ code: "USAGE" });
});

Deno.test("--match rejects an empty pattern, which would match no key", () => {
  expect(failureOf(() => parseFilter({ match: " " }, NOW))).toMatchObject({ code: "USAGE" });
});
