/** How often an address may fail to authenticate before it has to wait. */
import { setBounded } from "../set_bounded.ts";

/** The most addresses that are remembered; beyond that the one whose failures are oldest is forgotten. */
const LARGEST_NUMBER = 100_000;

/** In milliseconds. */
const PERIOD = 60_000;

interface Failures {
  count: number;
  /** When they are forgotten, in milliseconds. */
  readonly until: number;
}

/** Counts failures per address and minute. */
export class FailureThrottle {
  readonly #limit: number;
  readonly #addresses = new Map<string, Failures>();

  /** @param limit failures within the period that are answered; 0 for any number */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Seconds until the address may try again; 0 when it may now. */
  secondsToWait(address: string | null, now: number): number {
    if (address === null || this.#limit === 0) return 0;
    const failures = this.#addresses.get(network(address));
    if (failures === undefined || failures.count < this.#limit) return 0;
    return Math.max(0, Math.ceil((failures.until - now) / 1000));
  }

  recordFailure(address: string | null, now: number): void {
    if (address === null || this.#limit === 0) return;
    const key = network(address);
    const failures = this.#addresses.get(key);
    if (failures !== undefined && failures.until > now) {
      failures.count++;
      return;
    }
    this.#addresses.delete(key);
    setBounded(this.#addresses, key, { count: 1, until: now + PERIOD }, LARGEST_NUMBER);
  }
}

/** An IPv4 address, or the /64 of an IPv6 address, of which whoever has one has all. */
function network(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const rest = tail?.split(":").filter((group) => group !== "") ?? [];
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...rest].slice(0, 4).join(":");
}
