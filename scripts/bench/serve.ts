/**
 * Measures `serve` under load from `wrk` with 16 connections, and compares it with bare `Deno.serve`, bare `node:http` and
 * bare `node:sqlite`.
 *
 *   deno task bench-serve [ROUNDS] [MINUTES]
 *
 * Measures each rate in several rounds (by default 5), in turn with the other rates, and prints the medians. Then measures
 * throughput and memory in the first and the last minute of a long load (by default 10 minutes). If a PostgreSQL server or
 * nginx can be started on this machine, measures `serve` with them too.
 */
import { makeSecret } from "../../src/apikey/secret.ts";
import { startPostgres } from "../../tests/store/postgres/server.ts";
import { compile } from "../compile.ts";
import { fillPostgres, fillSqlite } from "../fill_store.ts";
import { measureInserts } from "./inserts.ts";
import { median } from "./median.ts";
import { startNginx } from "./nginx.ts";
import { createAdmin, type RunningServer, startServer } from "./running_server.ts";
import {
  type Load,
  ROUND,
  runWrk,
  type Subject,
  writeCreateScript,
  writeGetScript,
  writeIntrospectScript,
  writeMeScript,
} from "./wrk.ts";

const FEW = 1000;
const MANY = 1_000_000;

const BARE_SERVE = `
const body = JSON.stringify({ data: { me: { id: "key_0000000000000000000000", name: "bench" } } });
const headers = { "content-type": "application/json; charset=utf-8" };
const onListen = ({ port }) => console.log("http://127.0.0.1:" + port + "/graphql");
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, () => new Response(body, { headers }));
`;

/** Answers with the status and the headers of `/verify`. */
const BARE_NODE = `
import { createServer } from "node:http";
const headers = {
  "x-api-key-id": "key_0000000000000000000000",
  "x-api-key-name": "admin",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-request-id": "00000000-0000-4000-8000-000000000000",
};
const server = createServer((_request, response) => response.writeHead(204, headers).end());
server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));
`;

/** V8 compiles the code of a server until it has answered several hundred thousand requests. */
const WARM_UP_ROUNDS = 3;

/** Returns the loads of each subject, in the order of `subjects`. The first rounds warm up the servers. */
async function measure(subjects: readonly Subject[], rounds: number): Promise<readonly (readonly Load[])[]> {
  const results = subjects.map((): Load[] => []);
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const [i, subject] of subjects.entries()) {
      // deno-lint-ignore no-await-in-loop -- measurements must not overlap
      const load = await runWrk(subject, ROUND);
      if (round >= 0) results[i]?.push(load);
    }
  }
  return results;
}

/** The resident memory of a process, in bytes. */
async function memoryOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout)) * 1024;
}

/** Prints a row of a table. */
function printRow(...cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

function printHead(...titles: readonly string[]): void {
  printRow(...titles);
  printRow(...titles.map(() => "---"));
}

function perSecond(value: number): string {
  return `${Math.round(value)}/s`;
}

/** A row of the table: a subject, and what its rate is compared with. */
interface Row {
  readonly subject: Subject;
  /** The title of the row whose rate is 1. */
  readonly comparedWith: string;
  readonly target: string;
}

const SERVE = "bare `Deno.serve`";
const NODE = "bare `node:http`";
const NGINX = "nginx alone";
const VERIFY = `\`/verify\`, SQLite, ${MANY} keys`;
const ME = `\`me\`, SQLite, ${FEW} keys`;

/** Measures all endpoints with few and many keys on SQLite and, if available, on PostgreSQL and behind nginx. */
async function benchReading(
  { serve, node, program }: { readonly serve: string; readonly node: string; readonly program: string },
  workspace: string,
  rounds: number,
): Promise<void> {
  const postgres = await startPostgres();
  const servers: RunningServer[] = [];
  const rows: Row[] = [];
  const scriptPath = (): string => `${workspace}/${rows.length}.lua`;
  const start = async (
    command: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningServer> => {
    const server = await startServer(command, env);
    servers.push(server);
    return server;
  };
  const add = (title: string, server: RunningServer, script: string, comparedWith = title, target = ""): void => {
    rows.push({ subject: { title, script, ...server, isRefused: title.startsWith("bad key") }, comparedWith, target });
  };
  const startFilled = async (
    env: Readonly<Record<string, string>>,
    fill: () => void | Promise<void>,
  ): Promise<{ readonly server: RunningServer; readonly key: string }> => {
    const key = await createAdmin(program, env);
    await fill();
    return { server: await start([program, "serve", "--port", "0", "--no-access-log"], env), key };
  };
  try {
    add(SERVE, await start([serve]), writeMeScript(scriptPath(), "none"));
    add(NODE, await start([node]), writeGetScript(scriptPath(), "/verify", "none"), SERVE);
    for (const count of [FEW, MANY]) {
      const directory = `${workspace}/${count}`;
      const env = { SERVICE_API_DATA_DIR: directory };
      // deno-lint-ignore no-await-in-loop -- one after the other, to keep the order of the rows
      const { server, key } = await startFilled(env, () => fillSqlite(`${directory}/keys.db`, count));
      const verify = `\`/verify\`, SQLite, ${count} keys`;
      add(verify, server, writeGetScript(scriptPath(), "/verify", key), NODE, "at least 0.7; p99 below 5 ms");
      const me = `\`me\`, SQLite, ${count} keys`;
      add(me, server, writeMeScript(scriptPath(), key), ...(me === ME ? [SERVE, "0.3"] : [ME, "at least 0.9"]));
      if (verify !== VERIFY) continue;
      add("`/introspect`, same store", server, writeIntrospectScript(scriptPath(), key), NODE);
      const target = "at least 0.83";
      const unknown = makeSecret(crypto.getRandomValues(new Uint8Array(32)));
      add("bad key, right checksum", server, writeGetScript(scriptPath(), "/verify", unknown), VERIFY, target);
      const mistyped = `${unknown.slice(0, -1)}${unknown.endsWith("0") ? "1" : "0"}`;
      add("bad key, wrong checksum", server, writeGetScript(scriptPath(), "/verify", mistyped), VERIFY, target);
      // deno-lint-ignore no-await-in-loop -- as above
      const nginx = await startNginx(`${workspace}/nginx`, server.url);
      if (nginx === undefined) continue;
      servers.push(nginx);
      add(NGINX, nginx, writeGetScript(scriptPath(), "/open/", key), SERVE);
      add("nginx with `auth_request`", nginx, writeGetScript(scriptPath(), "/guarded/", key), NGINX);
    }
    for (const count of postgres.kind === "running" ? [FEW, MANY] : []) {
      if (postgres.kind !== "running") break;
      const { server: database } = postgres;
      const name = `bench_${count}`;
      // deno-lint-ignore no-await-in-loop -- one database at a time
      await database.execute("postgres", `CREATE DATABASE ${name} OWNER service`);
      const { host, port, user, password } = database.address(name);
      const env = { SERVICE_API_DATABASE_URL: `postgres://${user}@${host}:${port}/${name}`, PGPASSWORD: password };
      // deno-lint-ignore no-await-in-loop -- as above
      const { server, key } = await startFilled(env, () => fillPostgres(database, name, count));
      const title = `PostgreSQL, ${count} keys`;
      add(`\`/verify\`, ${title}`, server, writeGetScript(scriptPath(), "/verify", key), NODE, "at least 0.4");
      add(`\`me\`, ${title}`, server, writeMeScript(scriptPath(), key), SERVE);
    }
    const loads = await measure(rows.map(({ subject }) => subject), rounds);
    const medianOf = (title: string, of: (load: Load) => number): number =>
      median((loads[rows.findIndex(({ subject }) => subject.title === title)] ?? []).map(of));
    printHead("measurement", "rate", "ratio", "to", "CPU per request", "p50", "p99", "target");
    for (const { subject: { title }, comparedWith, target } of rows) {
      const rate = medianOf(title, (load) => load.perSecond);
      const base = medianOf(comparedWith, (load) => load.perSecond);
      const cpu = `${medianOf(title, (load) => load.cpu).toFixed(1)} µs`;
      const [p50, p99] = [medianOf(title, (load) => load.p50), medianOf(title, (load) => load.p99)];
      printRow(
        title,
        perSecond(rate),
        (rate / base).toFixed(2),
        comparedWith,
        cpu,
        `${p50.toFixed(2)} ms`,
        `${p99.toFixed(2)} ms`,
        target,
      );
    }
    if (postgres.kind === "not running") console.log(`\nPostgreSQL was not measured: ${postgres.reason}`);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    if (postgres.kind === "running") await postgres.server.remove();
  }
}

/** Measures how many keys per second `serve` creates, compared with the same inserts through bare `node:sqlite`. */
async function benchCreating(program: string, workspace: string, rounds: number): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/creating` };
  const script = writeCreateScript(`${workspace}/create.lua`, await createAdmin(program, env));
  await createAdmin(program, { SERVICE_API_DATA_DIR: `${workspace}/bare` });
  const server = await startServer([program, "serve", "--port", "0", "--no-access-log"], env);
  try {
    const bare: number[] = [];
    const served: number[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push(measureInserts(`${workspace}/bare/keys.db`, ROUND));
      // deno-lint-ignore no-await-in-loop -- measurements must not overlap
      served.push((await runWrk({ title: "create", script, ...server }, ROUND)).perSecond);
    }
    const ratio = (median(served) / median(bare)).toFixed(2);
    printHead("measurement", "rate", "ratio", "target");
    printRow("inserts through bare `node:sqlite`", perSecond(median(bare)), "1.00", "");
    printRow("durable creates, SQLite", perSecond(median(served)), ratio, "at least 0.8");
  } finally {
    await server.stop();
  }
}

/** Compares throughput and memory of the first and the last minute of a long load on `/verify`. */
async function benchSoak(program: string, workspace: string, minutes: number): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: `${workspace}/soak` };
  const key = await createAdmin(program, env);
  const script = writeGetScript(`${workspace}/soak.lua`, "/verify", key);
  const server = await startServer([program, "serve", "--port", "0", "--no-access-log"], env);
  try {
    const rates: number[] = [];
    const memories: number[] = [];
    for (let minute = 0; minute < minutes; minute++) {
      // deno-lint-ignore no-await-in-loop -- one minute after the other
      rates.push((await runWrk({ title: "soak", script, ...server }, 60)).perSecond);
      // deno-lint-ignore no-await-in-loop -- as above
      memories.push(await memoryOf(server.pid));
    }
    const [firstRate = NaN, lastRate = NaN] = [rates[0], rates.at(-1)];
    const [first = NaN, last = NaN] = [memories[0], memories.at(-1)];
    const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    printHead("minute of `/verify`", "rate", "ratio", "memory", "ratio");
    printRow("1", perSecond(firstRate), "1.00", megabytes(first), "1.00");
    printRow(
      String(minutes),
      perSecond(lastRate),
      (lastRate / firstRate).toFixed(2),
      megabytes(last),
      (last / first).toFixed(2),
    );
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const [rounds = 5, minutes = 10] = Deno.args.map(Number);
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bench-" });
  const compileBare = async (name: string, code: string): Promise<string> => {
    await Deno.writeTextFile(`${workspace}/${name}.ts`, code);
    const [path = ""] = await compile({ main: `${workspace}/${name}.ts`, name, output: workspace });
    return path;
  };
  try {
    const [program = ""] = await compile({ output: workspace });
    const serve = await compileBare("bare_serve", BARE_SERVE);
    const node = await compileBare("bare_node", BARE_NODE);
    await benchReading({ serve, node, program }, workspace, rounds);
    console.log();
    await benchCreating(program, workspace, rounds);
    console.log();
    if (minutes > 0) await benchSoak(program, workspace, minutes);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
