/** Creates a key. */
import * as z from "zod/mini";
import { type Name, nameTaken } from "../apikey/name.ts";
import { groupByResource, type Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { type KeyReference, keyReference } from "./key.ts";
import { listReferences } from "./list_keys.ts";

export interface NewKey {
  readonly name: Name;
  readonly description: string | undefined;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  /** Whether the new key replaces an existing key with the same name. */
  readonly overwrite: boolean;
}

/** A new key with its secret. */
export interface CreatedKey extends KeyReference {
  /** The secret: one or more visible ASCII characters. */
  readonly key: string;
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

/**
 * Creates a key. Without `overwrite`, never returns a key that existed before.
 *
 * @throws {Failure} `ALREADY_EXISTS`, or any failure of {@linkcode execute}
 */
export async function createKey(endpoint: Endpoint, key: NewKey): Promise<CreatedKey> {
  const variables = { input: inputFor(key) };
  if (key.overwrite) return await create(endpoint, CREATE, variables);
  return await withFallback(
    () => create(endpoint, CREATE_ON_EMBEDDED, variables),
    () => createIfNew(endpoint, key.name, variables),
  );
}

async function create(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<CreatedKey> {
  const { apiKey } = await execute(endpoint, document, variables, () => {
    const created = z.extend(keyReference(), { key: z.string().check(z.regex(/^[\x21-\x7e]+$/)) });
    const fields = { create: created };
    const embeddedFields = { ...fields, refusesTakenNames: z.literal(true) };
    return z.object({ apiKey: z.object(document === CREATE ? fields : embeddedFields) });
  });
  return apiKey.create;
}

/**
 * Creates a key on a server that may return the existing key if the name is taken. Compares the new key with a list of
 * all keys to detect this.
 */
async function createIfNew(
  endpoint: Endpoint,
  name: Name,
  variables: Readonly<Record<string, unknown>>,
): Promise<CreatedKey> {
  const before = await listReferences(endpoint);
  if (before.some((key) => key.name.normalize("NFC") === name)) throw nameTaken(name);
  const created = await create(endpoint, CREATE, variables);
  if (before.some(({ id }) => id === created.id)) throw nameTaken(name);
  return created;
}

function inputFor({ name, description, roles, permissions, overwrite }: NewKey): Readonly<Record<string, unknown>> {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(roles.length === 0 ? {} : { roles }),
    ...(permissions.length === 0 ? {} : { permissions: groupByResource(permissions) }),
    ...(overwrite ? { overwrite: true } : {}),
  };
}
