/** Counts refusals of the gate in the audit trail, because a recorded event for each could fill the disk. */
import { KeyRejected } from "../../apikey/rejected_key.ts";
import type { AuditAction } from "../../store/audit_event.ts";
import type { KeyCaller } from "../auth/caller.ts";
import type { HttpRequest } from "../graphql/http_message.ts";
import type { RefusalAudit } from "../keys/refusal_audit.ts";
import { InsufficientScope } from "./problem.ts";

/**
 * Counts a refusal if the key of the request was rejected or lacks a permission. Requests without a key are not counted:
 * clients send them to find out how to authenticate.
 *
 * @param caller not set if the request was not authenticated
 */
export function countRefusal(
  refusals: Pick<RefusalAudit, "count">,
  action: AuditAction,
  error: unknown,
  { address, requestId }: Pick<HttpRequest, "address" | "requestId">,
  caller: KeyCaller | undefined,
  at: Date,
): void {
  if (!(error instanceof KeyRejected || error instanceof InsufficientScope)) return;
  const actor = caller?.key ?? null;
  refusals.count({
    at,
    actor,
    address,
    requestId,
    action,
    keyId: actor?.id ?? (error instanceof KeyRejected ? error.keyId ?? null : null),
    keyName: actor?.name ?? null,
    outcome: error.code,
  });
}
