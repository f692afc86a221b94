/**
 * Stops waiting when SIGINT or SIGTERM arrives. A process with PID 1, for example in a container, ignores these signals
 * unless it handles them.
 */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "./host.ts";

/**
 * Waits for work that cannot be cancelled.
 *
 * @param message the message of the failure
 * @throws {Failure} `INTERRUPTED` if a signal arrives first
 */
export async function unlessInterrupted<Result>(work: Promise<Result>, message: string, host: Host): Promise<Result> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const restore = host.onSignal(["SIGINT", "SIGTERM"], () => reject(new Failure("INTERRUPTED", message)));
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    restore();
  }
}
