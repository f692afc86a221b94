/** Generates the secrets of keys. */
import { makeSecret, SECRET_BYTES, secretTail } from "../../apikey/secret.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import type { HashSecret } from "../auth/authenticator.ts";

/** A key and its new secret. The store never holds the secret. */
export interface NewKey {
  readonly key: StoredKey;
  readonly secret: string;
}

export interface NewSecret extends Pick<StoredKey, "secretHash" | "secretTail"> {
  readonly secret: string;
}

export async function generateSecret(hashSecret: HashSecret): Promise<NewSecret> {
  const secret = makeSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  return { secret, secretHash: Uint8Array.fromHex(await hashSecret(secret)), secretTail: secretTail(secret) };
}
