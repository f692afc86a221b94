/** Checks the caller's key with a query that changes nothing. */
import * as z from "zod/mini";
import { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference } from "./key.ts";
import { listReferences } from "./list_keys.ts";

export const ME = `query WhoAmI { me { id name } }`;

/**
 * Sends a query that needs a valid key.
 *
 * @returns the caller's key; `undefined` if the server does not report it
 * @throws {Failure} `UNAUTHENTICATED`, or any failure of a request
 */
export async function identify(endpoint: Endpoint): Promise<KeyReference | undefined> {
  try {
    const me = await withFallback(
      async () => (await execute(endpoint, ME, {}, () => z.object({ me: z.nullable(keyReference()) }))).me,
      () => Promise.resolve(null),
    );
    // Some servers answer `me` with null for callers that they do not know.
    if (me === null) await listReferences(endpoint);
    return me ?? undefined;
  } catch (error) {
    // A server answers FORBIDDEN only to a valid key.
    if (error instanceof Failure && error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}
