/**
 * Audit events. An event states who created, replaced or deleted a key, or tried to, when, from where, and with what
 * outcome. A recorded event never changes.
 */
import { Failure } from "../apikey/failure.ts";
import type { StoredKey } from "./stored_key.ts";

/**
 * The kind of change. A successful replacement has two events: `REPLACE` for the old key and `CREATE` for the new key.
 */
export const AUDIT_ACTIONS = ["CREATE", "REPLACE", "DELETE"] as const;

export type AuditAction = typeof AUDIT_ACTIONS[number];

/**
 * Who requests a change, when and from where. The local caller is the user of a command that opens the store itself and
 * sends no key.
 */
export interface Origin {
  readonly at: Date;
  /** The calling key; `null` for the local caller. */
  readonly actor: { readonly id: string; readonly name: string } | null;
  /** The IP address of the client; `null` for a request in embedded mode, inside the process of a command. */
  readonly address: string | null;
  /** The id of the request, as in the access log; `null` in embedded mode. */
  readonly requestId: string | null;
}

export interface AuditEvent extends Origin {
  /** A decimal number that increases with every event, possibly with gaps. */
  readonly id: string;
  readonly action: AuditAction;
  /** The id of the key that the change affected or would have affected; `null` if unknown. */
  readonly keyId: string | null;
  /** The name of that key; `null` if unknown. */
  readonly keyName: string | null;
  /** `DONE`; `NOT_FOUND` if the key to delete does not exist; otherwise the `FailureCode` of the rejection. */
  readonly outcome: string;
  /**
   * How many rejections this event stands for. They have the same calling key, action and outcome. All other members
   * describe the last one. Always 1 if a change took effect.
   */
  readonly occurrences: number;
}

/** An event that is not recorded yet and therefore has no id. `occurrences` is 1 if not set. */
export type NewEvent = Omit<AuditEvent, "id" | "occurrences"> & Partial<Pick<AuditEvent, "occurrences">>;

/** Returns the event for a change that took effect. */
export function doneEvent(action: AuditAction, { id, name }: StoredKey, origin: Origin): NewEvent {
  return { ...origin, action, keyId: id, keyName: name, outcome: "DONE" };
}

/** Returns whether the calling key is the key that its request replaces. */
export function replacesItself({ id }: StoredKey, { actor }: Origin): boolean {
  return actor !== null && actor.id === id;
}

/** Returns the error for a calling key that was deleted after it was authenticated. */
export function actorDeleted(): Failure {
  return new Failure("UNAUTHENTICATED", "The key of this request was deleted while the request was running.");
}
