/** Limits how often a client address may fail to authenticate before the client must wait. */
import { setBounded } from "./bounded_map.ts";

/** How many addresses are counted. If the limit is reached, the address with the oldest failures is removed. */
const MAX_ADDRESSES = 100_000;

/** The period of the limit, in milliseconds. */
const PERIOD = 60_000;

interface Failures {
  count: number;
  /** When the count starts again, in milliseconds since the epoch. */
  readonly until: number;
}

/** Counts failed authentications per address and minute. */
export class FailureThrottle {
  readonly #limit: number;
  readonly #addresses = new Map<string, Failures>();

  /** @param limit how many failures per minute are allowed; 0 for no limit */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * @param address the client's IP address; `null` for the local caller, who never waits
   * @param now the time in milliseconds since the epoch
   * @returns seconds until the address may try again; 0 if it may try now
   */
  secondsToWait(address: string | null, now: number): number {
    if (address === null || this.#limit === 0) return 0;
    const failures = this.#addresses.get(networkOf(address));
    if (failures === undefined || failures.count < this.#limit) return 0;
    return Math.max(0, Math.ceil((failures.until - now) / 1000));
  }

  /** @param now the time in milliseconds since the epoch */
  recordFailure(address: string | null, now: number): void {
    if (address === null || this.#limit === 0) return;
    const network = networkOf(address);
    const failures = this.#addresses.get(network);
    if (failures !== undefined && failures.until > now) {
      failures.count++;
      return;
    }
    // Moves the address to the end of the map, so that it is removed last.
    this.#addresses.delete(network);
    setBounded(this.#addresses, network, { count: 1, until: now + PERIOD }, MAX_ADDRESSES);
  }
}

/** Returns an IPv4 address unchanged, and the /64 of an IPv6 address, because one client usually owns the whole /64. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const rest = tail?.split(":").filter((group) => group !== "") ?? [];
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...rest].slice(0, 4).join(":");
}
