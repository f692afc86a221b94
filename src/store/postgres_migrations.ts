/**
 * The schema migrations for PostgreSQL. A published migration never changes. New migrations are appended. In a module of
 * their own, so that commands with an SQLite store do not load them.
 */

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
  // See the third migration of SQLite.
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
  // In the table with one row that each look-up reads anyway.
  `ALTER TABLE service_api.schema_version ADD COLUMN resources_revision INTEGER NOT NULL DEFAULT 0;
   CREATE TABLE service_api.resource (
     name TEXT COLLATE "C" PRIMARY KEY,
     description TEXT,
     created_at TIMESTAMPTZ NOT NULL
   )`,
];

/** The tables with the columns of the current schema, for the FROM clause of a query. */
export interface PostgresTables {
  /** The table with one row: the number of migrations, and the revision of the resources. */
  readonly schema: string;
  readonly keys: string;
  readonly events: string;
  readonly resources: string;
}

export const POSTGRES_TABLES: PostgresTables = {
  schema: "service_api.schema_version",
  keys: "service_api.api_key",
  events: "service_api.audit_event",
  resources: "service_api.resource",
};

/** The columns of keys that schema 2 of PostgreSQL lacks. */
const SINCE_POSTGRES_3 = `TRUE AS enabled, NULL::timestamptz AS expires_at, NULL::timestamptz AS updated_at,
    NULL::text AS managed_by, NULL::bytea AS previous_sha256, NULL::timestamptz AS grace_until`;

/** What schema 3 of PostgreSQL lacks. */
const BEFORE_POSTGRES_4 = {
  schema: "(SELECT version, 0 AS resources_revision FROM service_api.schema_version) AS schema_version",
  resources: "(SELECT NULL::text AS name, NULL::text AS description WHERE FALSE) AS resource",
};

/** The same as `POSTGRES_TABLES` for each older schema, beginning with schema 1. */
export const OLDER_POSTGRES_TABLES: readonly PostgresTables[] = [
  {
    keys: `(SELECT *, secret_hash AS secret_sha256, 1 AS revision, ${SINCE_POSTGRES_3} FROM service_api.api_key)
           AS api_key`,
    ...BEFORE_POSTGRES_4,
    events: "(SELECT *, 1 AS occurrences, '[]' AS changes FROM service_api.audit_event) AS audit_event",
  },
  {
    keys: `(SELECT *, ${SINCE_POSTGRES_3} FROM service_api.api_key) AS api_key`,
    ...BEFORE_POSTGRES_4,
    events: "(SELECT *, '[]' AS changes FROM service_api.audit_event) AS audit_event",
  },
  { ...POSTGRES_TABLES, ...BEFORE_POSTGRES_4 },
];
