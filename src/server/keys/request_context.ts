/**
 * The context that every GraphQL resolver receives. The other modules of this folder create and
 * delete keys, record refused changes in the audit trail, and clean text from requests.
 */
import { Failure } from "../../apikey/failure.ts";
import type { Origin } from "../../store/audit_event.ts";
import type { KeyStore } from "../../store/key_store.ts";
import type { HashSecret } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import type { LastUse } from "../auth/last_use.ts";
import type { RefusalAudit } from "./refusal_audit.ts";

export type RequestContext = {
  readonly store: KeyStore;
  readonly lastUse: LastUse;
  readonly hashSecret: HashSecret;
  readonly caller: Caller;
  readonly origin: Origin;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
  /**
   * Counts one key of the response.
   *
   * @throws {Failure} `USAGE` if the response exceeds the limit
   */
  readonly countKey: () => void;
  readonly refusals: RefusalAudit;
};

/**
 * Throws if the client no longer waits for the response. Inside a transaction, this rolls back the change.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export function throwIfAborted({ signal }: Pick<RequestContext, "signal">): void {
  if (signal.aborted) throw new Failure("INTERRUPTED", "The client no longer waits for the response.");
}
