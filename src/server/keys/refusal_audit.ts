/** Records refused changes and refused keys in the audit trail. The store itself records each change that it makes. */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import type { AuditAction, NewEvent } from "../../store/audit_event.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { setBounded } from "../auth/bounded_map.ts";
import type { LogError } from "../telemetry/log_error.ts";
import type { RequestContext } from "./request_context.ts";
import { sanitizeText } from "./sanitize_text.ts";

/** The key that a refused change would have affected. A member is set only if it was known when the change was refused. */
export interface Target {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** For a change of a resource: its name, before the change or after it. */
  readonly resource?: { readonly before: string | null; readonly after: string | null } | undefined;
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

/** Records a refusal in the audit trail. Ignores errors that are not refusals. */
export async function recordRefusal(
  action: AuditAction,
  target: Target,
  refusal: unknown,
  context: RequestContext,
): Promise<void> {
  if (!(refusal instanceof Failure) || NOT_REFUSALS.includes(refusal.code)) return;
  await recordOutcome(action, target, refusal.code, context);
}

/** Records an attempt to delete a key that does not exist. */
export async function recordNotFound(id: string, context: RequestContext): Promise<void> {
  await recordOutcome("DELETE", { id }, "NOT_FOUND", context);
}

async function recordOutcome(
  action: AuditAction,
  { id, name, resource }: Target,
  outcome: string,
  { origin, refusals, store }: RequestContext,
): Promise<void> {
  const keyId = id === undefined ? null : sanitizeText(id);
  await refusals.record({
    ...origin,
    action,
    keyId,
    keyName: name === undefined ? await findName(keyId, store) : sanitizeText(name),
    outcome,
    changes: resource === undefined ? [] : [{
      field: "name",
      before: resource.before === null ? null : sanitizeText(resource.before),
      after: resource.after === null ? null : sanitizeText(resource.after),
    }],
  });
}

/** Returns `null` if there is no such key, or if the store is unavailable: the caller must still get the refusal. */
async function findName(id: string | null, store: Pick<KeyStore, "findById">): Promise<string | null> {
  if (id === null) return null;
  return await store.findById(id).then((key) => key?.name ?? null, () => null);
}

/** How many refusals of one kind have their own event in each period. */
const MAX_EVENTS = 10;

/** The period, in milliseconds. */
const PERIOD = 60_000;

/** The maximum number of kinds in memory. */
const MAX_KINDS = 10_000;

/** The refusals with the same caller, action and outcome. The caller is the calling key or, without a key, the address. */
interface Kind {
  /** When the period began, in milliseconds of a monotonic clock. */
  since: number;
  /** How many events were recorded in the period. */
  recorded: number;
  /** How many refusals have no event yet. */
  unwritten: number;
  /** The last of these refusals. */
  last: NewEvent;
}

/**
 * Records refusals so that one caller cannot fill the disk. In each minute, the first ten refusals of a kind each have an
 * event. The others are counted, and `write` records one event for all of them.
 */
export class RefusalAudit {
  readonly #store: Pick<KeyStore, "recordEvent">;
  readonly #logError: LogError;
  readonly #elapsed: () => number;
  readonly #kinds = new Map<string, Kind>();

  /** @param elapsed a monotonic clock, in milliseconds */
  constructor(
    store: Pick<KeyStore, "recordEvent">,
    logError: LogError,
    elapsed: () => number = () => performance.now(),
  ) {
    this.#store = store;
    this.#logError = logError;
    this.#elapsed = elapsed;
  }

  /**
   * Records or counts a refusal. If the store is unavailable, counts the refusal, logs the error and does not throw,
   * because the caller must still get the refusal.
   */
  async record(event: NewEvent): Promise<void> {
    const { kind, removed } = this.#kindOf(event, event.actor?.id ?? event.address);
    if (removed !== undefined) await this.#writeCount(removed);
    if (this.#isOver(kind)) {
      kind.since = this.#elapsed();
      kind.recorded = 0;
    }
    if (kind.recorded >= MAX_EVENTS) {
      kind.unwritten++;
      kind.last = event;
      return;
    }
    kind.recorded++;
    await this.#recordEvent(kind, event, 1);
  }

  /**
   * Counts a refusal that gets no event of its own. Refusals of the same key have a common event; so have those of all
   * callers whose key is unknown, because an address costs an attacker nothing.
   */
  count(event: NewEvent): void {
    const { kind, removed } = this.#kindOf(event, event.actor?.id ?? event.keyId);
    kind.unwritten++;
    kind.last = event;
    // Logs an error and never rejects.
    if (removed !== undefined) void this.#writeCount(removed);
  }

  /** Records one event for all refusals of each kind that were only counted. Logs an error if the store is unavailable. */
  async write(): Promise<void> {
    for (const [name, kind] of this.#kinds) {
      // deno-lint-ignore no-await-in-loop -- a store serializes these writes
      await this.#writeCount(kind);
      if (kind.unwritten === 0 && this.#isOver(kind)) this.#kinds.delete(name);
    }
  }

  /**
   * Returns the kind of a refusal and, if there were too many kinds, the one that was removed.
   *
   * @param caller who the refusals of the kind have in common
   */
  #kindOf(event: NewEvent, caller: string | null): { readonly kind: Kind; readonly removed?: Kind | undefined } {
    const name = `${caller ?? ""} ${event.action} ${event.outcome}`;
    const known = this.#kinds.get(name);
    if (known !== undefined) return { kind: known };
    const kind = { since: this.#elapsed(), recorded: 0, unwritten: 0, last: event };
    return { kind, removed: setBounded(this.#kinds, name, kind, MAX_KINDS) };
  }

  #isOver({ since }: Kind): boolean {
    return this.#elapsed() >= since + PERIOD;
  }

  async #writeCount(kind: Kind): Promise<void> {
    const { last, unwritten } = kind;
    kind.unwritten = 0;
    if (unwritten > 0) await this.#recordEvent(kind, last, unwritten);
  }

  async #recordEvent(kind: Kind, event: NewEvent, occurrences: number): Promise<void> {
    try {
      await this.#store.recordEvent({ ...event, occurrences });
    } catch (error) {
      kind.unwritten += occurrences;
      kind.last = event;
      this.#logError("Could not record a refusal in the audit trail: {error}", { error });
    }
  }
}
