/** Reads the audit trail in pages, once or until the user stops. */
import { Failure, type FailureCode, toSentence } from "../../../apikey/failure.ts";
import type { AuditEvent, Client, EventPage } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { writeNotes } from "../../host/notes.ts";
import type { EventFilter } from "./event_filter.ts";

/** The maximum number of events per request. */
const PAGE_SIZE = 1000;

/** Yields the existing events, oldest first. Selects them itself if the server is too old to do so. */
export async function* readEvents(
  client: Client,
  after: string | undefined,
  filter: EventFilter | undefined,
): AsyncGenerator<readonly AuditEvent[]> {
  let selection = filter?.selection;
  for (let last = after;;) {
    // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
    const page = await client.listAuditEvents(last, PAGE_SIZE, selection);
    yield selectedEvents(page, filter);
    if (page.events.length < PAGE_SIZE) return;
    last = page.events.at(-1)?.id;
    // An older server refuses only one request.
    if (!page.isSelected) selection = undefined;
  }
}

function selectedEvents({ events, isSelected }: EventPage, filter: EventFilter | undefined): readonly AuditEvent[] {
  return isSelected || filter === undefined ? events : events.filter(filter.selects);
}

/** Waits for a time in milliseconds, or until the signal is aborted. */
export type Pause = (milliseconds: number, interrupted: AbortSignal) => Promise<void>;

export async function waitFor(milliseconds: number, interrupted: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const stop = (): void => resolve();
  interrupted.addEventListener("abort", stop);
  if (!interrupted.aborted) await promise;
  interrupted.removeEventListener("abort", stop);
  clearTimeout(timer);
}

/** The time between two requests, in milliseconds. While the server is unreachable, it doubles up to the longest time. */
const PAUSE = 1000;
const LONGEST_PAUSE = 8000;

/** The failures that can end by themselves, for example when a server has restarted. */
const TEMPORARY: readonly FailureCode[] = ["UNREACHABLE", "TIMEOUT", "RATE_LIMITED", "BAD_RESPONSE"];

export interface FollowOptions {
  /** @param isAgain whether to close the connection and open a new one */
  readonly connect: (isAgain?: boolean) => Promise<Client>;
  readonly after: string | undefined;
  readonly filter: EventFilter | undefined;
  readonly interrupted: AbortSignal;
  /** The server or store, for messages. */
  readonly target: string;
  readonly pause: Pause;
  readonly host: Host;
}

/**
 * Yields the existing events, oldest first, and then each new event once. Once the server has answered, a temporary
 * failure does not end this: a message says what happened, and this tries again until the server answers.
 *
 * @throws {Failure} `INTERRUPTED`; any failure of the first request; later, a failure that is not temporary
 */
export async function* followEvents(
  { connect, after, filter, interrupted, target, pause, host }: FollowOptions,
): AsyncGenerator<readonly AuditEvent[]> {
  // If the message cannot be written, the events still can.
  const note = (text: string): void => void writeNotes([text], host).catch(() => {});
  let last = after;
  let selection = filter?.selection;
  let isFollowing = false;
  let failures = 0;
  while (true) {
    let page: EventPage | undefined;
    try {
      // A connection to a missing store does not see that another process creates the store.
      // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
      const client = await connect(failures > 0 || isFollowing && last === undefined);
      // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
      page = await client.listAuditEvents(last, PAGE_SIZE, selection);
    } catch (error) {
      if (!(isFollowing && error instanceof Failure && TEMPORARY.includes(error.code))) throw error;
      if (failures++ === 0) note(`${toSentence(error.message)} Trying again until you press Ctrl-C.`);
    }
    if (page !== undefined) {
      if (failures > 0) note("Connected again.");
      failures = 0;
      last = page.events.at(-1)?.id ?? last;
      if (!page.isSelected) selection = undefined;
      yield selectedEvents(page, filter);
      if (page.events.length === PAGE_SIZE) continue;
      if (!isFollowing && host.stderr.isTerminal()) {
        note(`Waiting for events from ${target}. Press Ctrl-C to stop.`);
      }
      isFollowing = true;
    }
    // deno-lint-ignore no-await-in-loop -- waits before the next request
    await pause(Math.min(PAUSE * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE), interrupted);
    if (interrupted.aborted) throw new Failure("INTERRUPTED", "Interrupted.");
  }
}
