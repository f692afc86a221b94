/** The failure if the destination of a copy has an older schema. Migrating it would lock out processes that use it. */
import { Failure } from "../../apikey/failure.ts";

/**
 * @param label the name of the destination in messages
 * @param remedy what to do
 */
export function olderDestination(label: string, remedy: string): Failure {
  return new Failure("FAILED", `An older version of service-api created the store ${label}. ${remedy}`);
}
