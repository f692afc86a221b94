/** How a key is made on the embedded server, from the caller's input to the stored key. */
import { encodeBase62 } from "../../apikey/base62.ts";
import { Failure } from "../../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../../apikey/name.ts";
import { type ResourceActions, ungroup } from "../../apikey/permission.ts";
import { missingRights, requireSomeRights, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import { makeSecret, SECRET_BYTES, secretTail } from "../../apikey/secret.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import { isOwn } from "../auth/caller.ts";
import { recordingRefusal, type Target } from "./refusal_audit.ts";
import type { RequestContext } from "./request_context.ts";
import { requireRight, RULES } from "../auth/authorization.ts";

/** The longest name, in code points. */
const LONGEST_NAME = 255;

const ID_BYTES = 16;

/** `CreateApiKeyInput` of the GraphQL contract. */
export interface CreateKeyInput {
  readonly name: string;
  readonly description?: string | null;
  readonly roles?: readonly Role[] | null;
  readonly permissions?: readonly ResourceActions[] | null;
  readonly overwrite?: boolean | null;
}

/** A key together with its secret, which exists nowhere else. */
export interface CreatedKey {
  readonly key: StoredKey;
  readonly secret: string;
}

/**
 * Makes a key and stores it.
 *
 * @throws {Failure} `FORBIDDEN` when the caller lacks a right that the new key would have, or the right to delete the
 * key that it would replace; `INVALID_NAME`, `NO_RIGHTS`, `ALREADY_EXISTS`, `USAGE` for a description that is not
 * storable text
 */
export function createKey(input: CreateKeyInput, context: RequestContext): Promise<CreatedKey> {
  let target: Target = { name: input.name };
  return recordingRefusal("CREATE", () => target, context, async () => {
    const created = await makeKey(input, context);
    await context.store.add(created.key, context.origin, (held) => {
      context.requireInterest();
      if (held === undefined) return;
      target = held;
      if (!input.overwrite) throw nameTaken(held.name);
      requireRight(RULES.ApiKeyMutations.delete, context.caller, isOwn(context.caller, held), "To replace a key");
    });
    return created;
  });
}

async function makeKey(input: CreateKeyInput, { caller, origin, hashSecret }: RequestContext): Promise<CreatedKey> {
  const name = parseStorableName(input.name);
  const description = input.description ?? null;
  if (description !== null && (description.includes("\0") || !description.isWellFormed())) {
    throw new Failure("USAGE", "A description cannot contain U+0000 or half a surrogate pair.");
  }
  const roles = [...new Set(input.roles ?? [])];
  const permissions = ungroup(input.permissions ?? []);
  requireSomeRights(roles, permissions);
  const lacking = missingRights(caller.rights, rightsOf(roles, permissions));
  if (lacking.length > 0) {
    throw new Failure(
      "FORBIDDEN",
      `Nobody can grant a right they do not hold, and the key that asks does not hold ${listRights(lacking)}.`,
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
    },
  };
}

function parseStorableName(typed: string): Name {
  const name = parseName(typed);
  const length = [...name].length;
  if (length <= LONGEST_NAME) return name;
  throw new Failure(
    "INVALID_NAME",
    `A name may contain only letters, digits and spaces, and at most ${LONGEST_NAME} of them; this one has ${length}.`,
  );
}

function listRights(rights: readonly string[]): string {
  const shown = rights.slice(0, 3).join(", ");
  return rights.length > 3 ? `${shown} and ${rights.length - 3} more` : shown;
}
