/** Waiting that SIGINT and SIGTERM end. As process 1 of a container a program gets no signal that it does not handle. */
import { Failure } from "../../apikey/failure.ts";
import type { Host } from "./host.ts";

/**
 * Waits for what cannot be called off itself.
 *
 * @param message what a signal that comes first has left undone
 * @throws {Failure} `INTERRUPTED` when a signal comes first
 */
export async function unlessInterrupted<Result>(act: Promise<Result>, message: string, host: Host): Promise<Result> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const restore = host.onSignal(["SIGINT", "SIGTERM"], () => reject(new Failure("INTERRUPTED", message)));
  try {
    return await Promise.race([act, interrupted]);
  } finally {
    restore();
  }
}
