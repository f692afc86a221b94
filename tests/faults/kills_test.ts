/** Processes that are killed while they change keys. */
import { commandChanger, contentsOverHttp, createAdmin, httpChanger } from "./clients.ts";
import { type Data, type Engine, testOnEngines } from "./engines.ts";
import { until } from "../server/until.ts";
import { amount, record } from "./form.ts";
import { KeyChanges } from "./key_changes.ts";
import { kill, serve } from "./process.ts";

const SERVE_KILLS = amount(2, 100);
const COMMAND_KILLS = amount(8, 120);

/** How many clients change keys at once, and how many names each client uses. */
const CLIENTS = 8;
const NAMES = 4;

/** The most changes that a server acknowledges before it is killed. */
const MOST_CHANGES = 50;

/** A store, and the changes that were made to it. */
interface Attack {
  readonly executable: string;
  readonly data: Data;
  readonly changes: KeyChanges;
  /** The secret of an administrator. */
  readonly admin: string;
}

function onNewStore(engine: Engine, executable: string, attack: (attack: Attack) => Promise<void>): Promise<void> {
  return engine.withData(async (data) => {
    const admin = await createAdmin(executable, data.env);
    await attack({ executable, data, changes: new KeyChanges(), admin });
  });
}

/** Checks the store with a new server, then calls `use`, and stops the server with a signal. */
async function withServer(
  { executable, data, changes, admin }: Attack,
  signal: "SIGKILL" | "SIGTERM",
  use: (url: string) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const server = await serve(executable, [], data.env);
  try {
    await changes.expectAllIn(await contentsOverHttp(server.url, admin, changes.lastEvent));
    await data.check();
    await use(server.url);
  } finally {
    await server.stop(signal);
  }
}

/** Changes keys until the server no longer answers. */
async function changeUntilKilled({ changes, admin }: Attack, url: string, client: number): Promise<void> {
  const changer = httpChanger(url, admin);
  // deno-lint-ignore no-await-in-loop -- one change after the other
  for (let i = 0; await changes.change(`client ${client} key ${i % NAMES}`, changer); i++);
}

/** Waits until a random number of changes were acknowledged. */
function someChanges({ changes }: Attack): Promise<void> {
  const end = changes.acknowledged + Math.ceil(Math.random() * MOST_CHANGES);
  return until(() => changes.acknowledged >= end);
}

await testOnEngines("kills", (engine, executable) => {
  Deno.test(`${engine.name}: if serve is killed while clients change keys, every acknowledged change is kept`, () =>
    onNewStore(engine, executable, async (attack) => {
      for (let i = 0; i < SERVE_KILLS; i++) {
        let clients: readonly Promise<void>[] = [];
        // deno-lint-ignore no-await-in-loop -- one server after the other
        await withServer(attack, "SIGKILL", async (url) => {
          clients = Array.from({ length: CLIENTS }, (_, client) => changeUntilKilled(attack, url, client));
          await someChanges(attack);
        });
        // deno-lint-ignore no-await-in-loop -- one server after the other
        await Promise.all(clients);
      }
      await withServer(attack, "SIGTERM");
      await record(
        `Kills of \`serve\`, ${engine.name}`,
        `${SERVE_KILLS} kills, ${attack.changes.acknowledged} acknowledged changes, 0 lost`,
      );
    }));

  Deno.test(`${engine.name}: if commands are killed while they change keys, every acknowledged change is kept`, () =>
    onNewStore(engine, executable, async (attack) => {
      const { changes, data } = attack;
      let kills = 0;
      let duration = 100;
      const measured = commandChanger(executable, data.env, async ({ outcome }) => {
        const before = performance.now();
        await outcome;
        duration = performance.now() - before;
      });
      const killed = commandChanger(executable, data.env, async ({ child }) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 * duration));
        if (kill(child)) kills++;
      });
      while (kills < COMMAND_KILLS) {
        // deno-lint-ignore no-await-in-loop -- one round after the other
        await Promise.all(
          Array.from({ length: CLIENTS }, (_, i) => changes.change(`key ${i}`, i === 0 ? measured : killed)),
        );
        // deno-lint-ignore no-await-in-loop -- one round after the other
        await withServer(attack, "SIGTERM");
      }
      await record(
        `Kills of commands, ${engine.name}`,
        `${kills} kills, ${changes.acknowledged} acknowledged changes, 0 lost`,
      );
    }));
});
