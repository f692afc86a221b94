/** What `application_id` is in a store: `sak_` in ASCII. No other program's database has it. */
export const APPLICATION_ID = 0x73616b5f;

/**
 * The schema of the SQLite store as the steps that led to it. A database's `user_version` says how many of them
 * it has seen. Steps are only ever added.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE api_key (
     number INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL UNIQUE,
     description TEXT,
     roles TEXT NOT NULL,
     permissions TEXT NOT NULL,
     created_at TEXT NOT NULL,
     secret_hash BLOB NOT NULL UNIQUE,
     secret_tail TEXT NOT NULL
   ) STRICT`,
];
