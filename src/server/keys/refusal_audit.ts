/** Refused changes and the audit trail. What is carried out enters the trail through the store, with the change. */
import { Failure } from "../../apikey/failure.ts";
import type { AuditAction } from "../../store/audit_event.ts";
import type { RequestContext } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/** The key that a change was to be made to, as far as that is known when it is refused. */
export interface Target {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** Failures that are no refusals: the store is away, and could not record them either, or nobody waits any more. */
const AWAY = ["UNREACHABLE", "TIMEOUT", "INTERRUPTED"];

/** Does what a caller asks for, and records a refusal before the caller hears of it. */
export async function recordingRefusal<Result>(
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

/** Adds a refusal to the audit trail. Refused it is, whether or not that can be recorded. */
export async function recordRefusal(
  action: AuditAction,
  { id, name }: Target,
  refusal: unknown,
  { store, origin, logError }: RequestContext,
): Promise<void> {
  if (!(refusal instanceof Failure) || AWAY.includes(refusal.code)) return;
  try {
    await store.recordEvent({
      ...origin,
      action,
      keyId: id === undefined ? null : sanitizeText(id),
      keyName: name === undefined ? null : sanitizeText(name),
      outcome: refusal.code,
    });
  } catch (reason) {
    logError("A refusal could not be recorded: {reason}", { reason });
  }
}
