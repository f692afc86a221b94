/**
 * The GraphQL client. To create and delete keys, it needs a server whose schema has the fields that
 * `src/server/README.md` lists under "Other servers". Other operations need more fields, and fail with `UNSUPPORTED` if
 * the server lacks one. Each operation has its own file.
 */
import { createKey } from "./create/create_key.ts";
import { CREATE_ON_EMBEDDED, type NewKey } from "./create/create_request.ts";
import { ENUM_NAMES, type EnumNames, listEnumNames } from "./rights/list_enum_names.ts";
import { LIST_SECRETS } from "./create/list_secrets.ts";
import { DELETE, deleteKeys } from "./delete_keys.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Failure } from "../apikey/failure.ts";
import { FIND_ON_EMBEDDED, findKeys, type FoundKey } from "./find_keys.ts";
import { findKeyInUse, identify, ME } from "./identify.ts";
import type { IssuedKey, KeyReference, KeySummary } from "./key.ts";
import type { ApiKey, KeyField } from "./keys/api_key.ts";
import { adviceOnName, FIND_BY_ID, FIND_BY_NAME, findKey, type KeySelector } from "./keys/find_key.ts";
import { readAgain } from "./keys/read_again.ts";
import {
  FIND_NAMES,
  FIND_ONE_NAME,
  MATCH_HASHES,
  matchSecrets,
  type NameAndSecret,
  type SecretMatches,
} from "./keys/match_secrets.ts";
import { LIST_PAGE, readKeys, type ReadOptions } from "./keys/read_keys.ts";
import { ROTATE, type RotatedKey, rotateKey, type Rotation } from "./keys/rotate_key.ts";
import { type KeyChanges, UPDATE, updateKey, type UpdateResult } from "./keys/update_key.ts";
import { type SchemaField, SERVER_FIELDS, type ServerFields, serverFields, unsupported } from "./keys/server_fields.ts";
import {
  type AuditEvent,
  type EventPage,
  EVENTS,
  EVENTS_SELECTED,
  type EventSelection,
  listAuditEvents,
} from "./list_audit_events.ts";
import { LIST, LIST_SUMMARIES, listKeys } from "./list_keys.ts";
import {
  type EffectivePermissions,
  effectivePermissions,
  PERMISSIONS_FOR_ROLES,
  PREVIEW_PERMISSIONS,
} from "./rights/effective_permissions.ts";
import { DESCRIBE_ROLES, roleDescriptions } from "./rights/role_descriptions.ts";
import { badResponse } from "./response_failure.ts";
import { type BodyResponse, sendBody } from "./send_body.ts";
import {
  findRightsInUse,
  ME_WITH_RIGHTS,
  type RightsInUse,
  seesOnlyOwnKeys,
  type Verification,
  verifyKey,
} from "./verify/verify_key.ts";

export type {
  ApiKey,
  AuditEvent,
  EffectivePermissions,
  EventPage,
  EventSelection,
  FoundKey,
  IssuedKey,
  KeyChanges,
  KeyField,
  KeyReference,
  KeySelector,
  KeySummary,
  NewKey,
  ReadOptions,
  RotatedKey,
  Rotation,
  SchemaField,
  ServerFields,
  UpdateResult,
  Verification,
};

/**
 * The operations on one server. The file of each operation describes it. Every operation throws what `execute` throws.
 */
export interface Client {
  createKey(key: NewKey): Promise<IssuedKey>;
  findKeys(name: NewKey["name"]): Promise<readonly FoundKey[]>;
  listKeys(): Promise<readonly KeySummary[]>;
  readKeys(options?: ReadOptions): AsyncIterable<readonly ApiKey[]>;
  readAgain(ids: readonly string[], fields: readonly KeyField[]): Promise<readonly ApiKey[]>;
  findKey(selector: KeySelector): Promise<ApiKey>;
  adviceOnName(name: NewKey["name"]): Promise<string>;
  matchSecrets(wanted: readonly NameAndSecret[]): Promise<SecretMatches>;
  serverFields(): Promise<ServerFields>;
  unsupported(field: SchemaField, alternative: string): Failure;
  /** @param problem the rest of a sentence, for a query */
  badResponse(problem: string): Failure;
  identify(): Promise<KeyReference | undefined>;
  verifyKey(): Promise<Verification>;
  findRightsInUse(): Promise<RightsInUse | undefined>;
  seesOnlyOwnKeys(): Promise<boolean>;
  findKeyInUse(): Promise<KeyReference | undefined>;
  updateKey(key: ApiKey, changes: KeyChanges): Promise<UpdateResult>;
  rotateKey(rotation: Rotation): Promise<RotatedKey>;
  deleteKeys(keys: readonly KeyReference[]): Promise<boolean>;
  effectivePermissions(rights: Parameters<typeof effectivePermissions>[1]): Promise<EffectivePermissions>;
  roleDescriptions(): Promise<ReadonlyMap<string, string>>;
  listEnumNames(): Promise<EnumNames>;
  listAuditEvents(after: string | undefined, first: number, selection?: EventSelection): Promise<EventPage>;
  sendBody(body: string): Promise<BodyResponse>;
}

export function createClient(endpoint: Endpoint): Client {
  return {
    createKey: (key) => createKey(endpoint, key),
    findKeys: (name) => findKeys(endpoint, name),
    listKeys: () => listKeys(endpoint),
    readKeys: (options) => readKeys(endpoint, options),
    readAgain: (ids, fields) => readAgain(endpoint, ids, fields),
    findKey: (selector) => findKey(endpoint, selector),
    adviceOnName: (name) => adviceOnName(endpoint, name),
    matchSecrets: (wanted) => matchSecrets(endpoint, wanted),
    serverFields: () => serverFields(endpoint),
    unsupported: (field, alternative) => unsupported(endpoint, field, alternative),
    badResponse: (problem) => badResponse(problem, endpoint, { mayChange: false }),
    identify: () => identify(endpoint),
    verifyKey: () => verifyKey(endpoint),
    findRightsInUse: () => findRightsInUse(endpoint),
    seesOnlyOwnKeys: () => seesOnlyOwnKeys(endpoint),
    findKeyInUse: () => findKeyInUse(endpoint),
    updateKey: (key, changes) => updateKey(endpoint, key, changes),
    rotateKey: (rotation) => rotateKey(endpoint, rotation),
    deleteKeys: (keys) => deleteKeys(endpoint, keys),
    effectivePermissions: (rights) => effectivePermissions(endpoint, rights),
    roleDescriptions: () => roleDescriptions(endpoint),
    listEnumNames: () => listEnumNames(endpoint),
    listAuditEvents: (after, first, selection) => listAuditEvents(endpoint, after, first, selection),
    sendBody: (body) => sendBody(endpoint, body),
  };
}

/**
 * All GraphQL documents that this client sends to the embedded server, except those that the user writes for `sendBody`.
 * A test validates these documents, so a server inside this process does not need to.
 */
export const DOCUMENTS: readonly string[] = [
  CREATE_ON_EMBEDDED,
  LIST,
  LIST_SUMMARIES,
  LIST_SECRETS,
  ME,
  ME_WITH_RIGHTS,
  FIND_ON_EMBEDDED,
  UPDATE,
  ROTATE,
  DELETE,
  PREVIEW_PERMISSIONS,
  PERMISSIONS_FOR_ROLES,
  DESCRIBE_ROLES,
  ENUM_NAMES,
  SERVER_FIELDS,
  LIST_PAGE,
  FIND_BY_NAME,
  FIND_BY_ID,
  MATCH_HASHES,
  FIND_ONE_NAME,
  FIND_NAMES,
  EVENTS,
  EVENTS_SELECTED,
];
