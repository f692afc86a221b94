/**
 * Measures `serve` under load from `wrk` with 16 connections, and compares it with bare `Deno.serve` and bare
 * `node:sqlite`.
 *
 *   deno task bench-serve [ROUNDS]
 *
 * Measures each rate in several rounds (by default 5) and prints the median. Measures the memory of `serve` after 10,000
 * requests and after a million more. If a PostgreSQL server can be started on this machine, measures `serve` on it too.
 */
import { startPostgres } from "../../tests/store/postgres/server.ts";
import { compile } from "../compile.ts";
import { fillPostgres, fillSqlite } from "../fill_store.ts";
import { measureInserts } from "./inserts.ts";
import { median } from "./median.ts";
import { createAdmin, startServer } from "./running_server.ts";
import { ROUND, runWrk, type Subject, writeCreateScript, writeMeScript } from "./wrk.ts";

const FEW = 1000;
const MANY = 1_000_000;

const BARE_SERVER = `
const body = JSON.stringify({ data: { me: { id: "key_0000000000000000000000", name: "bench" } } });
const headers = { "content-type": "application/json; charset=utf-8" };
const onListen = ({ port }) => console.log("http://127.0.0.1:" + port + "/graphql");
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, () => new Response(body, { headers }));
`;

async function start(
  title: string,
  command: readonly string[],
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Subject> {
  return { title, script, ...await startServer(command, env) };
}

/** The median requests per second of each subject, in the order of `subjects`. */
async function compare(subjects: readonly Subject[], rounds: number): Promise<readonly number[]> {
  const results = subjects.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [i, subject] of subjects.entries()) {
      // deno-lint-ignore no-await-in-loop -- measurements must not overlap
      const { perSecond } = await runWrk(subject, ROUND);
      if (round >= 0) results[i]?.push(perSecond);
    }
  }
  return results.map(median);
}

/** The resident memory of a process, in bytes. */
async function memoryOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout)) * 1024;
}

/** Prints a row of the table. */
function printRow(title: string, value: string, ratio: number, target: string): void {
  console.log(`| ${title} | ${value} | ${ratio.toFixed(2)} | ${target} |`);
}

function perSecond(value: number): string {
  return `${Math.round(value)}/s`;
}

/** Measures bare `Deno.serve`, and `serve` with few and many keys on SQLite and, if available, on PostgreSQL. */
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
      // deno-lint-ignore no-await-in-loop -- one at a time, to keep the order of `subjects`
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
      // deno-lint-ignore no-await-in-loop -- one database at a time
      await server.execute("postgres", `CREATE DATABASE ${database} OWNER service`);
      const { host, port, user, password } = server.address(database);
      const env = { SERVICE_API_DATABASE_URL: `postgres://${user}@${host}:${port}/${database}`, PGPASSWORD: password };
      // deno-lint-ignore no-await-in-loop -- as above
      await add(`PostgreSQL, ${count} keys`, env, () => fillPostgres(server, database, count));
    }
    const [bareRate = NaN, fewRate = NaN, manyRate = NaN, fewOnPostgres = NaN, manyOnPostgres = NaN] = await compare(
      subjects,
      rounds,
    );
    printRow("bare `Deno.serve`", perSecond(bareRate), 1, "");
    printRow(
      `\`me\`, SQLite, ${FEW} keys`,
      perSecond(fewRate),
      fewRate / bareRate,
      "at least 0.15 × bare, ideally 0.25",
    );
    printRow(
      `\`me\`, SQLite, ${MANY} keys`,
      perSecond(manyRate),
      manyRate / fewRate,
      `at least 0.9 × the rate with ${FEW} keys`,
    );
    if (postgres.kind === "not running") return console.log(`\nPostgreSQL was not measured: ${postgres.reason}`);
    printRow(`\`me\`, PostgreSQL, ${FEW} keys`, perSecond(fewOnPostgres), fewOnPostgres / bareRate, "(ratio to bare)");
    printRow(
      `\`me\`, PostgreSQL, ${MANY} keys`,
      perSecond(manyOnPostgres),
      manyOnPostgres / fewOnPostgres,
      `at least 0.9 × the rate with ${FEW} keys`,
    );
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
    if (postgres.kind === "running") await postgres.server.remove();
  }
}

/** Measures how many keys per second `serve` creates, compared with the same inserts through bare `node:sqlite`. */
async function benchCreating(program: string, workspace: string, rounds: number): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/creating` };
  const script = await writeCreateScript(`${workspace}/create.lua`, await createAdmin(program, env));
  await createAdmin(program, { SERVICE_API_DATA_DIR: `${workspace}/bare` });
  const server = await start("create", [program, "serve", "--port", "0"], script, env);
  try {
    const bare: number[] = [];
    const served: number[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push(measureInserts(`${workspace}/bare/keys.db`, ROUND));
      // deno-lint-ignore no-await-in-loop -- measurements must not overlap
      served.push((await runWrk(server, ROUND)).perSecond);
    }
    printRow("inserts through bare `node:sqlite`", perSecond(median(bare)), 1, "");
    printRow("durable creates, SQLite", perSecond(median(served)), median(served) / median(bare), "at least 0.8");
  } finally {
    await server.stop();
  }
}

/** Measures the memory of `serve` after the first 10,000 requests and after a million more. */
async function benchMemory(program: string, workspace: string): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/memory` };
  const script = await writeMeScript(`${workspace}/memory.lua`, await createAdmin(program, env));
  const server = await start("memory", [program, "serve", "--port", "0"], script, env);
  try {
    const memoryAfter = async (requests: number, seconds: number): Promise<number> => {
      let count = 0;
      // deno-lint-ignore no-await-in-loop -- measurements must not overlap
      while (count < requests) count += (await runWrk(server, seconds)).count;
      return await memoryOf(server.pid);
    };
    const first = await memoryAfter(10_000, 1);
    const later = await memoryAfter(1_000_000, 10);
    const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    printRow("memory after 10,000 requests", megabytes(first), 1, "");
    printRow("memory after 1,000,000 more", megabytes(later), later / first, "at most 1.1");
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
    console.log("| measurement | value | ratio | target |");
    console.log("|---|---|---|---|");
    await benchReading(bare, program, workspace, rounds);
    await benchCreating(program, workspace, rounds);
    await benchMemory(program, workspace);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
