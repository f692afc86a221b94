/** Records refused changes in the audit trail. The store itself records each change that it makes. */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import type { AuditAction } from "../../store/audit_event.ts";
import type { RequestContext } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/** The key that a refused change would have affected. A member is set only if it was known when the change was refused. */
export interface Target {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** Failures that are not refusals: the store was unavailable, or the client no longer waits for the response. */
const NOT_REFUSALS: readonly FailureCode[] = ["UNREACHABLE", "TIMEOUT", "INTERRUPTED"];

/** Makes a change. If the change is refused, records the refusal before the client gets the response. */
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

/**
 * Records a refusal in the audit trail. Ignores errors that are not refusals. If recording fails, logs an error and does
 * not throw, because the caller must still get the refusal.
 */
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
