/** Asks a server whether it accepts the caller's key, whose key it is, what it may do and until when. */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import { ungroup } from "../../apikey/permission.ts";
import { KeyRejected } from "../../apikey/rejected_key.ts";
import { findBySecretInUse } from "../create/key_in_use.ts";
import { listSecrets } from "../create/list_secrets.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute, ifAnswered, withFallback } from "../execute.ts";
import { type ApiKey, type KeyInResponse, keyInResponse, toApiKey } from "../keys/api_key.ts";
import { findKey } from "../keys/find_key.ts";
import { RightMissing } from "../response_failure.ts";

export type Verification =
  | {
    readonly isActive: true;
    /** The key; `undefined` if the server does not report it. */
    readonly key: Pick<ApiKey, "id" | "name" | "roles" | "permissions" | "expiresAt"> | undefined;
    /** All rights that roles and permissions grant together; `undefined` if the server does not report them. */
    readonly rights: ReadonlySet<string> | undefined;
  }
  | {
    readonly isActive: false;
    /** A member of `REASONS` in `apikey/rejected_key.ts`, or the message of a server that gives no reason. */
    readonly reason: string;
    /** Complete sentences. */
    readonly message: string;
  };

const KEY = "id name roles permissions { resource actions }";

export const ME_WITH_RIGHTS = `query VerifyKey { me { ${KEY} rights { resource actions } expiresAt } }`;

const ME_WITH_PERMISSIONS = `query VerifyKey { me { ${KEY} } }`;

/**
 * Verifies the caller's key with one request, if the server has the field `me` with all members. Other servers get up to
 * four requests, one of which needs a valid key.
 *
 * @throws {Failure} any failure of {@linkcode execute} except `UNAUTHENTICATED`; `FORBIDDEN` only if the server does not
 * say that it accepts the key
 */
export async function verifyKey(endpoint: Endpoint): Promise<Verification> {
  try {
    const me = await withFallback(
      () => queryMe(endpoint, ME_WITH_RIGHTS),
      () => withFallback(() => queryMe(endpoint, ME_WITH_PERMISSIONS), () => Promise.resolve(null)),
    );
    if (me !== null) {
      return { isActive: true, key: toApiKey(me), rights: me.rights ? new Set(ungroup(me.rights)) : undefined };
    }
    // Some servers also return null to a caller without a valid key. Listing keys always needs a valid key.
    const own = findBySecretInUse(endpoint, await listSecrets(endpoint));
    const key = own && await ifAnswered(() => findKey(endpoint, { id: own.id }));
    return { isActive: true, key, rights: undefined };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error instanceof RightMissing) return { isActive: true, key: undefined, rights: undefined };
    if (error.code !== "UNAUTHENTICATED") throw error;
    const message = error.message.replace(` ${endpoint.keyRemedy}`, "");
    return { isActive: false, reason: error instanceof KeyRejected ? error.reason : message, message };
  }
}

/** The caller's key and all its rights. */
export interface RightsInUse {
  readonly name: string;
  readonly rights: ReadonlySet<string>;
}

/**
 * Asks the server what the caller's key may do. Sends no request if the settings have no key.
 *
 * @returns `undefined` if there is no key, or if the server does not report its rights
 * @throws {Failure} `UNAUTHENTICATED` if the server says why it rejects the key; any failure that does not concern the
 * question, for example `UNREACHABLE`
 */
export async function findRightsInUse(endpoint: Endpoint): Promise<RightsInUse | undefined> {
  if (endpoint.headers.size === 0) return undefined;
  try {
    const me = await ifAnswered(() => queryMe(endpoint, ME_WITH_RIGHTS));
    return me?.rights ? { name: me.name, rights: new Set(ungroup(me.rights)) } : undefined;
  } catch (error) {
    // Some servers do not answer this query for API keys.
    const isUnknown = error instanceof Failure && error.code === "UNAUTHENTICATED" && !(error instanceof KeyRejected);
    if (isUnknown) return undefined;
    throw error;
  }
}

/** Whether the server is known to show the caller's key only itself and the keys that it created. A failure counts as no. */
export async function seesOnlyOwnKeys(endpoint: Endpoint): Promise<boolean> {
  try {
    const inUse = await findRightsInUse(endpoint);
    return inUse !== undefined && !inUse.rights.has("API_KEY:READ_ANY");
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

async function queryMe(endpoint: Endpoint, document: string): Promise<KeyInResponse | null> {
  return (await execute(endpoint, document, {}, () => z.object({ me: z.nullable(keyInResponse()) }))).me;
}
