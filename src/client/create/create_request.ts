/** The request that creates a key. */
import * as z from "zod/mini";
import { Failure, quote, toSentence } from "../../apikey/failure.ts";
import type { Name } from "../../apikey/name.ts";
import { groupByResource, type NamedPermission } from "../../apikey/permission.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { deleteCommand, type IssuedKey, issuedKey, keyReference } from "../key.ts";

export interface NewKey {
  readonly name: Name;
  readonly description: string | undefined;
  /** Members of the server's enum `Role`. */
  readonly roles: readonly string[];
  readonly permissions: readonly NamedPermission[];
  /** Whether the new key replaces an existing key with the same name. */
  readonly overwrite: boolean;
  /** From this time on, the server rejects the key. If it is not set, the default of the server applies. */
  readonly expiresAt?: Date | undefined;
  /** The manifest that the key belongs to. Only servers of this program record it. */
  readonly managedBy?: string | undefined;
}

export const CREATE = `mutation CreateApiKey($input: CreateApiKeyInput!) {
  apiKey { create(input: $input) { id key name } }
}`;

/**
 * Creates a key on the embedded server, the one built into this program. Its field `refusesTakenNames` is true, because
 * it never returns an existing key. A server without this field rejects the whole document and creates nothing.
 */
export const CREATE_ON_EMBEDDED = `mutation CreateApiKey($input: CreateApiKeyInput!) {
  apiKey { refusesTakenNames create(input: $input) { id key name } }
}`;

/** The failure if the server returned a key and also an error. The key exists, and its secret was not printed. */
export class CreatedWithErrors extends Failure {
  /** The error that the server reported, without the secret. */
  readonly reported: Failure;

  constructor(readonly created: IssuedKey, cause: Failure) {
    const message = created.key === "" ? cause.message : cause.message.replaceAll(created.key, "…");
    super(
      "FAILED",
      `The key ${quote(created.name)} (${created.id}) exists, but the server also reported an error: ` +
        `${toSentence(message)} The secret was not printed. To replace the key, run the same command with ` +
        `--overwrite. To delete the key, run: ${deleteCommand(created)}`,
      { cause },
    );
    this.reported = new Failure(cause.code, message, { cause });
  }
}

/**
 * Sends one request to create a key.
 *
 * @param document {@linkcode CREATE} or {@linkcode CREATE_ON_EMBEDDED}
 * @param name the name to use instead of the name in `key`
 * @throws {CreatedWithErrors} if the server returned a key and also an error
 * @throws {Failure} any failure of {@linkcode execute}
 */
export async function requestKey(
  endpoint: Endpoint,
  document: string,
  key: NewKey,
  name: string = key.name,
): Promise<IssuedKey> {
  const variables = { input: { ...inputFor(key), name } };
  const { apiKey } = await execute(endpoint, document, variables, () => {
    const fields = { create: issuedKey() };
    const embeddedFields = { ...fields, refusesTakenNames: z.literal(true) };
    return z.object({ apiKey: z.object(document === CREATE ? fields : embeddedFields) });
  }, (data, failure) => {
    // z.catch would add all of zod's internal functions to the bundle.
    const created = z.extend(keyReference(), { key: z.optional(z.unknown()) });
    const result = z.safeParse(z.object({ apiKey: z.object({ create: created }) }), data);
    if (!result.success) return failure;
    const { key, ...reference } = result.data.apiKey.create;
    return new CreatedWithErrors({ ...reference, key: typeof key === "string" ? key : "" }, failure);
  });
  return apiKey.create;
}

function inputFor(
  { description, roles, permissions, overwrite, expiresAt, managedBy }: NewKey,
): Readonly<Record<string, unknown>> {
  return {
    ...(description === undefined ? {} : { description }),
    ...(roles.length === 0 ? {} : { roles }),
    ...(permissions.length === 0 ? {} : { permissions: groupByResource(permissions) }),
    ...(overwrite ? { overwrite: true } : {}),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
  };
}
