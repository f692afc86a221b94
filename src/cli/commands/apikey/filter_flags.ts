/** Reads the flags that select keys. */
import { Failure, quote } from "../../../apikey/failure.ts";
import type { KeyFilter } from "../../../apikey/key_filter.ts";
import { parseDuration } from "../../../apikey/lifetime.ts";
import { parseAt } from "../../settings/parse_at.ts";

/** The flags as typed. */
export interface FilterFlags {
  readonly match?: string | undefined;
  readonly expired?: true | undefined;
  readonly unused?: string | undefined;
}

/** The shortest `--unused`, in milliseconds. Servers record the use of a key some time after the use. */
const SHORTEST_UNUSED = 5 * 60_000;

const NEVER_USED = "--unused 5m includes keys that were never used and were created more than 5 minutes ago.";

/**
 * Parses the flags.
 *
 * @param now `--unused` counts back from this time
 * @returns `undefined` if no flag is given
 * @throws {Failure} `USAGE`
 */
export function parseFilter({ match, expired, unused }: FilterFlags, now: Date): KeyFilter | undefined {
  if (match === undefined && expired === undefined && unused === undefined) return undefined;
  if (match?.trim() === "") throw new Failure("USAGE", "--match is empty. Pass a pattern, for example 'ci *'.");
  return {
    ...(match === undefined ? {} : { match: match.trim() }),
    ...(expired === undefined ? {} : { expired }),
    ...(unused === undefined ? {} : { unusedSince: parseUnused(unused, now) }),
  };
}

function parseUnused(duration: string, now: Date): Date {
  if (/^(never|none|null)$/i.test(duration.trim())) {
    throw new Failure("USAGE", `--unused takes a duration of at least 5m, not ${quote(duration)}. ${NEVER_USED}`);
  }
  const milliseconds = parseAt("--unused", () => parseDuration(duration));
  if (milliseconds >= SHORTEST_UNUSED) return new Date(now.getTime() - milliseconds);
  throw new Failure(
    "USAGE",
    `--unused must be at least 5m, because servers record the use of a key late. ${NEVER_USED}`,
  );
}
