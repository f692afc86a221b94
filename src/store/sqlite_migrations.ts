/** The schema migrations for SQLite. A published migration never changes. New migrations are appended. */

/** The `application_id` that marks an SQLite database as one of this program: `sak_` in ASCII. */
export const APPLICATION_ID = 0x73616b5f;

/** Whether the secret of a changed row is the previous secret of a row, or the other way round. */
const SECRET_IS_USED = `EXISTS (SELECT 1 FROM api_key WHERE previous_sha256 = NEW.secret_sha256)
     OR EXISTS (SELECT 1 FROM api_key WHERE secret_sha256 = NEW.previous_sha256)`;

/** The migrations of SQLite. `PRAGMA user_version` holds the number of migrations that ran. */
export const SQLITE_MIGRATIONS: readonly string[] = [
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
  `ALTER TABLE api_key ADD COLUMN created_by TEXT;
   ALTER TABLE api_key ADD COLUMN last_used_at TEXT;
   CREATE INDEX api_key_created_by ON api_key (created_by) WHERE created_by IS NOT NULL;
   CREATE TABLE audit_event (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at TEXT NOT NULL,
     actor_id TEXT,
     actor_name TEXT,
     address TEXT,
     request_id TEXT,
     action TEXT NOT NULL,
     key_id TEXT,
     key_name TEXT,
     outcome TEXT NOT NULL
   ) STRICT;
   CREATE INDEX audit_event_at ON audit_event (at);
   CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE ON audit_event
   BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END`,
  // Processes that know no revision look up `secret_hash`. They must fail, because they would not see a changed key.
  `ALTER TABLE api_key RENAME COLUMN secret_hash TO secret_sha256;
   ALTER TABLE api_key ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE audit_event ADD COLUMN occurrences INTEGER NOT NULL DEFAULT 1`,
  `ALTER TABLE api_key ADD COLUMN enabled INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE api_key ADD COLUMN expires_at TEXT;
   ALTER TABLE api_key ADD COLUMN updated_at TEXT;
   ALTER TABLE api_key ADD COLUMN managed_by TEXT;
   ALTER TABLE api_key ADD COLUMN previous_sha256 BLOB;
   ALTER TABLE api_key ADD COLUMN grace_until TEXT;
   CREATE UNIQUE INDEX api_key_previous_sha256 ON api_key (previous_sha256) WHERE previous_sha256 IS NOT NULL;
   CREATE TRIGGER api_key_insert_needs_new_secret AFTER INSERT ON api_key WHEN ${SECRET_IS_USED}
   BEGIN SELECT RAISE(ABORT, 'the secret is in use'); END;
   CREATE TRIGGER api_key_update_needs_new_secret AFTER UPDATE OF secret_sha256, previous_sha256 ON api_key
   WHEN ${SECRET_IS_USED}
   BEGIN SELECT RAISE(ABORT, 'the secret is in use'); END;
   ALTER TABLE audit_event ADD COLUMN changes TEXT NOT NULL DEFAULT '[]'`,
  // The table `resource_list` has one row. It holds the revision of the table `resource`.
  `CREATE TABLE resource (
     name TEXT PRIMARY KEY NOT NULL,
     description TEXT,
     created_at TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE resource_list (revision INTEGER NOT NULL) STRICT;
   INSERT INTO resource_list VALUES (0)`,
];

/** The columns of keys that schema 3 of SQLite lacks. */
const SINCE_SQLITE_4 = `1 AS enabled, NULL AS expires_at, NULL AS updated_at, NULL AS managed_by,
     NULL AS previous_sha256, NULL AS grace_until`;

/** The tables that schema 4 of SQLite lacks. */
const SINCE_SQLITE_5 = `CREATE TEMP VIEW resource AS SELECT NULL AS name, NULL AS description WHERE FALSE;
   CREATE TEMP VIEW resource_list AS SELECT 0 AS revision`;

/**
 * For each older schema of SQLite, beginning with schema 1: temporary views that have the names and columns of the
 * current tables. With them, a store can be read without migrating it.
 */
export const OLDER_SQLITE_VIEWS: readonly string[] = [
  `CREATE TEMP VIEW api_key AS
     SELECT *, NULL AS created_by, NULL AS last_used_at, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_SQLITE_4}
     FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT 0 AS id, '' AS at, '' AS key_id, '' AS key_name WHERE FALSE;
   ${SINCE_SQLITE_5}`,
  `CREATE TEMP VIEW api_key AS
     SELECT *, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_SQLITE_4} FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT *, 1 AS occurrences, '[]' AS changes FROM main.audit_event;
   ${SINCE_SQLITE_5}`,
  `CREATE TEMP VIEW api_key AS SELECT *, ${SINCE_SQLITE_4} FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT *, '[]' AS changes FROM main.audit_event;
   ${SINCE_SQLITE_5}`,
  SINCE_SQLITE_5,
];
