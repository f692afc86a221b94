/** What a copy of a store contains: the rows of three tables, which have the same columns in SQLite and PostgreSQL. */
import { EVENT_COLUMNS, KEY_COLUMNS } from "../row.ts";

/** How many rows a store has, by what they are. */
export interface RowCounts {
  readonly keys: number;
  readonly resources: number;
  readonly auditEvents: number;
}

export interface Table {
  readonly name: string;
  readonly counted: keyof RowCounts;
  /** The first column sorts the rows. */
  readonly columns: readonly string[];
}

export const TABLES: readonly Table[] = [
  { name: "resource", counted: "resources", columns: ["name", "description", "created_at"] },
  { name: "api_key", counted: "keys", columns: ["number", ...KEY_COLUMNS] },
  { name: "audit_event", counted: "auditEvents", columns: ["id", ...EVENT_COLUMNS] },
];

/** A value of SQLite. */
export type Value = string | number | bigint | Uint8Array | null;

/** The values of a row, in the order of the columns of its table. */
export type Values = readonly Value[];

/** The transaction that fills an empty store. */
export interface Destination {
  /** The name of the store in messages. */
  readonly label: string;
  /** What to do if the store is not empty. */
  readonly remedy: string;
  count(table: Table): Promise<number>;
  insert(table: Table, rows: readonly Values[]): Promise<void>;
  /**
   * Makes the store continue like the source: later keys sort after the copied ones, and later audit events have ids
   * that the source has never used.
   *
   * @param lastEventId the highest id of an audit event that the source has ever used; 0 if none
   */
  finish(lastEventId: number): Promise<void>;
}

/**
 * Fills the destination. If it throws, the transaction is rolled back.
 *
 * @throws what the caller wants to see
 */
export type Fill = (destination: Destination) => Promise<void>;
