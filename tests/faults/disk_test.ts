/** Full disks, failing writes and damaged files under a server and commands on SQLite. */
import { expect } from "expect";
import { onPosix } from "../posix.ts";
import { openSmallDisk } from "../program/small_disk.ts";
import { inTemporaryDirectory } from "../store/temporary_store.ts";
import { contentsOverHttp, createAdmin, httpChanger } from "./clients.ts";
import { amount, record } from "./form.ts";
import { KeyChanges, Refused } from "./key_changes.ts";
import { type Environment, serve, type Server, start, testOnExecutable } from "./process.ts";

const ROUNDS = amount(1, 10);

/** The largest number of changes before the disk must be full. */
const MAX_CHANGES = 20_000;

/** Changes keys until the server refuses a change. Returns the reason. */
async function changeUntilRefused(changes: KeyChanges, url: string, admin: string): Promise<string> {
  const changer = httpChanger(url, admin);
  try {
    // deno-lint-ignore no-await-in-loop -- one change after the other
    for (let i = 0; i < MAX_CHANGES; i++) await changes.change(`key ${i % 20}`, changer);
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
  throw new Error(`the server accepted ${MAX_CHANGES} changes`);
}

async function expectAllIn(changes: KeyChanges, { url }: Server, admin: string): Promise<void> {
  await changes.expectAllIn(await contentsOverHttp(url, admin, changes.lastEvent));
}

await testOnExecutable("full disks and failing writes", async (executable) => {
  // Has room for the changes of all rounds.
  const disk = await openSmallDisk(4096);
  if (disk === undefined) {
    Deno.test.ignore("serve on a full disk (skipped: this user cannot mount a file system)", () => {});
  } else {
    Deno.test("if the disk fills up under serve, it refuses changes, keeps all others, and works again when there is space", async () => {
      const env = { SERVICE_API_DATA_DIR: `${disk.path}/data` };
      const admin = await createAdmin(executable, env);
      const changes = new KeyChanges();
      const server = await serve(executable, [], env);
      try {
        for (let round = 0; round < ROUNDS; round++) {
          // deno-lint-ignore no-await-in-loop -- one round after the other
          await changes.change("before", httpChanger(server.url, admin));
          // deno-lint-ignore no-await-in-loop -- one round after the other
          await disk.fill();
          // deno-lint-ignore no-await-in-loop -- one round after the other
          expect(await changeUntilRefused(changes, server.url, admin)).toMatch(/cannot reach its store/);
          // deno-lint-ignore no-await-in-loop -- one round after the other
          expect(await (await fetch(new URL("/healthz", server.url))).text()).toBe("ok\n");
          // deno-lint-ignore no-await-in-loop -- one round after the other
          await disk.empty();
          // deno-lint-ignore no-await-in-loop -- one round after the other
          await expectAllIn(changes, server, admin);
        }
      } finally {
        expect(await server.stop("SIGTERM")).toBe(0);
      }
      expect(server.log()).toMatch(/disk is full/);
      await record("Full disk under `serve`", `${ROUNDS} times, ${changes.acknowledged} acknowledged changes, 0 lost`);
    });

    Deno.test.afterAll(disk.close);
  }

  onPosix("ulimit")(
    "if writes fail under serve, it refuses changes, and all others are kept",
    () =>
      inTemporaryDirectory(async (directory) => {
        const env = { SERVICE_API_DATA_DIR: `${directory}/data` };
        const admin = await createAdmin(executable, env);
        const changes = new KeyChanges();
        for (let round = 0; round < ROUNDS; round++) {
          // The system refuses to let a file grow beyond this number of blocks of 512 bytes.
          const blocks = 500 + Math.floor(Math.random() * 1000);
          // deno-lint-ignore no-await-in-loop -- one server after the other
          const limited = await serve(executable, [], env, `trap '' XFSZ; ulimit -f ${blocks}`);
          try {
            // deno-lint-ignore no-await-in-loop -- one server after the other
            expect(await changeUntilRefused(changes, limited.url, admin)).toMatch(/cannot reach its store/);
          } finally {
            // deno-lint-ignore no-await-in-loop -- one server after the other
            await limited.stop("SIGKILL");
          }
          // deno-lint-ignore no-await-in-loop -- one server after the other
          await expectAllInNewServer(changes, executable, env, admin);
        }
        await record(
          "Failing writes under `serve`",
          `${ROUNDS} times, ${changes.acknowledged} acknowledged changes, 0 lost`,
        );
      }),
  );

  Deno.test("if keys.db is damaged, a command lists keys or fails with UNREACHABLE", () =>
    inTemporaryDirectory(async (directory) => {
      const env = { SERVICE_API_DATA_DIR: directory };
      await createAdmin(executable, env);
      const whole = await Deno.readFile(`${directory}/keys.db`);
      for (let round = 0; round < amount(5, 200); round++) {
        const damaged = whole.slice(0, Math.random() < 0.3 ? Math.floor(Math.random() * whole.length) : undefined);
        for (let i = 0; i < 20; i++) damaged[Math.floor(Math.random() ** 3 * damaged.length)] = Math.random() * 256;
        // deno-lint-ignore no-await-in-loop -- one damage after the other
        await Deno.writeFile(`${directory}/keys.db`, damaged);
        // deno-lint-ignore no-await-in-loop -- one damage after the other
        const { code, stdout } = await start(
          executable,
          ["request", "--query", "{ apiKeys { id name } }", "--json"],
          env,
        )
          .outcome;
        expect([0, 4]).toContain(code);
        expect(JSON.parse(stdout)).toMatchObject(
          code === 0 ? { data: { apiKeys: expect.anything() } } : { code: "UNREACHABLE" },
        );
      }
      await record("Damaged `keys.db`", `${amount(5, 200)} files, 0 unexpected answers`);
    }));
});

async function expectAllInNewServer(
  changes: KeyChanges,
  executable: string,
  env: Environment,
  admin: string,
): Promise<void> {
  const server = await serve(executable, [], env);
  try {
    await expectAllIn(changes, server, admin);
  } finally {
    await server.stop("SIGTERM");
  }
}
