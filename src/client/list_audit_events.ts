/** Reads the audit trail. */
import * as z from "zod/mini";
import { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { execute, withFallback } from "./execute.ts";
import { RequestRejected } from "./response_failure.ts";

/** An event of the audit trail, with the fields of the GraphQL type `AuditEvent`. */
export interface AuditEvent {
  /** A decimal number that increases with every event. */
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly action: string;
  readonly outcome: string;
  readonly key: AuditKey;
  /** The key of the request; `null` if the caller used the store directly, without a key. */
  readonly actor: AuditKey | null;
  /** The user who used the store directly; not set if the server does not report it. */
  readonly localUser?: string | null | undefined;
  readonly address: string | null;
  readonly requestId: string | null;
  /** How many refused changes the event stands for. The other members describe the last one. */
  readonly occurrences: number;
  /** What changed; not set if the server does not report it. */
  readonly changes?: readonly AuditChange[] | undefined;
}

/** A changed field of the key. The values are texts; `null` if there is no value. */
interface AuditChange {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

interface AuditKey {
  readonly id: string | null;
  readonly name: string | null;
}

const CHANGES = "changes { field before after }";

/** The fields that servers of older versions lack. */
const NEWER = `localUser ${CHANGES}`;

export const EVENTS = eventsDocument("", "", NEWER);

export const EVENTS_SELECTED = eventsDocument(", $since: String, $key: String", ", since: $since, key: $key", NEWER);

/** For servers of older versions, newest first. */
const OLDER_EVENTS = [eventsDocument("", "", CHANGES), eventsDocument("", "", "")] as const;

function eventsDocument(variable: string, argument: string, newer: string): string {
  return `query ListAuditEvents($after: String, $first: Int!${variable}) {
  auditEvents(after: $after, first: $first${argument}) {
    id at action outcome key { id name } actor { id name } address requestId occurrences ${newer}
  }
}`;
}

/** Which events to read. */
export interface EventSelection {
  /** Leaves out events from before this time. */
  readonly since?: Date | undefined;
  /** Leaves out events of other keys. The id of a key, or a name that the key has or had. */
  readonly key?: string | undefined;
}

export interface EventPage {
  readonly events: readonly AuditEvent[];
  /** Whether the server applied the selection. Servers of older versions cannot. */
  readonly isSelected: boolean;
}

/**
 * Reads a page of the audit trail, oldest event first.
 *
 * @param after the id of the last event of the previous page; `undefined` for the first page
 * @param first the maximum number of events in the page
 * @throws {Failure} `FAILED` if the server has no audit trail, or any failure of {@linkcode execute}
 */
export async function listAuditEvents(
  endpoint: Endpoint,
  after: string | undefined,
  first: number,
  selection: EventSelection = {},
): Promise<EventPage> {
  try {
    const request = async (document: string, isSelected: boolean): Promise<EventPage> => {
      const variables = { after, first, ...(isSelected ? selection : {}) };
      const { auditEvents } = await execute(endpoint, document, variables, eventsSchema);
      return { events: auditEvents, isSelected };
    };
    const unselected = (): Promise<EventPage> =>
      withFallback(
        () => request(EVENTS, false),
        () => withFallback(() => request(OLDER_EVENTS[0], false), () => request(OLDER_EVENTS[1], false)),
      );
    return selection.since === undefined && selection.key === undefined
      ? await unselected()
      : await withFallback(() => request(EVENTS_SELECTED, true), unselected);
  } catch (cause) {
    if (!(cause instanceof RequestRejected && cause.message.includes("auditEvents"))) throw cause;
    const message = `${endpoint.label} has no audit trail: its schema lacks Query.auditEvents.`;
    throw new Failure("FAILED", message, { cause });
  }
}

function eventsSchema(): z.ZodMiniType<{ readonly auditEvents: readonly AuditEvent[] }> {
  const key = z.object({ id: z.nullable(z.string()), name: z.nullable(z.string()) });
  const text = z.nullable(z.string());
  const change = z.object({ field: z.string(), before: text, after: text });
  const event = z.object({
    id: z.string(),
    at: z.string(),
    action: z.string(),
    outcome: z.string(),
    key,
    actor: z.nullable(key),
    localUser: z.exactOptional(text),
    address: z.nullable(z.string()),
    requestId: z.nullable(z.string()),
    occurrences: z.number(),
    changes: z.exactOptional(z.array(change)),
  });
  return z.object({ auditEvents: z.array(event) });
}
