/** Updates a key: its name, description, rights, expiry, and whether it is enabled. */
import * as z from "zod/mini";
import { Failure, quote, toSentence } from "../../apikey/failure.ts";
import { parseExistingName } from "../../apikey/name.ts";
import { groupByResource } from "../../apikey/permission.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { findKeys } from "../find_keys.ts";
import { type ApiKey, KEY_FIELDS, type KeyField, keyInResponse, selectFields, toApiKey } from "./api_key.ts";
import { findKey, notFound } from "./find_key.ts";
import { type SchemaField, type ServerFields, serverFields, unsupported } from "./server_fields.ts";

/** The members that change, with their new values. */
export type KeyChanges = Partial<
  Pick<ApiKey, "name" | "description" | "roles" | "permissions" | "enabled" | "expiresAt" | "managedBy">
>;

export type UpdateResult =
  | { readonly kind: "updated"; readonly key: ApiKey }
  /** Another caller changed the key after it was read. This update changed nothing. */
  | { readonly kind: "changed meanwhile"; readonly current: ApiKey };

export const UPDATE = updateDocument(KEY_FIELDS);

function updateDocument(fields: readonly KeyField[]): string {
  return `mutation UpdateApiKey($input: UpdateApiKeyInput!) { apiKey { update(input: $input) { ${
    selectFields(fields)
  } } } }`;
}

/**
 * Updates a key. A server that reports revisions updates it only if no other caller has changed it since it was read.
 * Other servers replace the roles and permissions as a whole, so they get all of them. If their answer shows that another
 * caller changed the key at the same time, the update fails.
 *
 * @param key the key as it was read
 * @throws {Failure} `NOT_FOUND`; `ALREADY_EXISTS` if the new name is taken; `UNSUPPORTED` if the server cannot change one
 * of the members; `FAILED` if the server's answer is not the updated key; any failure of {@linkcode execute}
 */
export async function updateKey(endpoint: Endpoint, key: ApiKey, changes: KeyChanges): Promise<UpdateResult> {
  try {
    if (key.revision === null) return await updateOnOtherServer(endpoint, key, changes);
    const input = { id: key.id, ifRevision: key.revision, ...toInput(changes) };
    return { kind: "updated", key: await request(endpoint, UPDATE, input) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.mayHaveExecuted) throw withAdvice(error);
    if (error.code === "NOT_FOUND") throw await notFound(endpoint, { id: key.id });
    if (error.code === "ALREADY_EXISTS") throw nameTaken(changes, error);
    const current = error.code === "FAILED" && key.revision !== null ? await findKey(endpoint, { id: key.id }) : key;
    if (current.revision === key.revision) throw error;
    return { kind: "changed meanwhile", current };
  }
}

async function request(endpoint: Endpoint, document: string, input: object): Promise<ApiKey> {
  const { apiKey } = await execute(
    endpoint,
    document,
    { input },
    () => z.object({ apiKey: z.object({ update: keyInResponse() }) }),
  );
  return toApiKey(apiKey.update);
}

function toInput({ permissions, ...changes }: KeyChanges): object {
  return { ...changes, ...(permissions ? { permissions: groupByResource(permissions) } : {}) };
}

async function updateOnOtherServer(endpoint: Endpoint, key: ApiKey, changes: KeyChanges): Promise<UpdateResult> {
  const has = await serverFields(endpoint);
  requireFields(endpoint, has, key, changes);
  const { name } = changes;
  if (name !== undefined) {
    const others = (await findKeys(endpoint, parseExistingName(name))).filter(({ id }) => id !== key.id);
    if (others.length > 0) throw nameTaken(changes);
  }
  const fields = KEY_FIELDS.filter((field) => has.has(`ApiKey.${field}`));
  const { roles, permissions } = key;
  const input = { id: key.id, ...toInput({ roles, permissions, ...changes }) };
  const answered = await request(endpoint, updateDocument(fields), input);
  // Members that the server does not report are null in both.
  const expected = { ...key, ...changes };
  const differing = CHANGEABLE.filter((member) => textOf(answered[member]) !== textOf(expected[member]));
  if (differing.length === 0) return { kind: "updated", key: answered };
  throw new Failure(
    "FAILED",
    `${endpoint.label} updated the key ${quote(key.name)} (${key.id}), but its ${differing.join(" and ")} ` +
      "differs from what was requested. Another caller may have changed the key at the same time. Check the key with " +
      "service-api apikey show.",
  );
}

/** The members that every server can change. */
const CHANGEABLE = ["name", "description", "roles", "permissions"] as const satisfies readonly KeyField[];

/** Returns a text that is equal for values that mean the same. */
function textOf(value: string | readonly string[] | null): string {
  return Array.isArray(value) ? value.toSorted().join() : (value ?? "").toString().normalize("NFC");
}

/** What works on a server that lacks one of these fields. */
const ALTERNATIVES: Partial<Record<SchemaField, string>> = {
  "UpdateApiKeyInput.enabled": "Its keys cannot be disabled. To block the key, delete it.",
  "UpdateApiKeyInput.expiresAt": "Its keys do not expire. Delete the key in time.",
};

/** @throws {Failure} `UNSUPPORTED` */
function requireFields(endpoint: Endpoint, has: ServerFields, key: ApiKey, changes: KeyChanges): void {
  const replace = "To replace the key with a new one instead, use service-api apikey --create --overwrite.";
  const required: readonly SchemaField[] = [
    "ApiKeyMutations.update",
    "ApiKey.roles",
    "ApiKey.permissions",
    ...Object.keys(changes).map((member): SchemaField => `UpdateApiKeyInput.${member}`),
  ];
  for (const field of required) {
    if (!has.has(field)) throw unsupported(endpoint, field, ALTERNATIVES[field] ?? replace);
  }
  if (key.roles === null) throw unsupported(endpoint, "ApiKey.roles", replace);
  if (key.permissions === null) throw unsupported(endpoint, "ApiKey.permissions", replace);
}

function nameTaken({ name = "" }: KeyChanges, cause?: Failure): Failure {
  return new Failure("ALREADY_EXISTS", `A key named ${quote(name)} already exists. Choose another name.`, { cause });
}

function withAdvice(failure: Failure): Failure {
  const message = `${toSentence(failure.message)} To make sure that the key is updated, run the same command again.`;
  return new Failure(failure.code, message, { cause: failure, mayHaveExecuted: true, saysWhatToRun: true });
}
