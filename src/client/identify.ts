/** Checks whether the server accepts the caller's key. */
import * as z from "zod/mini";
import { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference } from "./key.ts";
import { listReferences } from "./list_keys.ts";

export const ME = `query WhoAmI { me { id name } }`;

/**
 * Sends one or two queries. At least one of them needs a valid key.
 *
 * @returns the caller's key; `undefined` if the server accepts the key but does not report it
 * @throws {Failure} `UNAUTHENTICATED`, or any other failure of {@linkcode execute} except `FORBIDDEN`
 */
export async function identify(endpoint: Endpoint): Promise<KeyReference | undefined> {
  try {
    const me = await withFallback(
      async () => (await execute(endpoint, ME, {}, () => z.object({ me: z.nullable(keyReference()) }))).me,
      () => Promise.resolve(null),
    );
    // `me` is null if the server does not have this field. Some servers also return null to a caller without a valid
    // key. Listing keys always needs a valid key.
    if (me === null) await listReferences(endpoint);
    return me ?? undefined;
  } catch (error) {
    // FORBIDDEN means that the key is valid but lacks a right.
    if (error instanceof Failure && error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}
