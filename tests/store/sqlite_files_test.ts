/**
 * The files of the SQLite store: file modes, damaged files and other programs' files, migrations, and other processes'
 * locks.
 */
import { expect } from "expect";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import type { Failure } from "../../src/apikey/failure.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { APPLICATION_ID, SQLITE_MIGRATIONS } from "../../src/store/sqlite_migrations.ts";
import { openSqliteStore, openSqliteStoreOnDemand } from "../../src/store/sqlite.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { command } from "../execute.ts";
import { addAll, allowAny, listKeys, LOCAL } from "./changes.ts";
import { sqliteRacer, startRacer } from "./racers.ts";
import { activeState, newKey, newKeyWithSecret } from "./stored_key.ts";
import { inTemporaryDirectory, withNewStore, withStoreIn } from "./temporary_store.ts";

const hasNoFileModes = Deno.build.os === "windows";

/** A busy timeout that a test can wait for, in milliseconds. */
const SHORT_TIMEOUT = 50;

function open(directory: string, busyTimeout = 5_000): Promise<KeyStore> {
  return openSqliteStore({ directory, busyTimeout });
}

async function modeOf(path: string): Promise<string> {
  return ((await Deno.stat(path)).mode ?? 0).toString(8).slice(-3);
}

async function filesIn(directory: string): Promise<readonly string[]> {
  return (await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toSorted();
}

async function sha256(path: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
}

/** Returns the failure of opening a store. Checks that `keys.db` does not change by a single byte. */
async function failureWithoutChange(directory: string): Promise<Failure> {
  const before = await sha256(`${directory}/keys.db`);
  const failure = await failureOfPromise(open(directory));
  expect(await sha256(`${directory}/keys.db`)).toBe(before);
  return failure;
}

/** Opens `keys.db` as another program would. */
async function inDatabase(directory: string, act: (database: DatabaseSync) => void | Promise<void>): Promise<void> {
  const database = new DatabaseSync(`${directory}/keys.db`);
  try {
    await act(database);
  } finally {
    database.close();
  }
}

/** Creates a store with schema version 1 and one key. */
function createFirstVersion(directory: string, key: StoredKey): Promise<void> {
  return inDatabase(directory, (database) => {
    database.exec(`${SQLITE_MIGRATIONS[0]}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
    const columns = "id, name, description, roles, permissions, created_at, secret_hash, secret_tail";
    database.prepare(`INSERT INTO api_key (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`).run(
      key.id,
      key.name,
      key.description,
      key.roles.join(","),
      key.permissions.join(","),
      key.createdAt.toISOString(),
      key.secretHash,
      key.secretTail,
    );
  });
}

Deno.test({
  name: "The data directory is created with mode 0700 and its files with 0600",
  ignore: hasNoFileModes,
  fn: () =>
    inTemporaryDirectory(async (parent) => {
      const directory = `${parent}/share/service-api`;
      await withStoreIn(directory, async (store) => {
        await addAll(store, [await newKey("deploy")]);
        const files = await filesIn(directory);
        expect(files).toEqual(["keys.db", "keys.db-shm", "keys.db-wal"]);
        expect(await modeOf(directory)).toBe("700");
        expect(await Promise.all(files.map((file) => modeOf(`${directory}/${file}`)))).toEqual(["600", "600", "600"]);
      });
    }),
});

Deno.test("After the store is closed, its only file is keys.db", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    expect(await filesIn(directory)).toEqual(["keys.db"]);
  }));

Deno.test("While the store is open and after it is closed, none of its files contains the secret", () =>
  inTemporaryDirectory(async (directory) => {
    const { key, secret } = await newKeyWithSecret("deploy", { description: "in the files" });
    async function everyByte(): Promise<string> {
      const decoder = new TextDecoder("latin1");
      const files = await filesIn(directory);
      return (await Promise.all(files.map(async (file) => decoder.decode(await Deno.readFile(`${directory}/${file}`)))))
        .join();
    }
    await withStoreIn(directory, async (store) => {
      await addAll(store, [key]);
      const bytes = await everyByte();
      expect(bytes).toContain("in the files");
      expect(bytes).not.toContain(secret.slice(4, 14));
    });
    const bytes = await everyByte();
    expect(bytes).toContain("in the files");
    expect(bytes).not.toContain(secret.slice(4, 14));
  }));

Deno.test("An empty keys.db becomes a store", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/keys.db`, "");
    await withStoreIn(directory, async (store) => expect(await store.isEmpty()).toBe(true));
  }));

Deno.test("If the data directory is a file or is inside one, opening fails with USAGE and the file is unchanged", () =>
  inTemporaryDirectory(async (directory) => {
    const file = `${directory}/file`;
    await Deno.writeTextFile(file, "mine");
    for (
      const { code, message } of await Promise.all([file, `${file}/below`].map((at) => failureOfPromise(open(at))))
    ) {
      expect(code).toBe("USAGE");
      expect(message).toContain(file);
    }
    expect(await Deno.readTextFile(file)).toBe("mine");
  }));

Deno.test("If keys.db is a directory, opening fails with UNREACHABLE", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/keys.db`);
    const { code, message } = await failureOfPromise(open(directory));
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain(`${directory}/keys.db`);
  }));

Deno.test({
  name: "If keys.db is a named pipe, opening fails with UNREACHABLE instead of waiting for another program",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inTemporaryDirectory(async (directory) => {
      await command("mkfifo", [`${directory}/keys.db`]);
      const openings = [open(directory), openSqliteStoreOnDemand({ directory, busyTimeout: 5_000 })];
      for (const { code, message } of await Promise.all(openings.map(failureOfPromise))) {
        expect(code).toBe("UNREACHABLE");
        expect(message).toContain(`${directory}/keys.db`);
      }
    }),
});

Deno.test("If keys.db is not a database, opening fails with UNREACHABLE, keys.db is unchanged and no file is added", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/keys.db`, "any text\n".repeat(500));
    const { code, message } = await failureWithoutChange(directory);
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain(`${directory}/keys.db`);
    expect(message).toContain("not an SQLite database");
    expect(await filesIn(directory)).toEqual(["keys.db"]);
  }));

Deno.test("If keys.db contains arbitrary bytes, opening fails with UNREACHABLE and keys.db is unchanged", () =>
  inTemporaryDirectory((directory) =>
    fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 2, maxLength: 3_000 }),
        fc.constantFrom("", "SQLite format 3\0"),
        async (bytes, start) => {
          await Deno.writeFile(`${directory}/keys.db`, new Uint8Array([...new TextEncoder().encode(start), ...bytes]));
          expect((await failureWithoutChange(directory)).code).toBe("UNREACHABLE");
        },
      ),
      { numRuns: 100 },
    )
  ));

Deno.test("If the header of keys.db is damaged, opening fails with UNREACHABLE and keys.db is unchanged", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    const bytes = await Deno.readFile(`${directory}/keys.db`);
    await Deno.writeFile(`${directory}/keys.db`, bytes.fill(0xff, 0, 100));
    expect((await failureWithoutChange(directory)).code).toBe("UNREACHABLE");
  }));

Deno.test("If a newer version wrote keys.db, opening fails with UNREACHABLE and keys.db is unchanged", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    await inDatabase(directory, (database) => database.exec("PRAGMA user_version = 99"));
    const { code, message } = await failureWithoutChange(directory);
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain("newer version");
  }));

Deno.test("Opening a store with schema version 1 migrates the store and keeps its keys", () =>
  inTemporaryDirectory(async (directory) => {
    const [old, fresh] = await Promise.all([newKey("deploy", { permissions: ["DOCKER:READ_ANY"] }), newKey("fresh")]);
    await createFirstVersion(directory, old);
    await withStoreIn(directory, async (store) => {
      expect(await listKeys(store)).toEqual([old]);
      expect(await store.findBySecretHash(old.secretHash)).toEqual(activeState(old));
      await store.recordUses(new Map([[old.id, LOCAL.at]]));
      await addAll(store, [{ ...fresh, createdBy: old.id }]);
      expect(await listKeys(store, old.id)).toEqual([{ ...old, lastUsedAt: LOCAL.at }, {
        ...fresh,
        createdBy: old.id,
      }]);
      expect((await store.listEvents(undefined, 10)).map(({ keyName }) => keyName)).toEqual(["fresh"]);
    });
    await inDatabase(directory, (database) => {
      expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: SQLITE_MIGRATIONS.length });
    });
  }));

/** The columns that published versions look up, by their schema. They reject a schema that is later than their own. */
const PUBLISHED_LOOK_UPS = { 3: "id, revision", 4: "id, revision, enabled, expires_at" };

for (const [version, columns] of Object.entries(PUBLISHED_LOOK_UPS)) {
  const schema = Number(version);

  Deno.test(`After the migration, a running process of a version with schema ${schema} looks up a schema that it rejects`, () =>
    inTemporaryDirectory(async (directory) => {
      await inDatabase(directory, (other) => {
        for (const step of SQLITE_MIGRATIONS.slice(0, schema)) other.exec(step);
        other.exec(
          `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schema}; PRAGMA journal_mode = WAL`,
        );
        const lookUp = other.prepare(
          `SELECT user_version, ${columns} FROM pragma_user_version LEFT JOIN api_key ON secret_sha256 = ?`,
        );
        expect(lookUp.get(new Uint8Array(32))?.["user_version"]).toBe(schema);
        return withStoreIn(directory, async (store) => {
          const key = await newKey("deploy", { enabled: false });
          await addAll(store, [key]);
          expect(Number(lookUp.get(key.secretHash)?.["user_version"])).toBeGreaterThan(schema);
        });
      });
    }));
}

Deno.test("If five processes open a store with schema version 1 at once, the store is migrated once", () =>
  inTemporaryDirectory(async (directory) => {
    const old = await newKey("deploy");
    await createFirstVersion(directory, old);
    const names = Array.from({ length: 5 }, (_, i) => `key ${i}`);
    const racers = names.map((name) => startRacer(sqliteRacer(directory), [name]));
    await Promise.all(racers.map(({ ready }) => ready));
    expect(await Promise.all(racers.map(({ run }) => run()))).toEqual(names.map(() => ["won"]));
    await withStoreIn(directory, async (store) => {
      const [first, ...others] = await listKeys(store);
      expect(first).toEqual(old);
      expect(others.map(({ name }) => String(name)).toSorted()).toEqual(names);
    });
  }));

Deno.test("If a migration fails, opening fails with UNREACHABLE and keys.db is unchanged", () =>
  inTemporaryDirectory(async (directory) => {
    await createFirstVersion(directory, await newKey("deploy"));
    await inDatabase(
      directory,
      (database) => database.exec("PRAGMA journal_mode = WAL; CREATE TABLE audit_event (mine)"),
    );
    expect((await failureWithoutChange(directory)).code).toBe("UNREACHABLE");
  }));

for (const version of [0, 1]) {
  Deno.test(`If keys.db is another program's database with user_version ${version}, opening fails and keys.db is unchanged`, () =>
    inTemporaryDirectory(async (directory) => {
      await inDatabase(directory, (other) => other.exec(`CREATE TABLE song (title); PRAGMA user_version = ${version}`));
      const { code, message } = await failureWithoutChange(directory);
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("another program");
      expect(await filesIn(directory)).toEqual(["keys.db"]);
    }));
}

Deno.test("If another process keeps the store locked for too long, a write fails with TIMEOUT and changes nothing", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, async (store) => {
      const [first, second] = await Promise.all([newKey("first"), newKey("second")]);
      await addAll(store, [first]);
      await inDatabase(directory, async (other) => {
        other.exec("BEGIN IMMEDIATE");
        expect((await failureOfPromise(store.add(second, LOCAL, allowAny))).code).toBe("TIMEOUT");
        const { code, message } = await failureOfPromise(store.remove([first.id], LOCAL, allowAny));
        expect(code).toBe("TIMEOUT");
        expect(message).toContain("Another process has locked the store");
      });
      expect(await listKeys(store)).toEqual([first]);
      await addAll(store, [second]);
      expect(await listKeys(store)).toEqual([first, second]);
    }, SHORT_TIMEOUT)
  ));

/** Runs `act` while the clock of the machine stands still. Fails if `act` takes longer than 10 s. */
async function withStoppedClock(act: () => Promise<void>): Promise<void> {
  const { now } = Date;
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("still waiting after 10 s")), 10_000);
  const time = now();
  Date.now = () => time;
  try {
    await Promise.race([act(), limit]);
  } finally {
    Date.now = now;
    clearTimeout(timer);
  }
}

Deno.test("If the machine's clock stands still, a write that waits for another process still fails with TIMEOUT", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, (store) =>
      inDatabase(directory, (other) => {
        other.exec("BEGIN IMMEDIATE");
        return withStoppedClock(async () => {
          expect((await failureOfPromise(store.add(await newKey("deploy"), LOCAL, allowAny))).code).toBe("TIMEOUT");
        });
      }), SHORT_TIMEOUT)
  ));

Deno.test("If the machine's clock stands still, opening a locked store still fails with TIMEOUT", () =>
  inTemporaryDirectory((directory) =>
    inDatabase(directory, (other) => {
      other.exec("BEGIN EXCLUSIVE; CREATE TABLE held (x)");
      return withStoppedClock(async () => {
        expect((await failureOfPromise(open(directory, SHORT_TIMEOUT))).code).toBe("TIMEOUT");
      });
    })
  ));

Deno.test("A read does not wait for another process that is writing", () =>
  withNewStore(async (store, directory) => {
    const key = await newKey("deploy");
    await addAll(store, [key]);
    await inDatabase(directory, async (other) => {
      other.exec("BEGIN IMMEDIATE; DELETE FROM api_key");
      expect(await store.findBySecretHash(key.secretHash)).toEqual(activeState(key));
      expect(await listKeys(store)).toEqual([key]);
    });
  }));

Deno.test("While many writes wait for another process, reads continue and each write ends at its timeout", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, async (store) => {
      const keys = await Promise.all(Array.from({ length: 50 }, (_, i) => newKey(`key ${i}`)));
      await inDatabase(directory, async (other) => {
        other.exec("BEGIN IMMEDIATE");
        const start = performance.now();
        const writes = Promise.all(
          keys.map(async (key) => (await failureOfPromise(store.add(key, LOCAL, allowAny))).code),
        );
        const reads: number[] = [];
        for (let i = 0; i < 20; i++) {
          const before = performance.now();
          // deno-lint-ignore no-await-in-loop -- measures each read
          await new Promise((resolve) => setTimeout(resolve)).then(() => store.isEmpty());
          reads.push(performance.now() - before);
        }
        expect(await writes).toEqual(keys.map(() => "TIMEOUT"));
        // If each of the fifty writes waited inside SQLite, a read would wait for all fifty.
        expect(reads.toSorted((a, b) => a - b)[10]).toBeLessThan(1000);
        expect(performance.now() - start).toBeLessThan(25 * 1000);
      });
    }, 1000)
  ));

Deno.test("If another process keeps a new store locked for too long, opening fails with TIMEOUT", () =>
  inTemporaryDirectory((directory) =>
    inDatabase(directory, async (other) => {
      other.exec("BEGIN EXCLUSIVE; CREATE TABLE held (x)");
      expect((await failureOfPromise(open(directory, SHORT_TIMEOUT))).code).toBe("TIMEOUT");
    })
  ));

for (
  const [what, change] of [
    ["removed", (directory: string): Promise<void> => Deno.remove(directory, { recursive: true })],
    ["replaced", async (directory: string): Promise<void> => {
      await Deno.rename(directory, `${directory}-old`);
      await (await open(directory)).close();
    }],
  ] as const
) {
  Deno.test({
    name: `a key is not created or deleted in a store that was ${what}, because the change would be lost`,
    // Windows does not remove or replace open files.
    ignore: Deno.build.os === "windows",
    fn: () =>
      inTemporaryDirectory(async (parent) => {
        const directory = `${parent}/data`;
        const store = await open(directory);
        try {
          const key = await newKey("first");
          await store.add(key, LOCAL, allowAny);
          await change(directory);
          const failure = { code: "UNREACHABLE", message: expect.stringContaining("was removed or replaced") };
          expect(await failureOfPromise(store.add(await newKey("second"), LOCAL, allowAny))).toMatchObject(failure);
          expect(await failureOfPromise(store.remove([key.id], LOCAL, allowAny))).toMatchObject(failure);
        } finally {
          await store.close();
        }
      }),
  });
}
