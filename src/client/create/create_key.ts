/** Creates a key. */
import { Failure, toSentence } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { Endpoint } from "../endpoint.ts";
import { withFallback } from "../execute.ts";
import type { IssuedKey } from "../key.ts";
import { serverFields, unsupported } from "../keys/server_fields.ts";
import { createIfNew } from "./create_if_new.ts";
import { CREATE_ON_EMBEDDED, type NewKey, requestKey } from "./create_request.ts";
import { replaceKey } from "./replace_key.ts";

/**
 * Creates a key. Never returns a key or a secret that existed before. The embedded server does this in one transaction.
 * Other servers may return the existing key if the name is taken, so they need several requests.
 *
 * @throws {Failure} `ALREADY_EXISTS`; `UNSUPPORTED` if the key is to expire and the server has no expiry; or any failure
 * of {@linkcode execute}; no key was created or deleted unless the message says that it was or may have been
 */
export async function createKey(endpoint: Endpoint, key: NewKey): Promise<IssuedKey> {
  return await withFallback(
    () =>
      requestKey(endpoint, CREATE_ON_EMBEDDED, key).catch((error) => {
        throw adviseOnTakenName(error, key);
      }),
    async () => {
      if (key.expiresAt !== undefined) await requireExpiry(endpoint);
      return await (key.overwrite ? replaceKey : createIfNew)(endpoint, key);
    },
  );
}

/** If the message advises `--overwrite`, adds what this flag does, and how to keep the key. */
function adviseOnTakenName(error: unknown, { name }: NewKey): unknown {
  const isTaken = error instanceof Failure && error.code === "ALREADY_EXISTS";
  if (!isTaken || !error.message.includes("add --overwrite")) return error;
  const advice = "--overwrite replaces the key and revokes its secret. To keep the key and issue a new secret, run " +
    `service-api apikey rotate ${shellWord(name)} with the same flags for the server or store.`;
  return new Failure("ALREADY_EXISTS", `${toSentence(error.message)} ${advice}`, { cause: error });
}

async function requireExpiry(endpoint: Endpoint): Promise<void> {
  const field = "CreateApiKeyInput.expiresAt";
  if ((await serverFields(endpoint)).has(field)) return;
  throw unsupported(
    endpoint,
    field,
    "Its keys do not expire. Omit --expires-in and --expires-at, and delete the key in time.",
  );
}
