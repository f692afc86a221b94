/** Limits how many connections are open, in all and from one address. Closes further connections at once. */
import { networkOf } from "../auth/throttle.ts";
import type { LogError } from "../telemetry/log_error.ts";
import type { ClientAddress } from "./client_address.ts";

export interface ConnectionLimitOptions {
  readonly clientAddress: ClientAddress;
  /** How many connections may be open; `Infinity` for no limit. */
  readonly maxConnections: number;
  /** How many connections from one address (IPv6: one /64) may be open; `Infinity` for no limit. */
  readonly maxPerAddress: number;
  /** Returns whether an address belongs to a proxy. All its clients share the address, so only `maxConnections` applies. */
  readonly isProxy: (address: string) => boolean;
  readonly logError: LogError;
}

/** The parts of a socket that this module uses. */
interface LimitedSocket {
  readonly remoteAddress?: string | undefined;
  on(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** The shortest time between two log entries, in milliseconds. */
const LOG_INTERVAL = 60_000;

/**
 * Returns a function that counts a new connection, or closes it if a limit is reached.
 *
 * @param clock returns the time on a monotonic clock, in milliseconds
 */
export function limitConnections(
  { clientAddress, maxConnections, maxPerAddress, isProxy, logError }: ConnectionLimitOptions,
  clock: () => number = () => performance.now(),
): (socket: LimitedSocket) => void {
  let open = 0;
  const openByNetwork = new Map<string, number>();
  let loggedAt = -Infinity;

  function reject(socket: LimitedSocket, message: string, properties: Record<string, unknown>): void {
    socket.destroy();
    if (clock() < loggedAt + LOG_INTERVAL) return;
    loggedAt = clock();
    logError(message, properties);
  }

  return (socket) => {
    const address = clientAddress(socket.remoteAddress ?? "", null);
    const network = isProxy(address) ? undefined : networkOf(address);
    const fromNetwork = network === undefined ? 0 : openByNetwork.get(network) ?? 0;
    if (open >= maxConnections) {
      return reject(socket, "Closed a connection: {open} connections are open. See --max-connections.", { open });
    }
    if (fromNetwork >= maxPerAddress) {
      return reject(
        socket,
        "Closed a connection: {address} has {fromNetwork} open connections. See --max-per-address.",
        { address, fromNetwork },
      );
    }
    open++;
    if (network !== undefined) openByNetwork.set(network, fromNetwork + 1);
    socket.on("close", () => {
      open--;
      if (network === undefined) return;
      const left = (openByNetwork.get(network) ?? 1) - 1;
      if (left === 0) openByNetwork.delete(network);
      else openByNetwork.set(network, left);
    });
  };
}
