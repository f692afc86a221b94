/**
 * The context that every GraphQL resolver receives. The other modules of this folder create, change
 * and delete keys, record refused changes in the audit trail, clean text from requests, and limit the size of responses.
 */
import { Failure } from "../../apikey/failure.ts";
import type { Origin } from "../../store/audit_event.ts";
import type { StoredKey } from "../../store/stored_key.ts";
import type { ResponseSize } from "./response_size.ts";
import type { KeyStore } from "../../store/key_store.ts";
import type { HashSecret } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import type { LastUse } from "../auth/last_use.ts";
import type { Lifetimes } from "./expiry.ts";
import type { RefusalAudit } from "./refusal_audit.ts";

export type RequestContext = {
  readonly store: KeyStore;
  readonly lastUse: LastUse;
  readonly hashSecret: HashSecret;
  readonly caller: Caller;
  readonly origin: Origin;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: Pick<AbortSignal, "aborted">;
  /**
   * Counts one key of the response.
   *
   * @throws {Failure} `USAGE` if the response exceeds a limit
   */
  readonly countKey: (key: StoredKey) => void;
  readonly size: ResponseSize;
  readonly refusals: RefusalAudit;
  readonly lifetimes: Lifetimes;
  /** How many more keys the filters of the request may read, and how many more hashes it may look up. */
  readonly scan: { left: number };
};

/**
 * Throws if the client no longer waits for the response. Inside a transaction, this rolls back the change.
 *
 * @throws {Failure} `INTERRUPTED`
 */
export function throwIfAborted({ signal }: Pick<RequestContext, "signal">): void {
  if (signal.aborted) throw new Failure("INTERRUPTED", "The client no longer waits for the response.");
}
