/** Checks the rights of the key in use before the first question, so that no answer is in vain. */
import { Failure, quote } from "../../../../apikey/failure.ts";
import type { Client } from "../../../../client/client.ts";

/** What a command does with keys, and the permissions of which the key in use needs one. */
const NEEDED = {
  create: ["API_KEY:CREATE_ANY"],
  update: ["API_KEY:UPDATE_ANY", "API_KEY:UPDATE_OWN"],
  rotate: ["API_KEY:UPDATE_ANY", "API_KEY:UPDATE_OWN"],
  delete: ["API_KEY:DELETE_ANY", "API_KEY:DELETE_OWN"],
} as const;

/**
 * Throws if the server reports that the key in use may not do this with any key.
 *
 * @throws {Failure} `FORBIDDEN`; `UNAUTHENTICATED`, or any failure to reach the server
 */
export async function requireRight(verb: keyof typeof NEEDED, client: Client): Promise<void> {
  const inUse = await client.findRightsInUse();
  const needed = NEEDED[verb];
  if (inUse === undefined || needed.some((permission) => inUse.rights.has(permission))) return;
  throw new Failure(
    "FORBIDDEN",
    `The key in use, ${quote(inUse.name)}, cannot ${verb} keys, because it lacks ${needed.join(" and ")}. ` +
      "To use another key, add --key-file.",
  );
}
