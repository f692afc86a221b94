/** What tests look at of a refusal: the failure itself, with its code and message. */
import { Failure } from "../../src/apikey/failure.ts";

/** The failure that `act` throws; whatever else happens is an error of the test. */
export function failureOf(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("this was to be refused, and was not");
}

/** The failure that a promise is rejected with. */
export async function failureOfPromise(promise: Promise<unknown>): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("this was to be refused, and was not");
}
