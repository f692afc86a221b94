/** The audit trail: who changed which key, when, from where, and what came of it. Events are only ever added. */
import { Failure } from "../apikey/failure.ts";
import type { StoredKey } from "./stored_key.ts";

/** What was done to a key, or asked for. A replacement is a `REPLACE` of the old key and a `CREATE` of the new one. */
export const AUDIT_ACTIONS = ["CREATE", "REPLACE", "DELETE"] as const;

export type AuditAction = typeof AUDIT_ACTIONS[number];

/** Where a change comes from. */
export interface Origin {
  readonly at: Date;
  /** The key that asks; `null` for the local caller. */
  readonly actor: { readonly id: string; readonly name: string } | null;
  /** The IP address of the client; `null` for the local caller. */
  readonly address: string | null;
  /** As in the access log; `null` for the local caller. */
  readonly requestId: string | null;
}

export interface AuditEvent extends Origin {
  /** A decimal number that grows with every event; gaps are possible. */
  readonly id: string;
  readonly action: AuditAction;
  /** The key that it was done to. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  /** `DONE`; `NOT_FOUND` for a key to delete that is not there; otherwise the `FailureCode` of the refusal. */
  readonly outcome: string;
}

/** An event that is about to be recorded. */
export type NewEvent = Omit<AuditEvent, "id">;

/** The event of a change that was carried out. */
export function eventOf(action: AuditAction, { id, name }: StoredKey, origin: Origin): NewEvent {
  return { ...origin, action, keyId: id, keyName: name, outcome: "DONE" };
}

/** The event of a key that was to be deleted and is not there. */
export function notFound(keyId: string, origin: Origin): NewEvent {
  return { ...origin, action: "DELETE", keyId, keyName: null, outcome: "NOT_FOUND" };
}

/** The refusal of a change that a key asked for which is gone by now. */
export function actorIsGone(): Failure {
  return new Failure("UNAUTHENTICATED", "The key that asks was deleted in the meantime.");
}
