/** Keys with everything that a server reports about them, except their secrets. */
import * as z from "zod/mini";
import { ungroup } from "../../apikey/permission.ts";
import { type KeyReference, keyReference } from "../key.ts";

/** A key. A member is `null` if the server does not report it, or if it does not apply. Times are RFC 3339. */
export interface ApiKey extends KeyReference {
  readonly description: string | null;
  /** The server may have roles that this program does not know. */
  readonly roles: readonly string[] | null;
  /** `RESOURCE:ACTION` pairs. The server may have resources and actions that this program does not know. */
  readonly permissions: readonly string[] | null;
  readonly enabled: boolean | null;
  readonly createdAt: string | null;
  /** The id of the key that created this key. */
  readonly createdBy: string | null;
  /** The manifest that the key belongs to. */
  readonly managedBy: string | null;
  readonly updatedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  /** The end of the grace period of the previous secret. */
  readonly graceUntil: string | null;
  /** A number that increases with each change to the key, for `ifRevision`. */
  readonly revision: number | null;
}

/** The fields of the GraphQL type `ApiKey` that this program reads, except the secret. */
export const KEY_FIELDS = [
  "id",
  "name",
  "description",
  "roles",
  "permissions",
  "enabled",
  "createdAt",
  "createdBy",
  "managedBy",
  "updatedAt",
  "lastUsedAt",
  "expiresAt",
  "graceUntil",
  "revision",
] as const satisfies readonly (keyof ApiKey)[];

export type KeyField = typeof KEY_FIELDS[number];

/** The GraphQL selection for these fields, without braces. */
export function selectFields(fields: readonly KeyField[]): string {
  return fields.map((field) => field === "permissions" ? "permissions { resource actions }" : field).join(" ");
}

/** A key in a response. Members are absent if the request did not select them. */
export interface KeyInResponse extends KeyReference {
  readonly description?: string | null | undefined;
  readonly roles?: readonly string[] | null | undefined;
  readonly permissions?:
    | readonly { readonly resource: string; readonly actions: readonly string[] }[]
    | null
    | undefined;
  readonly enabled?: boolean | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly createdBy?: string | null | undefined;
  readonly managedBy?: string | null | undefined;
  readonly updatedAt?: string | null | undefined;
  readonly lastUsedAt?: string | null | undefined;
  readonly expiresAt?: string | null | undefined;
  readonly graceUntil?: string | null | undefined;
  readonly revision?: number | null | undefined;
  /** The secret, or a mask of it. */
  readonly key?: string | null | undefined;
  /** The rights that roles and permissions grant together. */
  readonly rights?: KeyInResponse["permissions"];
}

/** Returns the zod schema of a {@linkcode KeyInResponse}. */
export function keyInResponse(): z.ZodMiniType<KeyInResponse> {
  const text = z.nullish(z.string());
  const permissions = z.nullish(z.array(z.object({ resource: z.string(), actions: z.array(z.string()) })));
  return z.extend(keyReference(), {
    description: text,
    roles: z.nullish(z.array(z.string())),
    permissions,
    enabled: z.nullish(z.boolean()),
    createdAt: text,
    createdBy: text,
    managedBy: text,
    updatedAt: text,
    lastUsedAt: text,
    expiresAt: text,
    graceUntil: text,
    revision: z.nullish(z.number()),
    key: text,
    rights: permissions,
  });
}

export function toApiKey(key: KeyInResponse): ApiKey {
  return {
    id: key.id,
    name: key.name,
    description: key.description ?? null,
    roles: key.roles ?? null,
    permissions: key.permissions ? ungroup(key.permissions) : null,
    enabled: key.enabled ?? null,
    createdAt: key.createdAt ?? null,
    createdBy: key.createdBy ?? null,
    managedBy: key.managedBy ?? null,
    updatedAt: key.updatedAt ?? null,
    lastUsedAt: key.lastUsedAt ?? null,
    expiresAt: key.expiresAt ?? null,
    graceUntil: key.graceUntil ?? null,
    revision: key.revision ?? null,
  };
}
