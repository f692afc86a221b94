/** Audit events. An event states who changed which key, when, from where, and with what outcome. No event ever changes. */
import { Failure } from "../apikey/failure.ts";
import type { StoredKey } from "./stored_key.ts";

/** The change that a caller made or tried. A replacement is a `REPLACE` of the old key and a `CREATE` of the new key. */
export const AUDIT_ACTIONS = ["CREATE", "REPLACE", "DELETE"] as const;

export type AuditAction = typeof AUDIT_ACTIONS[number];

/** Who requests a change, when and from where. */
export interface Origin {
  readonly at: Date;
  /** The calling key; `null` for the local caller. */
  readonly actor: { readonly id: string; readonly name: string } | null;
  /** The IP address of the client; `null` for the local caller. */
  readonly address: string | null;
  /** The id of the request, as in the access log; `null` for the local caller. */
  readonly requestId: string | null;
}

export interface AuditEvent extends Origin {
  /** A decimal number that increases with every event, possibly with gaps. */
  readonly id: string;
  readonly action: AuditAction;
  /** The key that the action applies to. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  /** `DONE`; `NOT_FOUND` if the key to delete does not exist; otherwise the `FailureCode` of the rejection. */
  readonly outcome: string;
}

/** An event that is not recorded yet. */
export type NewEvent = Omit<AuditEvent, "id">;

/** The event for a change that took effect. */
export function doneEvent(action: AuditAction, { id, name }: StoredKey, origin: Origin): NewEvent {
  return { ...origin, action, keyId: id, keyName: name, outcome: "DONE" };
}

/** The event for a deletion of a key that does not exist. */
export function notFoundEvent(keyId: string, origin: Origin): NewEvent {
  return { ...origin, action: "DELETE", keyId, keyName: null, outcome: "NOT_FOUND" };
}

/** The error if the calling key was deleted after it was authenticated. */
export function actorDeleted(): Failure {
  return new Failure("UNAUTHENTICATED", "The key of this request was deleted while the request was running.");
}
