/**
 * The schema migrations for SQLite and PostgreSQL. A published migration never changes. New migrations are appended.
 */

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
];

/** The columns of keys that schema 3 of SQLite lacks. */
const SINCE_SQLITE_4 = `1 AS enabled, NULL AS expires_at, NULL AS updated_at, NULL AS managed_by,
     NULL AS previous_sha256, NULL AS grace_until`;

/**
 * For each older schema of SQLite, beginning with schema 1: temporary views that have the names and columns of the
 * current tables. With them, a store can be read without migrating it.
 */
export const OLDER_SQLITE_VIEWS: readonly string[] = [
  `CREATE TEMP VIEW api_key AS
     SELECT *, NULL AS created_by, NULL AS last_used_at, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_SQLITE_4}
     FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT 0 AS id WHERE FALSE`,
  `CREATE TEMP VIEW api_key AS
     SELECT *, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_SQLITE_4} FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT *, 1 AS occurrences, '[]' AS changes FROM main.audit_event`,
  `CREATE TEMP VIEW api_key AS SELECT *, ${SINCE_SQLITE_4} FROM main.api_key;
   CREATE TEMP VIEW audit_event AS SELECT *, '[]' AS changes FROM main.audit_event`,
];

/**
 * The migrations of PostgreSQL. The table `service_api.schema_version` holds the number of migrations that ran. All
 * tables are in the schema `service_api`, so that other programs can use the same database.
 */
export const POSTGRES_MIGRATIONS: readonly string[] = [
  `CREATE TABLE service_api.api_key (
     number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL UNIQUE,
     description TEXT,
     roles TEXT NOT NULL,
     permissions TEXT NOT NULL,
     created_at TIMESTAMPTZ NOT NULL,
     created_by TEXT,
     last_used_at TIMESTAMPTZ,
     secret_hash BYTEA NOT NULL UNIQUE,
     secret_tail TEXT NOT NULL
   ) WITH (fillfactor = 90);
   CREATE INDEX api_key_created_by ON service_api.api_key (created_by) WHERE created_by IS NOT NULL;
   CREATE TABLE service_api.audit_event (
     id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     at TIMESTAMPTZ NOT NULL,
     actor_id TEXT,
     actor_name TEXT,
     address TEXT,
     request_id TEXT,
     action TEXT NOT NULL,
     key_id TEXT,
     key_name TEXT,
     outcome TEXT NOT NULL
   );
   CREATE INDEX audit_event_at ON service_api.audit_event (at);
   CREATE FUNCTION service_api.refuse_update() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
   CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE ON service_api.audit_event
     FOR EACH ROW EXECUTE FUNCTION service_api.refuse_update()`,
  // See the migration of SQLite.
  `ALTER TABLE service_api.api_key RENAME COLUMN secret_hash TO secret_sha256;
   ALTER TABLE service_api.api_key ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE service_api.audit_event ADD COLUMN occurrences INTEGER NOT NULL DEFAULT 1`,
  // The trigger runs after the change: it then sees what a concurrent transaction has committed meanwhile.
  `ALTER TABLE service_api.api_key
     ADD COLUMN enabled BOOLEAN NOT NULL DEFAULT TRUE,
     ADD COLUMN expires_at TIMESTAMPTZ,
     ADD COLUMN updated_at TIMESTAMPTZ,
     ADD COLUMN managed_by TEXT,
     ADD COLUMN previous_sha256 BYTEA,
     ADD COLUMN grace_until TIMESTAMPTZ;
   CREATE UNIQUE INDEX api_key_previous_sha256 ON service_api.api_key (previous_sha256)
     WHERE previous_sha256 IS NOT NULL;
   CREATE FUNCTION service_api.require_new_secret() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN
       IF EXISTS (SELECT FROM service_api.api_key WHERE previous_sha256 = NEW.secret_sha256)
         OR EXISTS (SELECT FROM service_api.api_key WHERE secret_sha256 = NEW.previous_sha256)
       THEN RAISE EXCEPTION 'the secret is in use'; END IF;
       RETURN NULL;
     END $$;
   CREATE TRIGGER api_key_needs_new_secret AFTER INSERT OR UPDATE OF secret_sha256, previous_sha256
     ON service_api.api_key FOR EACH ROW EXECUTE FUNCTION service_api.require_new_secret();
   ALTER TABLE service_api.audit_event ADD COLUMN changes TEXT NOT NULL DEFAULT '[]'`,
];

/** The tables with the columns of the current schema, for the FROM clause of a query. */
export interface PostgresTables {
  readonly keys: string;
  readonly events: string;
}

export const POSTGRES_TABLES: PostgresTables = { keys: "service_api.api_key", events: "service_api.audit_event" };

/** The columns of keys that schema 2 of PostgreSQL lacks. */
const SINCE_POSTGRES_3 = `TRUE AS enabled, NULL::timestamptz AS expires_at, NULL::timestamptz AS updated_at,
    NULL::text AS managed_by, NULL::bytea AS previous_sha256, NULL::timestamptz AS grace_until`;

/** The same as `POSTGRES_TABLES` for each older schema, beginning with schema 1. */
export const OLDER_POSTGRES_TABLES: readonly PostgresTables[] = [
  {
    keys: `(SELECT *, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_POSTGRES_3} FROM service_api.api_key)
           AS api_key`,
    events: "(SELECT *, 1 AS occurrences, '[]' AS changes FROM service_api.audit_event) AS audit_event",
  },
  {
    keys: `(SELECT *, ${SINCE_POSTGRES_3} FROM service_api.api_key) AS api_key`,
    events: "(SELECT *, '[]' AS changes FROM service_api.audit_event) AS audit_event",
  },
];
