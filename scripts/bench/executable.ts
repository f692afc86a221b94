/**
 * Measures the time, memory and size of the executable, and compares them with an empty program that is compiled in the
 * same way.
 *
 *   deno task bench [ROUNDS]
 *
 * Runs the programs in turn and prints medians. Also measures `curl` with the same request if `curl` is installed, and
 * `gh`, a similar program in Go, if `gh` is installed. Measuring prompts needs `script` (util-linux). Measuring peak
 * memory needs GNU time (`/usr/bin/time`). Measuring starts from disk needs GNU dd, which drops the executable from the
 * kernel's cache.
 */
import { type Bundle, bundle, compileBundle, readTarget } from "../bundle.ts";
import { describe, findRuntimeBase } from "../runtime_base.ts";
import { median } from "./median.ts";
import { measureFirstPrompt, measureKeystrokes } from "./prompts.ts";
import { createAdmin, startServer } from "./running_server.ts";

interface Case {
  readonly title: string;
  readonly executable: string;
  /** The arguments in the given round. */
  readonly args: (round: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The largest acceptable ratio to the empty program. */
  readonly target?: number;
  /** The largest acceptable ratio to curl. */
  readonly targetToCurl?: number;
}

interface Row extends Case {
  /** Bytes. */
  readonly size: number;
  /** Milliseconds. */
  readonly time: number;
  /** Milliseconds for a run that reads the executable from disk, because it is not in the kernel's cache. */
  readonly fromDisk: number;
  /** Peak memory in megabytes (10^6 bytes). NaN if GNU time is not installed. */
  readonly memory: number;
}

const GNU_TIME = "/usr/bin/time";
const WARM_UP = 3;

/** The number of rounds for measurements that are slow or vary little. */
const FEW_ROUNDS = 7;

/** Runs a case once, optionally under a wrapper command, for example GNU time. Returns the standard error. */
async function run(
  { title, executable, args, env = {} }: Case,
  round: number,
  wrapper: readonly string[] = [],
): Promise<string> {
  const [program = "", ...rest] = [...wrapper, executable, ...args(round)];
  const { success, stderr } = await new Deno.Command(program, {
    args: rest,
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder().decode(stderr);
  if (!success) throw new Error(`${title}: ${text}`);
  return text;
}

/** Runs a case once and returns the milliseconds that it took. */
async function elapsed(measured: Case, round: number): Promise<number> {
  const start = performance.now();
  await run(measured, round);
  return performance.now() - start;
}

/** Runs a case once and returns its peak resident memory in bytes. */
async function peakMemory(measured: Case, round: number): Promise<number> {
  return Number((await run(measured, round, [GNU_TIME, "-f", "%M"])).trim().split("\n").at(-1)) * 1024;
}

/** Finds a program by its path or by its name in /usr/bin. Returns `undefined` if it is not installed. */
async function find(program: string): Promise<string | undefined> {
  const path = program.startsWith("/") ? program : `/usr/bin/${program}`;
  return await Deno.stat(path).then(() => path, () => undefined);
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

/** Drops a file from the kernel's cache. */
async function dropFromCache(path: string): Promise<void> {
  await new Deno.Command("dd", { args: [`if=${path}`, "iflag=nocache", "count=0", "status=none"] }).output();
}

async function measure(cases: readonly Case[], rounds: number): Promise<readonly Row[]> {
  const newLists = (): Map<Case, number[]> => new Map(cases.map((measured) => [measured, []]));
  const [times, fromDisk, peaks] = [newLists(), newLists(), newLists()];
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const measured of cases) {
      // deno-lint-ignore no-await-in-loop -- timed processes must not overlap
      const time = await elapsed(measured, round);
      if (round >= 0) times.get(measured)?.push(time);
    }
  }
  const hasGnuTime = await find(GNU_TIME) !== undefined;
  for (let round = rounds; round < rounds + FEW_ROUNDS; round++) {
    for (const measured of cases) {
      // deno-lint-ignore no-await-in-loop -- as above
      if (hasGnuTime) peaks.get(measured)?.push(await peakMemory(measured, 2 * round));
      // deno-lint-ignore no-await-in-loop -- as above
      await dropFromCache(measured.executable);
      // deno-lint-ignore no-await-in-loop -- as above
      fromDisk.get(measured)?.push(await elapsed(measured, 2 * round + 1));
    }
  }
  return await Promise.all(cases.map(async (measured) => ({
    ...measured,
    size: await sizeOf(measured.executable),
    time: median(times.get(measured) ?? []),
    fromDisk: median(fromDisk.get(measured) ?? []),
    memory: median(peaks.get(measured) ?? []) / 1e6,
  })));
}

function print(rows: readonly Row[]): void {
  const [empty] = rows;
  const curl = rows.find(({ title }) => title === CURL);
  if (empty === undefined) return;
  console.log("| command | size | median | × empty | target | × curl | target | from disk | peak memory |");
  console.log("|---|---|---|---|---|---|---|---|---|");
  for (const { title, size, time, fromDisk, memory, target, targetToCurl } of rows) {
    const cells = [
      title,
      `${(size / 1e6).toFixed(1)} MB`,
      `${time.toFixed(1)} ms`,
      (time / empty.time).toFixed(2),
      target ?? "",
      curl === undefined ? "" : (time / curl.time).toFixed(2),
      targetToCurl ?? "",
      `${fromDisk.toFixed(0)} ms`,
      `${memory.toFixed(1)} MB`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

/** Prints the size of each package in the bundles. */
function printContents({ contents: { packages, own, glue } }: Bundle): void {
  console.log("\n| in the bundles | KB |");
  console.log("|---|---|");
  const rows = packages.map(({ name, version, bytes }) => [`${name} ${version}`, bytes] as const)
    .toSorted(([, one], [, other]) => other - one);
  const all = [["service-api", own], ...rows, ["added by the bundler", glue]] as const;
  for (const [title, bytes] of all) console.log(`| ${title} | ${(bytes / 1e3).toFixed(1)} |`);
  console.log(`| total | ${(all.reduce((sum, [, bytes]) => sum + bytes, 0) / 1e3).toFixed(1)} |`);
}

const CURL = "curl, same request";

/** The arguments with which curl sends the request of `apikey --create`. */
function curlArgs(url: string, key: string, round: number): readonly string[] {
  const query = "mutation($input: CreateApiKeyInput!) { apiKey { create(input: $input) { id key name } } }";
  const permissions = [{ resource: "DOCKER", actions: ["READ_ANY"] }];
  const body = { query, variables: { input: { name: `curl ${round + WARM_UP}`, permissions } } };
  const headers = [`authorization: Bearer ${key}`, "content-type: application/json"];
  return [
    ...["--silent", "--show-error", "--fail"],
    ...headers.flatMap((header) => ["--header", header]),
    ...["--data", JSON.stringify(body), url],
  ];
}

const createArgs = (round: number): readonly string[] => [
  ...["apikey", "--create", "--name", `bench ${round + WARM_UP}`],
  ...["--permissions", "DOCKER:READ_ANY", "--json"],
];

/**
 * Measures the program with a server on this machine and with the embedded server, measures the other programs, and
 * prints a table.
 */
async function measureCommands(program: string, empty: string, workspace: string, rounds: number): Promise<void> {
  const store = { SERVICE_API_DATA_DIR: `${workspace}/remote` };
  const key = await createAdmin(program, store);
  // The server runs a copy, because the kernel cannot drop a running file from its cache.
  await Deno.copyFile(program, `${workspace}/server`);
  const server = await startServer([`${workspace}/server`, "serve", "--port", "0"], store);
  const remote = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key };
  const embedded = { SERVICE_API_DATA_DIR: `${workspace}/embedded` };
  const [curl, gh] = await Promise.all([find("curl"), find("gh")]);
  const cases: readonly Case[] = [
    { title: "empty program", executable: empty, args: () => [] },
    { title: "--version", executable: program, args: () => ["--version"], target: 1.2 },
    { title: "--help", executable: program, args: () => ["--help"], target: 1.25 },
    { title: "create over HTTP", executable: program, args: createArgs, env: remote, target: 1.65, targetToCurl: 4 },
    { title: "create embedded", executable: program, args: createArgs, env: embedded, target: 2.2 },
    ...curl ? [{ title: CURL, executable: curl, args: (round: number) => curlArgs(server.url, key, round) }] : [],
    ...gh ? [{ title: "gh --version", executable: gh, args: () => ["--version"] }] : [],
  ];
  try {
    print(await measure(cases, rounds));
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const rounds = Number(Deno.args[0] ?? 41);
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bench-" });
  try {
    const target = readTarget(Deno.build.target);
    const base = await findRuntimeBase([target]);
    console.log(describe(base));
    const bundled = await bundle(`${workspace}/bundle`);
    const [program, empty] = [`${workspace}/service-api`, `${workspace}/empty`];
    await compileBundle(bundled, target, program, base);
    await Deno.writeTextFile(`${workspace}/empty.ts`, "");
    await compileBundle(await bundle(`${workspace}/empty-bundle`, `${workspace}/empty.ts`), target, empty, base);

    await measureCommands(program, empty, workspace, rounds);
    printContents(bundled);
    const difference = (await sizeOf(program) - await sizeOf(empty)) / 1e6;
    console.log(
      `\nThe executable is ${difference.toFixed(2)} MB larger than the empty program (target: at most 0.85 MB).`,
    );
    await measureFirstPrompt(program, empty, rounds);
    await measureKeystrokes(program, `${workspace}/list`);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
