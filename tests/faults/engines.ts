/** The stores that the tests attack: SQLite, and PostgreSQL in the oldest and the newest supported version. */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { PASSWORD, type PostgresServer, startPostgres } from "../store/postgres/server.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { isFull } from "./form.ts";
import { type Environment, testOnExecutable } from "./process.ts";

/** A new, empty store. */
export interface Data {
  /** The variables that select the store. */
  readonly env: Environment;
  /** Checks that the database is not damaged. */
  readonly check: () => Promise<void>;
  /** Runs SQL, as another program with all database rights would. */
  readonly execute: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface Engine {
  readonly name: string;
  readonly isPostgres: boolean;
  /** Runs `test` with a new store, and removes the store afterwards. */
  readonly withData: (test: (data: Data) => Promise<void>) => Promise<void>;
}

const SQLITE: Engine = {
  name: "SQLite",
  isPostgres: false,
  withData: (test) =>
    inTemporaryDirectory((directory) => {
      // deno-lint-ignore require-await -- errors become rejections
      const execute = async (sql: string): ReturnType<Data["execute"]> => {
        const database = new DatabaseSync(`${directory}/data/keys.db`, { timeout: 10_000 });
        try {
          return database.prepare(sql).all();
        } finally {
          database.close();
        }
      };
      return test({
        env: { SERVICE_API_DATA_DIR: `${directory}/data` },
        execute,
        check: async () => expect(await execute("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]),
      });
    }),
};

function postgres(name: string, server: PostgresServer): Engine {
  return {
    name,
    isPostgres: true,
    withData: (test) =>
      server.withNewDatabase(async (database) => {
        // The server then reports a deadlock after this time, instead of one second.
        await server.execute("postgres", `ALTER DATABASE ${database} SET deadlock_timeout = '20ms'`);
        const execute = (sql: string): ReturnType<Data["execute"]> => server.execute(database, sql);
        await test({
          env: {
            SERVICE_API_DATABASE_URL: `postgres://service@127.0.0.1:${server.port}/${database}`,
            PGPASSWORD: PASSWORD,
          },
          execute,
          check: async () => void await execute("SELECT count(*) FROM service_api.api_key"),
        });
      }),
  };
}

/** Registers tests of the executable for each engine. If an engine is not available, registers an ignored test. */
export async function testOnEngines(
  what: string,
  register: (engine: Engine, executable: string) => void,
): Promise<void> {
  await testOnExecutable(what, (executable) => register(SQLITE, executable));
  for (const version of isFull ? ["oldest", "newest"] as const : [undefined]) {
    // deno-lint-ignore no-await-in-loop -- one server after the other
    const start = await startPostgres({ version });
    if (start.kind === "not running") {
      Deno.test.ignore(`PostgreSQL: ${what} (skipped: PostgreSQL is not available: ${start.reason})`, () => {});
      continue;
    }
    const { server } = start;
    // deno-lint-ignore no-await-in-loop -- one server after the other
    const [row] = await server.execute(
      "postgres",
      "SELECT current_setting('server_version_num')::int / 10000 AS major",
    );
    // deno-lint-ignore no-await-in-loop -- one server after the other
    await testOnExecutable(
      what,
      (executable) => register(postgres(`PostgreSQL ${row?.["major"]}`, server), executable),
    );
    Deno.test.afterAll(() => server.remove());
  }
}
