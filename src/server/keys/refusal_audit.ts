/** Records refused changes in the audit trail. The store itself records the changes that it makes. */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import type { AuditAction } from "../../store/audit_event.ts";
import type { RequestContext } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/** The key that a change was for, as far as it was known when the change was refused. */
export interface Target {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** Failures that refuse nothing: the store was unavailable, or the client no longer waits. */
const NOT_REFUSALS: readonly FailureCode[] = ["UNREACHABLE", "TIMEOUT", "INTERRUPTED"];

/** Makes a change. If it is refused, the refusal is in the audit trail before the client gets the response. */
export async function withRefusalAudit<Result>(
  action: AuditAction,
  target: () => Target,
  context: RequestContext,
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    await recordRefusal(action, target(), error, context);
    throw error;
  }
}

/** Adds a refusal to the audit trail. If that fails, it only logs an error: the change stays refused. */
export async function recordRefusal(
  action: AuditAction,
  { id, name }: Target,
  refusal: unknown,
  { store, origin, logError }: RequestContext,
): Promise<void> {
  if (!(refusal instanceof Failure) || NOT_REFUSALS.includes(refusal.code)) return;
  try {
    await store.recordEvent({
      ...origin,
      action,
      keyId: id === undefined ? null : sanitizeText(id),
      keyName: name === undefined ? null : sanitizeText(name),
      outcome: refusal.code,
    });
  } catch (error) {
    logError("Could not record a refused change in the audit trail: {error}", { error });
  }
}
