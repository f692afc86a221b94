/** Creates a key: checks the caller's input, generates the secret and stores the key. */
import { encodeBase62 } from "../../apikey/base62.ts";
import { parseDescription } from "../../apikey/description.ts";
import { nameTaken } from "../../apikey/name.ts";
import { type ResourceActions, ungroup } from "../../apikey/permission.ts";
import { requireSomeRights, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import { requirePermission, requireStillAuthorized, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { defaultExpiry, parseExpiry, requireAllowedExpiry } from "./expiry.ts";
import { requireCurrentSecret, requireRights } from "./granted_rights.ts";
import { generateSecret, type NewKey } from "./new_secret.ts";
import { type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";
import { parseManagedBy, parseOptional, parseStorableName } from "./storable_text.ts";

/** The number of random bytes in the id of a key. */
const ID_BYTES = 16;

/** The GraphQL input `CreateApiKeyInput`. */
export interface CreateKeyInput {
  readonly name: string;
  readonly description?: string | null;
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
  readonly overwrite?: boolean | null;
  /** In RFC 3339; `null` if the key does not expire. */
  readonly expiresAt?: string | null;
  readonly managedBy?: string | null;
}

/**
 * Creates a key and stores it. With `overwrite`, the new key replaces the key with the same name.
 *
 * @throws {Failure} `INVALID_NAME` if the name is empty or too long, or if it contains anything other than letters, digits
 * and spaces
 * @throws {Failure} `USAGE` if a text is too long or contains characters that a store cannot hold, or if the expiry is
 * not in RFC 3339, not in the future or later than the server allows
 * @throws {Failure} `NO_RIGHTS` if the input has neither roles nor permissions
 * @throws {Failure} `FORBIDDEN` if the caller lacks a right that the key would have
 * @throws {Failure} `ALREADY_EXISTS` if another key has the name and `overwrite` is not set
 * @throws {Failure} `FORBIDDEN` if the caller is not allowed to delete the key that would be replaced
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export function createKey(input: CreateKeyInput, context: RequestContext): Promise<NewKey> {
  const { store, caller, origin } = context;
  let target: Target = { name: input.name };
  return withRefusalAudit("CREATE", () => target, context, async () => {
    const created = await prepareKey(input, context);
    await store.add(created.key, origin, (replaced, actor) => {
      throwIfAborted(context);
      if (replaced !== undefined) {
        target = replaced;
        if (!input.overwrite) throw nameTaken(replaced.name);
        requirePermission(RULES.ApiKeyMutations.delete, caller, isOwn(caller, replaced), "Replacing a key");
        requireCurrentSecret(caller, replaced, "Replacing");
      }
      requireStillAuthorized(caller, actor);
    });
    return created;
  });
}

/** Checks the input and generates an id and a secret. Stores nothing. */
async function prepareKey(
  { name, description, roles: givenRoles, permissions: groups, expiresAt, managedBy }: CreateKeyInput,
  { caller, origin: { at }, hashSecret, lifetimes }: RequestContext,
): Promise<NewKey> {
  const roles = [...new Set(givenRoles ?? [])];
  const permissions = ungroup(groups ?? []);
  const texts = {
    name: parseStorableName(name),
    description: parseOptional(description ?? null, parseDescription),
    managedBy: parseOptional(managedBy ?? null, parseManagedBy),
  };
  requireSomeRights(roles, permissions);
  requireRights(caller, rightsOf(roles, permissions, caller.resources.names));
  const expiry = expiresAt === undefined
    ? defaultExpiry(lifetimes, at)
    : parseOptional(expiresAt, (text) => parseExpiry(text, at));
  requireAllowedExpiry(expiry, lifetimes, at);
  const { secret, ...hashAndTail } = await generateSecret(hashSecret);
  return {
    secret,
    key: {
      id: `key_${encodeBase62(crypto.getRandomValues(new Uint8Array(ID_BYTES)), 22)}`,
      revision: 1,
      ...texts,
      roles,
      permissions,
      createdAt: at,
      createdBy: caller.key?.id ?? null,
      lastUsedAt: null,
      ...hashAndTail,
      enabled: true,
      expiresAt: expiry,
      updatedAt: null,
      previousSecretHash: null,
      graceUntil: null,
    },
  };
}
