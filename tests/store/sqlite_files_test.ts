/** What the SQLite store leaves on the disk, and what it does with files that are not its own. */
import { expect } from "expect";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import type { Failure } from "../../src/apikey/failure.ts";
import type { KeyStore } from "../../src/store/key_store.ts";
import type { StoredKey } from "../../src/store/stored_key.ts";
import { APPLICATION_ID, SQLITE_MIGRATIONS } from "../../src/store/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { failureOfPromise } from "../apikey/failure_of.ts";
import { addAll, anyway, listed, LOCAL } from "./changes.ts";
import { sqliteRacer, startRacer } from "./racers.ts";
import { newKey, newKeyWithSecret } from "./stored_key.ts";
import { inTemporaryDirectory, withNewStore, withStoreIn } from "./temporary_store.ts";

const hasNoFileModes = Deno.build.os === "windows";

/** A busy timeout, in milliseconds, that tests are willing to wait for. */
const SHORT = 50;

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

/** Opens a store where it must be refused, and checks that `keys.db` stays byte for byte what it was. */
async function refusalThatChangesNothing(directory: string): Promise<Failure> {
  const before = await sha256(`${directory}/keys.db`);
  const failure = await failureOfPromise(open(directory));
  expect(await sha256(`${directory}/keys.db`)).toBe(before);
  return failure;
}

/** Runs SQL on the `keys.db` of a directory as another program would. */
async function inDatabase(directory: string, act: (database: DatabaseSync) => void | Promise<void>): Promise<void> {
  const database = new DatabaseSync(`${directory}/keys.db`);
  try {
    await act(database);
  } finally {
    database.close();
  }
}

/** What the first version of the program would have left, with one key. */
function makeFirstVersion(directory: string, key: StoredKey): Promise<void> {
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
  name: "The data directory is made with mode 0700 and the files in it with 0600",
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

Deno.test("A closed store is one file", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    expect(await filesIn(directory)).toEqual(["keys.db"]);
  }));

Deno.test("The secret is in none of the files, neither while the store is open nor after", () =>
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

Deno.test("A data directory that is a file is refused as USAGE, and the file stays as it is", () =>
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

Deno.test("A keys.db that is a directory is refused as UNREACHABLE", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/keys.db`);
    const { code, message } = await failureOfPromise(open(directory));
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain(`${directory}/keys.db`);
  }));

Deno.test("A keys.db with a text in it is refused as UNREACHABLE and stays as it is", () =>
  inTemporaryDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/keys.db`, "a letter to my aunt\n".repeat(500));
    const { code, message } = await refusalThatChangesNothing(directory);
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain(`${directory}/keys.db`);
    expect(message).toContain("not an SQLite database");
    expect(await filesIn(directory)).toEqual(["keys.db"]);
  }));

Deno.test("A keys.db with any bytes in it that are no database is refused as UNREACHABLE and stays as it is", () =>
  inTemporaryDirectory((directory) =>
    fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 2, maxLength: 3_000 }),
        fc.constantFrom("", "SQLite format 3\0"),
        async (bytes, start) => {
          await Deno.writeFile(`${directory}/keys.db`, new Uint8Array([...new TextEncoder().encode(start), ...bytes]));
          expect((await refusalThatChangesNothing(directory)).code).toBe("UNREACHABLE");
        },
      ),
      { numRuns: 100 },
    )
  ));

Deno.test("A damaged store is refused as UNREACHABLE and stays as it is", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    const bytes = await Deno.readFile(`${directory}/keys.db`);
    await Deno.writeFile(`${directory}/keys.db`, bytes.fill(0xff, 0, 100));
    expect((await refusalThatChangesNothing(directory)).code).toBe("UNREACHABLE");
  }));

Deno.test("A store of a newer version is refused as UNREACHABLE, told as such, and stays as it is", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => addAll(store, [await newKey("deploy")]));
    await inDatabase(directory, (database) => database.exec("PRAGMA user_version = 99"));
    const { code, message } = await refusalThatChangesNothing(directory);
    expect(code).toBe("UNREACHABLE");
    expect(message).toContain("newer version");
  }));

Deno.test("A store of the first version is brought up to date, and keeps its keys", () =>
  inTemporaryDirectory(async (directory) => {
    const [old, fresh] = await Promise.all([newKey("deploy", { permissions: ["DOCKER:READ_ANY"] }), newKey("fresh")]);
    await makeFirstVersion(directory, old);
    await withStoreIn(directory, async (store) => {
      expect(await listed(store)).toEqual([old]);
      expect(await store.findIdBySecretHash(old.secretHash)).toBe(old.id);
      await store.recordUses(new Map([[old.id, LOCAL.at]]));
      await addAll(store, [{ ...fresh, createdBy: old.id }]);
      expect(await listed(store, old.id)).toEqual([{ ...old, lastUsedAt: LOCAL.at }, { ...fresh, createdBy: old.id }]);
      expect((await store.listEvents(undefined, 10)).map(({ keyName }) => keyName)).toEqual(["fresh"]);
    });
    await inDatabase(directory, (database) => {
      expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: SQLITE_MIGRATIONS.length });
    });
  }));

Deno.test("A store of the first version that five processes open at once is brought up to date once", () =>
  inTemporaryDirectory(async (directory) => {
    const old = await newKey("deploy");
    await makeFirstVersion(directory, old);
    const names = Array.from({ length: 5 }, (_, i) => `key ${i}`);
    const racers = names.map((name) => startRacer(sqliteRacer(directory), [name]));
    await Promise.all(racers.map(({ ready }) => ready));
    expect(await Promise.all(racers.map(({ run }) => run()))).toEqual(names.map(() => ["won"]));
    await withStoreIn(directory, async (store) => {
      const [first, ...others] = await listed(store);
      expect(first).toEqual(old);
      expect(others.map(({ name }) => String(name)).toSorted()).toEqual(names);
    });
  }));

Deno.test("A store of the first version that cannot be brought up to date is UNREACHABLE and stays as it is", () =>
  inTemporaryDirectory(async (directory) => {
    await makeFirstVersion(directory, await newKey("deploy"));
    await inDatabase(
      directory,
      (database) => database.exec("PRAGMA journal_mode = WAL; CREATE TABLE audit_event (mine)"),
    );
    expect((await refusalThatChangesNothing(directory)).code).toBe("UNREACHABLE");
  }));

for (const version of [0, 1, 99]) {
  Deno.test(`Another program's database with user_version ${version} is refused as such and stays as it is`, () =>
    inTemporaryDirectory(async (directory) => {
      await inDatabase(directory, (other) => other.exec(`CREATE TABLE song (title); PRAGMA user_version = ${version}`));
      const { code, message } = await refusalThatChangesNothing(directory);
      expect(code).toBe("UNREACHABLE");
      expect(message).toContain("another program");
      expect(await filesIn(directory)).toEqual(["keys.db"]);
    }));
}

Deno.test("A write while another process holds the store for too long fails with TIMEOUT and changes nothing", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, async (store) => {
      const [first, second] = await Promise.all([newKey("first"), newKey("second")]);
      await addAll(store, [first]);
      await inDatabase(directory, async (other) => {
        other.exec("BEGIN IMMEDIATE");
        expect((await failureOfPromise(store.add(second, LOCAL, anyway))).code).toBe("TIMEOUT");
        const { code, message } = await failureOfPromise(store.remove([first.id], LOCAL, anyway));
        expect(code).toBe("TIMEOUT");
        expect(message).toContain("Another process");
      });
      expect(await listed(store)).toEqual([first]);
      await addAll(store, [second]);
      expect(await listed(store)).toEqual([first, second]);
    }, SHORT)
  ));

Deno.test("Reading does not wait for another process that writes", () =>
  withNewStore(async (store, directory) => {
    const key = await newKey("deploy");
    await addAll(store, [key]);
    await inDatabase(directory, async (other) => {
      other.exec("BEGIN IMMEDIATE; DELETE FROM api_key");
      expect(await store.findIdBySecretHash(key.secretHash)).toBe(key.id);
      expect(await listed(store)).toEqual([key]);
    });
  }));

Deno.test("However many writes wait for another process, reading goes on and each of them waits no longer than it may", () =>
  inTemporaryDirectory((directory) =>
    withStoreIn(directory, async (store) => {
      const keys = await Promise.all(Array.from({ length: 50 }, (_, i) => newKey(`key ${i}`)));
      await inDatabase(directory, async (other) => {
        other.exec("BEGIN IMMEDIATE");
        const start = performance.now();
        const writes = Promise.all(
          keys.map(async (key) => (await failureOfPromise(store.add(key, LOCAL, anyway))).code),
        );
        const reads: number[] = [];
        for (let i = 0; i < 20; i++) {
          const asked = performance.now();
          // deno-lint-ignore no-await-in-loop -- each is to be timed
          await new Promise((resolve) => setTimeout(resolve)).then(() => store.isEmpty());
          reads.push(performance.now() - asked);
        }
        expect(await writes).toEqual(keys.map(() => "TIMEOUT"));
        // Were each of the fifty to wait inside SQLite in its turn, one read would take the time of all of them.
        expect(reads.toSorted((a, b) => a - b)[10]).toBeLessThan(100);
        expect(performance.now() - start).toBeLessThan(10 * 1000);
      });
    }, 1000)
  ));

Deno.test("A new store that another process holds for too long cannot be opened: TIMEOUT", () =>
  inTemporaryDirectory((directory) =>
    inDatabase(directory, async (other) => {
      other.exec("BEGIN EXCLUSIVE; CREATE TABLE held (x)");
      expect((await failureOfPromise(open(directory, SHORT))).code).toBe("TIMEOUT");
    })
  ));
