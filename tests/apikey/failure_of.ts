/** Returns the failure that a call throws or a promise rejects with. Any other outcome makes the test fail. */
import { Failure } from "../../src/apikey/failure.ts";

export function failureOf(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("expected a failure, but the call succeeded");
}

export async function failureOfPromise(promise: Promise<unknown>): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("expected a failure, but the promise was fulfilled");
}
