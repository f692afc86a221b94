/** Deletes keys. */
import * as z from "zod/mini";
import { Failure, toSentence } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute } from "./execute.ts";
import type { KeyReference } from "./key.ts";

export const DELETE = `mutation DeleteApiKeys($input: DeleteApiKeyInput!) { apiKey { delete(input: $input) } }`;

/**
 * Deletes keys.
 *
 * @returns whether the server reports that it deleted them
 * @throws {Failure} any failure of {@linkcode execute}; `FAILED` if the server reports a deletion and also an error
 */
export async function deleteKeys(endpoint: Endpoint, keys: readonly KeyReference[]): Promise<boolean> {
  const input = { ids: keys.map(({ id }) => id) };
  const { apiKey } = await execute(
    endpoint,
    DELETE,
    { input },
    () => z.object({ apiKey: z.object({ delete: z.boolean() }) }),
    (data, failure) =>
      failure.code !== "BAD_RESPONSE" && isDeleted(data) ? deletedWithErrors(keys.length, failure) : failure,
  );
  return apiKey.delete;
}

function isDeleted(data: unknown): boolean {
  return z.safeParse(z.object({ apiKey: z.object({ delete: z.literal(true) }) }), data).success;
}

function deletedWithErrors(count: number, cause: Failure): Failure {
  const keys = count === 1 ? "the key" : `${count} keys`;
  return new Failure(
    "FAILED",
    `The server reported that it deleted ${keys}, but also an error: ${toSentence(cause.message)} To check what ` +
      "still exists, run the same command again.",
    { cause },
  );
}
