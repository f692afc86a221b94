/** Copies from SQLite to SQLite, and what every copy requires of its source. */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { APPLICATION_ID, SQLITE_MIGRATIONS } from "../../../src/store/sqlite_migrations.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { failureOfPromise } from "../../apikey/failure_of.ts";
import { onPosix } from "../../posix.ts";
import { inTemporaryDirectory, withStoreIn } from "../temporary_store.ts";
import { copyTo, testCopying, type WithNewPlace, withSource } from "./copy_contract.ts";

/** Creates a store with the schema before the current one, without keys. */
async function createOlder(directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  using database = new DatabaseSync(`${directory}/keys.db`);
  const version = SQLITE_MIGRATIONS.length - 1;
  database.exec([
    ...SQLITE_MIGRATIONS.slice(0, version),
    `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`,
  ].join(";"));
}

const withNewDirectory: WithNewPlace = (test) =>
  inTemporaryDirectory((parent) => {
    const directory = `${parent}/new`;
    return test({
      to: { kind: "directory", path: directory },
      open: () => openSqliteStore({ directory, busyTimeout: 10_000 }),
      createOlder: () => createOlder(directory),
      schema: () => {
        using database = new DatabaseSync(`${directory}/keys.db`);
        return Promise.try(() => database.prepare("PRAGMA user_version").get());
      },
    });
  });

testCopying("SQLite", withNewDirectory);

Deno.test("copying a store only reads the source", () =>
  withSource((directory) =>
    withNewDirectory(async ({ to }) => {
      const before = await Deno.readFile(`${directory}/keys.db`);
      await copyTo(to, directory);
      expect(await Deno.readFile(`${directory}/keys.db`)).toEqual(before);
    })
  ));

Deno.test("copying a store that does not exist fails, and creates no destination", () =>
  inTemporaryDirectory(async (parent) => {
    const to = { kind: "directory", path: `${parent}/new` } as const;
    const { code, message } = await failureOfPromise(copyTo(to, parent));
    expect({ code, message }).toEqual({
      code: "USAGE",
      message: `There is no store "${parent}/keys.db". --from takes the directory that contains keys.db.`,
    });
    expect(await Array.fromAsync(Deno.readDir(parent))).toEqual([]);
  }));

onPosix("symbolic links for every user")(
  "copying a store to itself fails, even through a symbolic link",
  () =>
    withSource(async (directory) => {
      await Deno.symlink(directory, `${directory}/link`, { type: "dir" });
      const to = { kind: "directory", path: `${directory}/link` } as const;
      expect(await failureOfPromise(copyTo(to, directory))).toMatchObject({ code: "USAGE" });
    }),
);

Deno.test("copying a store that another process has open fails, because its changes would be lost", () =>
  withSource((directory) =>
    withNewDirectory(({ to }) =>
      withStoreIn(directory, async () => {
        const { code, message } = await failureOfPromise(copyTo(to, directory));
        expect(code).toBe("TIMEOUT");
        expect(message).toContain("Stop service-api serve");
      })
    )
  ));

Deno.test("while a store is copied, no other process can change it", () =>
  withSource((directory) =>
    withNewDirectory(async ({ to }) => {
      const messages: unknown[] = [];
      const beforeCommit = (): void => {
        using other = new DatabaseSync(`${directory}/keys.db`);
        try {
          other.exec("DELETE FROM api_key");
        } catch (error) {
          messages.push(error);
        }
      };
      await copyTo(to, directory, { beforeCommit });
      expect(messages).toEqual([expect.objectContaining({ message: "database is locked" })]);
    })
  ));

Deno.test("copying a store with an older schema fails and does not migrate it", () =>
  inTemporaryDirectory(async (parent) => {
    await createOlder(parent);
    const before = await Deno.readFile(`${parent}/keys.db`);
    const { code, message } = await failureOfPromise(copyTo({ kind: "directory", path: `${parent}/new` }, parent));
    expect(code).toBe("FAILED");
    expect(message).toContain("Start this version of service-api serve");
    expect(await Deno.readFile(`${parent}/keys.db`)).toEqual(before);
  }));
