/** Creates a key: checks the caller's input, generates the secret and stores the key. */
import { encodeBase62 } from "../../apikey/base62.ts";
import { parseDescription } from "../../apikey/description.ts";
import { Failure } from "../../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../../apikey/name.ts";
import { type ResourceActions, ungroup } from "../../apikey/permission.ts";
import { missingRights, requireSomeRights, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import { makeSecret, SECRET_BYTES, secretTail } from "../../apikey/secret.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { requirePermission, RULES } from "../auth/authorization.ts";
import { isOwn } from "../auth/caller.ts";
import { type Target, withRefusalAudit } from "./refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "./request_context.ts";

/** The maximum length of a name, in code points. */
const MAX_NAME_LENGTH = 255;

/** The number of random bytes in the id of a key. */
const ID_BYTES = 16;

/** The GraphQL input `CreateApiKeyInput`. */
export interface CreateKeyInput {
  readonly name: string;
  readonly description?: string | null;
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
  readonly overwrite?: boolean | null;
}

/** A new key and its secret. The store never holds the secret. */
export interface CreatedKey {
  readonly key: StoredKey;
  readonly secret: string;
}

/**
 * Creates a key and stores it. With `overwrite`, the new key replaces the key with the same name.
 *
 * @throws {Failure} `INVALID_NAME` if the name is empty or too long, or if it contains anything other than letters, digits
 * and spaces
 * @throws {Failure} `USAGE` if the description is too long or contains characters that a store cannot hold
 * @throws {Failure} `NO_RIGHTS` if the input has neither roles nor permissions
 * @throws {Failure} `FORBIDDEN` if the caller lacks a right that the key would have
 * @throws {Failure} `ALREADY_EXISTS` if another key has the name and `overwrite` is not set
 * @throws {Failure} `FORBIDDEN` if the caller is not allowed to delete the key that would be replaced
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 */
export function createKey(input: CreateKeyInput, context: RequestContext): Promise<CreatedKey> {
  const { store, caller, origin } = context;
  let target: Target = { name: input.name };
  return withRefusalAudit("CREATE", () => target, context, async () => {
    const created = await prepareKey(input, context);
    await store.add(created.key, origin, (replaced) => {
      throwIfAborted(context);
      if (replaced === undefined) return;
      target = replaced;
      if (!input.overwrite) throw nameTaken(replaced.name);
      requirePermission(RULES.ApiKeyMutations.delete, caller, isOwn(caller, replaced), "Replacing a key");
    });
    return created;
  });
}

/** Checks the input and generates an id and a secret. Stores nothing. */
async function prepareKey(
  input: CreateKeyInput,
  { caller, origin, hashSecret }: RequestContext,
): Promise<CreatedKey> {
  const name = parseStorableName(input.name);
  const { description: text = null } = input;
  const description = text === null ? null : parseDescription(text);
  const roles = [...new Set(input.roles ?? [])];
  const permissions = ungroup(input.permissions ?? []);
  requireSomeRights(roles, permissions);
  const missing = missingRights(caller.rights, rightsOf(roles, permissions));
  if (missing.length > 0) {
    throw new Failure(
      "FORBIDDEN",
      `A key can grant only rights that it has. Your key lacks ${listRights(missing)}.`,
    );
  }
  const secret = makeSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  return {
    secret,
    key: {
      id: `key_${encodeBase62(crypto.getRandomValues(new Uint8Array(ID_BYTES)), 22)}`,
      name,
      description,
      roles,
      permissions,
      createdAt: origin.at,
      createdBy: caller.key?.id ?? null,
      lastUsedAt: null,
      secretHash: Uint8Array.fromHex(await hashSecret(secret)),
      secretTail: secretTail(secret),
      revision: 1,
      enabled: true,
      expiresAt: null,
      updatedAt: null,
      managedBy: null,
      previousSecretHash: null,
      graceUntil: null,
    },
  };
}

function parseStorableName(input: string): Name {
  const name = parseName(input);
  const length = [...name].length;
  if (length <= MAX_NAME_LENGTH) return name;
  throw new Failure(
    "INVALID_NAME",
    `The name is too long: it has ${length} characters. A name may contain only letters, digits and spaces, and at most ` +
      `${MAX_NAME_LENGTH} of them.`,
  );
}

function listRights(rights: readonly string[]): string {
  const shown = rights.slice(0, 3).join(", ");
  return rights.length > 3 ? `${shown} and ${rights.length - 3} more` : shown;
}
