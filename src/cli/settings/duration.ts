/** Durations in settings: `500ms`, `30s`, `1.5m`, `2h`, `90d`. */
import { quote } from "../../apikey/failure.ts";
import { MILLISECONDS_PER_UNIT } from "../../apikey/lifetime.ts";
import { parseSetting, type TextSchema, textSchema } from "./schema.ts";
import { orDefault, type Setting } from "./setting.ts";

/** One day, in milliseconds. */
const DAY = 24 * 3_600_000;

/** A duration from 1 ms to 24 hours, in whole milliseconds. */
export function durationUpToOneDay(): TextSchema<number> {
  return durationSchema(DAY, "24h, for example 500ms, 30s or 2m");
}

/**
 * Returns the longest wait for a response, in milliseconds.
 *
 * @param setting the default applies if it is `undefined`
 * @throws {Failure} `USAGE`
 */
export function readTimeout(setting: Setting | undefined): number {
  return parseSetting(orDefault("timeout", setting), durationUpToOneDay());
}

/** A duration from 1 ms to a number of days, in whole milliseconds. */
export function durationUpToDays(days: number): TextSchema<number> {
  return durationSchema(days * DAY, `${days}d, for example 36h or 90d`);
}

function durationSchema(longest: number, longestWithExamples: string): TextSchema<number> {
  return textSchema((text, reject) => {
    const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text.trim()) ?? [];
    const milliseconds = Math.round(
      Number(amount) * (unit === "ms" ? 1 : MILLISECONDS_PER_UNIT.get(unit ?? "") ?? NaN),
    );
    if (milliseconds >= 1 && milliseconds <= longest) return milliseconds;
    return reject(`must be a duration from 1ms to ${longestWithExamples}, not ${quote(text)}.`);
  });
}
