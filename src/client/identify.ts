/** Checks whether the server accepts the caller's key, and asks which key that is. */
import * as z from "zod/mini";
import { Failure, type FailureCode } from "../apikey/failure.ts";
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
    const me = await queryMe(endpoint);
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

/** The failures of `me` that mean that the server does not report which key makes the request. */
const NOT_REPORTED: readonly FailureCode[] = ["UNAUTHENTICATED", "FORBIDDEN", "BAD_RESPONSE"];

/**
 * Asks the server which key makes the requests. Sends no request if the settings have no key.
 *
 * @returns `undefined` if there is no key, or if the server does not report it
 * @throws {Failure} any failure that does not concern the question, for example `UNREACHABLE`
 */
export async function findKeyInUse(endpoint: Endpoint): Promise<KeyReference | undefined> {
  if (endpoint.headers.size === 0) return undefined;
  try {
    return await queryMe(endpoint) ?? undefined;
  } catch (error) {
    if (error instanceof Failure && NOT_REPORTED.includes(error.code)) return undefined;
    throw error;
  }
}

/** @returns `null` if the server does not have the field `me`, or returns null for it */
async function queryMe(endpoint: Endpoint): Promise<KeyReference | null> {
  return await withFallback(
    async () => (await execute(endpoint, ME, {}, () => z.object({ me: z.nullable(keyReference()) }))).me,
    () => Promise.resolve(null),
  );
}
