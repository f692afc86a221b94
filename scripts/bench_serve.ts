/**
 * Measures `serve` under load, against bare `Deno.serve` and bare `node:sqlite` in the same run: rounds in turn,
 * medians, ratios.
 *
 *   deno task bench-serve [ROUNDS]
 *
 * The load comes from `wrk` (Debian's package of that name), 16 connections. PostgreSQL is measured where the tests
 * find a server.
 */
import { DatabaseSync } from "node:sqlite";
import { createHash } from "node:crypto";
import { startPostgres } from "../tests/store/postgres_server.ts";
import { compile } from "./compile.ts";
import { fillPostgres, fillSqlite } from "./fill_store.ts";
import { median } from "./median.ts";
import { createAdmin, type RunningServer, startServer } from "./running_server.ts";

const CONNECTIONS = 16;

/** Seconds of load a round. */
const ROUND = 3;

const FEW = 1000;
const MANY = 1_000_000;

const BARE_SERVER = `
const body = JSON.stringify({ data: { me: { id: "key_0000000000000000000000", name: "bench" } } });
const headers = { "content-type": "application/json; charset=utf-8" };
const onListen = ({ port }) => console.log("http://127.0.0.1:" + port + "/graphql");
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, () => new Response(body, { headers }));
`;

/** A server under measurement, and what is sent to it. */
interface Subject extends RunningServer {
  readonly title: string;
  /** A script for wrk. */
  readonly script: string;
}

async function start(
  title: string,
  command: readonly string[],
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Subject> {
  return { title, script, ...await startServer(command, env) };
}

/** Lets wrk loose for some seconds. */
async function load({ url, script, title }: Subject, seconds: number): Promise<{ perSecond: number; count: number }> {
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, url];
  const { stdout, success } = await new Deno.Command("wrk", { args }).output();
  const words = new TextDecoder().decode(stdout);
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(words) ?? [];
  const [, count] = /(\d+) requests in/.exec(words) ?? [];
  if (!success || perSecond === undefined || count === undefined || words.includes("Non-2xx")) {
    throw new Error(`${title}: ${words}`);
  }
  return { perSecond: Number(perSecond), count: Number(count) };
}

/** Requests per second of each, in the same order. */
async function compare(subjects: readonly Subject[], rounds: number): Promise<readonly number[]> {
  const results = subjects.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [i, subject] of subjects.entries()) {
      // deno-lint-ignore no-await-in-loop -- servers that are timed take turns
      const { perSecond } = await load(subject, ROUND);
      if (round >= 0) results[i]?.push(perSecond);
    }
  }
  return results.map(median);
}

/** A script for wrk that asks, with a key, who it is. */
async function writeMeScript(path: string, key: string): Promise<string> {
  await Deno.writeTextFile(
    path,
    `wrk.method = "POST"
wrk.body = '{"query":"{ me { id name } }"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${key}"`,
  );
  return path;
}

/** A script for wrk that creates keys, each under a name of its own. */
async function writeCreateScript(path: string, key: string): Promise<string> {
  await Deno.writeTextFile(
    path,
    `local n, run = 0, os.time()
local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer ${key}" }
local query = "mutation($i: CreateApiKeyInput!) { apiKey { create(input: $i) { id key name } } }"
function request()
  n = n + 1
  return wrk.format("POST", nil, headers, '{"query":"' .. query .. '","variables":{"i":{"name":"bench ' .. run .. " " .. n
    .. '","permissions":[{"resource":"DOCKER","actions":["READ_ANY"]}]}}}')
end
function response(status, _, body)
  if not body:find('"sak_', 1, true) then print(status, body) os.exit(1) end
end`,
  );
  return path;
}

/** How many of the inserts that a create makes `node:sqlite` does alone in a second, one transaction each. */
function insertAlone(path: string, seconds: number): number {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA synchronous = FULL");
  const addKey = database.prepare(
    "INSERT INTO api_key (id, name, description, roles, permissions, created_at, created_by, last_used_at, " +
      "secret_hash, secret_tail) VALUES (?, ?, NULL, '', 'DOCKER:READ_ANY', ?, ?, NULL, ?, ?)",
  );
  const addEvent = database.prepare(
    "INSERT INTO audit_event (at, actor_id, actor_name, address, request_id, action, key_id, key_name, outcome) " +
      "VALUES (?, ?, 'admin', '127.0.0.1', ?, 'CREATE', ?, ?, 'DONE')",
  );
  const at = new Date().toISOString();
  const start = performance.now();
  let count = 0;
  while (performance.now() < start + seconds * 1000) {
    const id = crypto.randomUUID();
    database.exec("BEGIN IMMEDIATE");
    addKey.run(
      `key_${id}`,
      `alone ${id}`,
      at,
      "key_0000000000000000000000",
      createHash("sha256").update(id).digest(),
      id.slice(-4),
    );
    addEvent.run(at, "key_0000000000000000000000", id, `key_${id}`, `alone ${id}`);
    database.exec("COMMIT");
    count++;
  }
  database.close();
  return count / seconds;
}

/** Resident memory of a process in bytes. */
async function memoryOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout)) * 1024;
}

/** One line of the table. */
function row(title: string, value: string, ratio: number, wanted: string): void {
  console.log(`| ${title} | ${value} | ${ratio.toFixed(2)} | ${wanted} |`);
}

function perSecond(value: number): string {
  return `${Math.round(value)}/s`;
}

/** Bare `Deno.serve`, and `serve` over few and many keys, on SQLite and, where there is a server, on PostgreSQL. */
async function benchReading(bare: string, program: string, workspace: string, rounds: number): Promise<void> {
  const postgres = await startPostgres();
  const subjects: Subject[] = [];
  try {
    const add = async (title: string, env: Readonly<Record<string, string>>, fill: () => void | Promise<void>) => {
      const key = await createAdmin(program, env);
      await fill();
      const script = await writeMeScript(`${workspace}/${subjects.length}.lua`, key);
      subjects.push(await start(title, [program, "serve", "--port", "0"], script, env));
    };
    const script = await writeMeScript(`${workspace}/bare.lua`, "none");
    subjects.push(await start("bare `Deno.serve`", [bare], script));
    for (const count of [FEW, MANY]) {
      const directory = `${workspace}/${count}`;
      // deno-lint-ignore no-await-in-loop -- one at a time: each takes memory and disk
      await add(
        `SQLite, ${count} keys`,
        { SERVICE_API_DATA_DIR: directory },
        () => fillSqlite(`${directory}/keys.db`, count),
      );
    }
    for (const count of postgres.kind === "running" ? [FEW, MANY] : []) {
      if (postgres.kind !== "running") break;
      const { server } = postgres;
      const database = `bench_${count}`;
      // deno-lint-ignore no-await-in-loop -- as above
      await server.execute("postgres", `CREATE DATABASE ${database} OWNER service`);
      const { host, port, user, password } = server.address(database);
      const env = { SERVICE_API_DATABASE_URL: `postgres://${user}@${host}:${port}/${database}`, PGPASSWORD: password };
      // deno-lint-ignore no-await-in-loop -- as above
      await add(`PostgreSQL, ${count} keys`, env, () => fillPostgres(server, database, count));
    }
    const [bareRate = NaN, fewRate = NaN, manyRate = NaN, fewOnPostgres, manyOnPostgres = NaN] = await compare(
      subjects,
      rounds,
    );
    row("bare `Deno.serve`", perSecond(bareRate), 1, "");
    row(`\`me\`, SQLite, ${FEW} keys`, perSecond(fewRate), fewRate / bareRate, "0.15 of bare; 0.25 looked for");
    row(`\`me\`, SQLite, ${MANY} keys`, perSecond(manyRate), manyRate / fewRate, `0.9 of ${FEW} keys`);
    if (fewOnPostgres === undefined) return console.log("\nPostgreSQL: there is no server.");
    row(`\`me\`, PostgreSQL, ${FEW} keys`, perSecond(fewOnPostgres), fewOnPostgres / bareRate, "of bare");
    row(
      `\`me\`, PostgreSQL, ${MANY} keys`,
      perSecond(manyOnPostgres),
      manyOnPostgres / fewOnPostgres,
      `0.9 of ${FEW} keys`,
    );
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
    if (postgres.kind === "running") await postgres.server.remove();
  }
}

/** Creates through `serve`, against the same inserts through `node:sqlite` alone. */
async function benchCreating(program: string, workspace: string, rounds: number): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/creating` };
  const script = await writeCreateScript(`${workspace}/create.lua`, await createAdmin(program, env));
  await createAdmin(program, { SERVICE_API_DATA_DIR: `${workspace}/alone` });
  const server = await start("create", [program, "serve", "--port", "0"], script, env);
  try {
    const alone: number[] = [];
    const served: number[] = [];
    for (let round = 0; round < rounds; round++) {
      alone.push(insertAlone(`${workspace}/alone/keys.db`, ROUND));
      // deno-lint-ignore no-await-in-loop -- they take turns
      served.push((await load(server, ROUND)).perSecond);
    }
    row("inserts through `node:sqlite` alone", perSecond(median(alone)), 1, "");
    row("durable creates, SQLite", perSecond(median(served)), median(served) / median(alone), "0.8");
  } finally {
    await server.stop();
  }
}

/** What `serve` holds after the first 10,000 requests and after a million more. */
async function benchMemory(program: string, workspace: string): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/memory` };
  const script = await writeMeScript(`${workspace}/memory.lua`, await createAdmin(program, env));
  const server = await start("memory", [program, "serve", "--port", "0"], script, env);
  try {
    const untilCount = async (wanted: number, seconds: number): Promise<number> => {
      let count = 0;
      // deno-lint-ignore no-await-in-loop -- one load after the other
      while (count < wanted) count += (await load(server, seconds)).count;
      return await memoryOf(server.pid);
    };
    const early = await untilCount(10_000, 1);
    const late = await untilCount(1_000_000, 10);
    const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    row("memory after 10,000 requests", megabytes(early), 1, "");
    row("memory after 1,000,000 more", megabytes(late), late / early, "at most 1.1");
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const rounds = Number(Deno.args[0] ?? 5);
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bench-" });
  try {
    await Deno.writeTextFile(`${workspace}/bare.ts`, BARE_SERVER);
    const [program = ""] = await compile({ output: workspace });
    const [bare = ""] = await compile({ main: `${workspace}/bare.ts`, name: "bare", output: workspace });
    console.log("| load | median | ratio | wanted |");
    console.log("|---|---|---|---|");
    await benchReading(bare, program, workspace, rounds);
    await benchCreating(program, workspace, rounds);
    await benchMemory(program, workspace);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
