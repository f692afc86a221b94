/** Which flags cannot stand on one command line. */
import { FLAGS_OF_CREATE } from "../commands/apikey/apikey.ts";

/** Pairs of flags of which a command refuses one when the other is given. */
const PAIRS: readonly (readonly [string, string])[] = [
  ["--create", "--delete"],
  ...FLAGS_OF_CREATE.map((flag) => ["--delete", `--${flag}`] as const),
  ["--query", "--body"],
  ["--variables", "--body"],
  ["--base-url", "--data-dir"],
  ["--base-url", "--database-url"],
  ["--data-dir", "--database-url"],
];

/** The flags that cannot be given any more, once these are. */
export function excludedBy(given: readonly string[]): ReadonlySet<string> {
  return new Set(
    PAIRS.flatMap(([one, other]) => [
      ...(given.includes(one) ? [other] : []),
      ...(given.includes(other) ? [one] : []),
    ]),
  );
}
