/** Many clients and processes that change the same few keys at once. */
import { expect } from "expect";
import { CREATE, createAdmin, DELETE, send } from "./clients.ts";
import { type Data, testOnEngines } from "./engines.ts";
import { amount, record } from "./form.ts";
import { serve, start } from "./process.ts";

const NAMES = ["first", "second", "third", "fourth", "fifth", "sixth"] as const;

/** How many `serve` processes share the store, how many clients use them, and how many requests each client sends. */
const SERVERS = 3;
const CLIENTS = 24;
const REQUESTS = amount(8, 100);

const ROUNDS = amount(1, 5);
const PROCESSES = amount(4, 10);

/** Counts how often each value occurs. */
function tally(values: readonly string[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(values, (value) => value);
  return Object.fromEntries([...groups].map(([value, { length }]) => [value, length]));
}

function random<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}

/** Creates, replaces or deletes keys with random names. Returns what happened, and the secret of a created key. */
async function change(url: string, secret: string): Promise<readonly [answer: string, made?: string | undefined]> {
  const name = random(NAMES);
  const kind = random(["create", "overwrite", "delete", "delete all"]);
  if (kind === "create" || kind === "overwrite") {
    const body = await send(url, secret, CREATE, {
      input: { name, overwrite: kind === "overwrite", roles: ["ADMIN"] },
    });
    const made: string | undefined = body?.data?.apiKey?.create.key;
    return [`${kind} ${body?.errors?.[0]?.extensions?.code ?? (made === undefined ? "no answer" : "done")}`, made];
  }
  const listed = await send(url, secret, "{ apiKeys { id name } }");
  if (listed?.errors !== undefined) return [`list ${listed.errors[0]?.extensions?.code}`];
  const keys: readonly { readonly id: string; readonly name: string }[] = listed?.data.apiKeys;
  const others = keys.filter((key) => key.name !== "admin" && (kind === "delete all" || key.name === name));
  // Each client names the keys in its own order.
  const ids = others.map(({ id }) => id).toSorted(() => Math.random() - 0.5);
  const body = await send(url, secret, DELETE, { input: { ids } });
  return [`delete ${body?.errors?.[0]?.extensions?.code ?? body?.data?.apiKey.delete}`];
}

/**
 * The only answers that a crowd may get. A deletion is `false` if another client was faster. A client is not
 * authenticated if another client has just deleted or replaced its key.
 */
const EXPECTED = /^create (done|ALREADY_EXISTS)$|^overwrite done$|^delete (true|false)$| UNAUTHENTICATED$/;

/** Locks all keys in random order, again and again, as another program might. Returns how often it lost a deadlock. */
async function lockInRandomOrder({ execute }: Data, isOver: () => boolean): Promise<number> {
  let deadlocks = 0;
  while (!isOver()) {
    const sql =
      "DO $$ DECLARE one record; BEGIN FOR one IN SELECT id FROM service_api.api_key ORDER BY random() LOOP " +
      "PERFORM 1 FROM service_api.api_key WHERE id = one.id FOR UPDATE; PERFORM pg_sleep(0.002); END LOOP; END $$";
    // deno-lint-ignore no-await-in-loop -- one transaction after the other
    await execute(sql).catch((error) => {
      if (error?.code !== "40P01") throw error;
      deadlocks++;
    });
  }
  return deadlocks;
}

async function deadlocksIn({ execute }: Data): Promise<number> {
  const [row] = await execute("SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()");
  return Number(row?.["deadlocks"]);
}

await testOnEngines("crowds", (engine, executable) => {
  Deno.test(`${engine.name}: if many clients of several servers create, replace and delete the same keys, each gets an expected answer`, () =>
    engine.withData(async (data) => {
      const admin = await createAdmin(executable, data.env);
      const servers = await Promise.all(Array.from({ length: SERVERS }, () => serve(executable, [], data.env)));
      try {
        let isOver = false;
        const disturbance = engine.isPostgres ? lockInRandomOrder(data, () => isOver) : Promise.resolve(0);
        const answers = await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
          const url = servers[client % SERVERS]?.url ?? "";
          const received: string[] = [];
          let secret = admin;
          for (let i = 0; i < REQUESTS; i++) {
            // deno-lint-ignore no-await-in-loop -- each client sends one request after the other
            const [answer, made] = await change(url, secret);
            received.push(answer);
            // Uses a key that the others replace and delete.
            secret = made ?? (answer.endsWith(" UNAUTHENTICATED") ? admin : secret);
          }
          return received;
        })).finally(() => isOver = true);
        const lost = await disturbance;
        const counts = tally(answers.flat());
        expect(Object.entries(counts).filter(([answer]) => !EXPECTED.test(answer))).toEqual([]);
        await data.check();
        const deadlocks = engine.isPostgres ? await deadlocksIn(data) : 0;
        const retried = engine.isPostgres ? `${deadlocks} deadlocks, of which ${deadlocks - lost} in \`serve\`, ` : "";
        const changes = CLIENTS * REQUESTS;
        await record(
          `Crowd of ${CLIENTS} clients, ${engine.name}`,
          `${changes} requests, ${retried}0 unexpected answers`,
        );
      } finally {
        await Promise.all(servers.map(({ stop }) => stop("SIGTERM")));
      }
    }));

  Deno.test(`${engine.name}: if many processes create and delete the same key, exactly one of them succeeds`, () =>
    engine.withData(async (data) => {
      const flags = { create: ["--create", "--roles", "GUEST"], delete: ["--delete"] } as const;
      const race = (mode: "create" | "delete"): Promise<readonly string[]> =>
        Promise.all(Array.from({ length: PROCESSES }, async () => {
          const args = ["apikey", ...flags[mode], "--name", "contended", "--json"];
          const { code, stdout } = await start(executable, args, data.env).outcome;
          const result = JSON.parse(stdout);
          if (code === 0 && result.deleted !== 0) return "won";
          return result.code ?? (result.deleted === 0 ? "nothing to delete" : stdout);
        }));
      for (let round = 0; round < ROUNDS; round++) {
        // deno-lint-ignore no-await-in-loop -- one round after the other
        expect(tally(await race("create"))).toEqual({ won: 1, ALREADY_EXISTS: PROCESSES - 1 });
        // deno-lint-ignore no-await-in-loop -- one round after the other
        expect(tally(await race("delete"))).toEqual({ won: 1, "nothing to delete": PROCESSES - 1 });
      }
      await record(
        `Races of ${PROCESSES} commands, ${engine.name}`,
        `${ROUNDS * 2} races, exactly one winner in each`,
      );
    }));
});
