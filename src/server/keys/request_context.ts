/** What every resolver is given. */
import type { Origin } from "../../store/audit_event.ts";
import type { KeyStore } from "../../store/key_store.ts";
import type { HashSecret } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import type { LastUse } from "../auth/last_use.ts";

export type RequestContext = {
  readonly store: KeyStore;
  readonly lastUse: LastUse;
  readonly hashSecret: HashSecret;
  readonly caller: Caller;
  readonly origin: Origin;
  /** Throws once nobody waits for the answer any more. */
  readonly requireInterest: () => void;
  /**
   * Counts a key towards the most that one answer may have.
   *
   * @throws {Failure} `USAGE` beyond that
   */
  readonly countKey: () => void;
  /** Told of errors that callers are not told of. */
  readonly logError: (message: string, properties: Record<string, unknown>) => void;
};
