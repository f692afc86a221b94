/** Limits how often a client address may fail to authenticate before the client must wait. */
import { setBounded } from "./bounded_map.ts";

/** The maximum number of addresses with a count. Beyond this number, the address whose count started first is removed. */
const MAX_ADDRESSES = 100_000;

/** The period of the limit, in milliseconds. */
const PERIOD = 60_000;

interface Failures {
  count: number;
  /** When the count ends and a new count can start, on the clock of the throttle. */
  readonly until: number;
}

/** Counts failed authentications per client address and minute. All addresses in one IPv6 /64 share a count. */
export class FailureThrottle {
  readonly #limit: number;
  readonly #clock: () => number;
  readonly #addresses = new Map<string, Failures>();

  /**
   * @param limit after how many failures within a minute a client must wait; 0 for no limit
   * @param clock returns the time on a monotonic clock, in milliseconds, so that setting the system clock ends no wait
   */
  constructor(limit: number, clock: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /**
   * Counts a failure. Checking the limit and counting are one step, so the limit also holds for requests in parallel.
   *
   * @param address the client's IP address; `null` for a request inside this process, which is not counted
   * @returns 0 if the failure is within the limit; otherwise, the number of seconds that the client must wait
   */
  countFailure(address: string | null): number {
    if (address === null || this.#limit === 0) return 0;
    const network = networkOf(address);
    const now = this.#clock();
    const failures = this.#addresses.get(network);
    if (failures === undefined || failures.until <= now) {
      // Moves the address to the end of the map. The first address in the map is removed first.
      this.#addresses.delete(network);
      setBounded(this.#addresses, network, { count: 1, until: now + PERIOD }, MAX_ADDRESSES);
      return 0;
    }
    if (failures.count >= this.#limit) return Math.ceil((failures.until - now) / 1000);
    failures.count++;
    return 0;
  }
}

/** Returns an IPv4 address unchanged, and the /64 of an IPv6 address, because a client usually has a whole /64. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const rest = tail?.split(":").filter((group) => group !== "") ?? [];
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...rest].slice(0, 4).join(":");
}
