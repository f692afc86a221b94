/** The expiry of keys: what requests may set, and the limits of `--max-key-lifetime` and `--default-key-lifetime`. */
import { Failure } from "../../apikey/failure.ts";
import { parseTime } from "../../apikey/lifetime.ts";

/** How long keys live. The limits do not apply to the local caller. */
export interface Lifetimes {
  /** The longest life of a key from the time of the request, in milliseconds. If it is not set, a key can live forever. */
  readonly max?: number | undefined;
  /** The life of a new key if the request does not give its expiry, in milliseconds. If it is not set, it is `max`. */
  readonly default?: number | undefined;
}

/**
 * Parses the `expiresAt` of an input.
 *
 * @throws {Failure} `USAGE` if it is not a time in RFC 3339, or not in the future
 */
export function parseExpiry(text: string, now: Date): Date {
  const expiry = parseTime(text);
  if (expiry > now) return expiry;
  throw new Failure("USAGE", `expiresAt must be in the future. The time of the server is ${now.toISOString()}.`);
}

/** Returns the expiry of a new key if the request does not give one. */
export function defaultExpiry({ max, default: life = max }: Lifetimes, now: Date): Date | null {
  return life === undefined ? null : new Date(now.getTime() + life);
}

/**
 * Throws if the limit of the server does not allow this expiry.
 *
 * @throws {Failure} `USAGE`
 */
export function requireAllowedExpiry(expiry: Date | null, { max }: Lifetimes, now: Date): void {
  if (max === undefined) return;
  const latest = new Date(now.getTime() + max);
  if (expiry !== null && expiry <= latest) return;
  const problem = expiry === null
    ? "This server does not allow keys without an expiry."
    : `The expiry ${expiry.toISOString()} is later than this server allows.`;
  throw new Failure("USAGE", `${problem} Choose an expiry no later than ${latest.toISOString()}.`);
}
