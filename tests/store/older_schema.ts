/** The SQL that creates a store with an older schema, for SQLite and PostgreSQL. */
import type { StoredKey } from "../../src/store/stored_key.ts";

/**
 * Returns the statement that adds a key to a store with any older schema. The key has no optional values.
 *
 * @param hashColumn the name of the column that holds the hash of the secret
 */
export function insertIntoOlder(
  table: string,
  hashColumn: string,
  key: StoredKey,
  toBytes: (hex: string) => string,
): string {
  const { id, name, roles, permissions, createdAt, secretHash, secretTail } = key;
  const texts = [id, name, roles.join(","), permissions.join(","), createdAt.toISOString(), secretTail];
  return `INSERT INTO ${table} (id, name, roles, permissions, created_at, secret_tail, ${hashColumn})
          VALUES (${texts.map((text) => `'${text}'`).join(", ")}, ${toBytes(secretHash.toHex())})`;
}
