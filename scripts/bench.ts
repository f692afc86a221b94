/**
 * Measures the executable against an empty program, compiled alike, in the same run: whole processes in turn,
 * medians, ratios to the empty program. Beside them `curl`, which sends the same request, and `gh`, a program in Go of
 * about the same kind, where they are installed.
 *
 *   deno task bench [ROUNDS]
 *
 * What a person sees is measured at a pseudo-terminal, which takes `script` of util-linux.
 *
 * Peak memory is read with GNU time (`/usr/bin/time`, Debian's package `time`) where it is there, and a start from
 * disk is one after GNU dd has told the kernel to forget the file.
 */
import { startAtTerminal } from "./at_terminal.ts";
import { type Bundle, bundle, compileBundle, readTarget } from "./bundle.ts";
import { fillSqlite } from "./fill_store.ts";
import { median } from "./median.ts";
import { createAdmin, startServer } from "./running_server.ts";

interface Case {
  readonly title: string;
  readonly executable: string;
  /** The arguments of the given round. */
  readonly args: (round: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The most that the median may be, in multiples of the empty program's. */
  readonly target?: number;
  /** The same in multiples of curl's. */
  readonly targetToCurl?: number;
}

interface Row extends Case {
  /** Bytes. */
  readonly size: number;
  /** Milliseconds. */
  readonly time: number;
  /** Milliseconds when the executable has to be read from disk. */
  readonly fromDisk: number;
  /** Megabytes (10^6 bytes), or NaN. */
  readonly memory: number;
}

const GNU_TIME = "/usr/bin/time";
const WARM_UP = 3;

/** Runs a case once, under `wrapper` if there is one, and returns what it says on standard error. */
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
    stdout: "null",
    stderr: "piped",
  }).output();
  const words = new TextDecoder().decode(stderr);
  if (!success) throw new Error(`${title}: ${words}`);
  return words;
}

/** Milliseconds that one run takes. */
async function elapsed(measured: Case, round: number): Promise<number> {
  const start = performance.now();
  await run(measured, round);
  return performance.now() - start;
}

/** Peak resident memory of one run in bytes. */
async function peakMemory(measured: Case, round: number): Promise<number> {
  return Number((await run(measured, round, [GNU_TIME, "-f", "%M"])).trim().split("\n").at(-1)) * 1024;
}

/** A program by its path, or by its name where Debian installs it; `undefined`: it is not there. */
async function find(program: string): Promise<string | undefined> {
  const path = program.startsWith("/") ? program : `/usr/bin/${program}`;
  return await Deno.stat(path).then(() => path, () => undefined);
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

/** Has the kernel forget what it holds of a file in memory. */
async function forget(path: string): Promise<void> {
  await new Deno.Command("dd", { args: [`if=${path}`, "iflag=nocache", "count=0", "status=none"] }).output();
}

/** How often what takes long or varies little is measured. */
const FEW_ROUNDS = 7;

async function measure(cases: readonly Case[], rounds: number): Promise<readonly Row[]> {
  const newLists = (): Map<Case, number[]> => new Map(cases.map((measured) => [measured, []]));
  const [times, fromDisk, peaks] = [newLists(), newLists(), newLists()];
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const measured of cases) {
      // deno-lint-ignore no-await-in-loop -- processes that are timed must not overlap
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
      await forget(measured.executable);
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
  console.log("| run | file | median | to the empty one | at most | to curl | at most | from disk | peak memory |");
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

/** What is in the bundles, by package. */
function printContents({ contents: { packages, own, glue } }: Bundle): void {
  console.log("\n| in the bundles | KB |");
  console.log("|---|---|");
  const rows = packages.map(({ name, version, bytes }) => [`${name} ${version}`, bytes] as const)
    .toSorted(([, one], [, other]) => other - one);
  const all = [["the program itself", own], ...rows, ["between them", glue]] as const;
  for (const [title, bytes] of all) console.log(`| ${title} | ${(bytes / 1e3).toFixed(1)} |`);
  console.log(`| all | ${(all.reduce((sum, [, bytes]) => sum + bytes, 0) / 1e3).toFixed(1)} |`);
}

/** How long it takes at a terminal until a program has drawn something that matches, in milliseconds. */
async function untilDrawn(command: string, pattern: RegExp, env: Readonly<Record<string, string>>): Promise<number> {
  const start = performance.now();
  const terminal = startAtTerminal(command, env);
  await terminal.until(pattern);
  const time = performance.now() - start;
  await terminal.interrupt();
  return time;
}

/** Medians of the first question, against an empty program at a terminal too. */
async function measureFirstQuestion(program: string, empty: string, rounds: number): Promise<void> {
  const newTimes = (): number[] => [];
  const runs = [
    { command: "echo ready", pattern: /ready/, times: newTimes() },
    { command: `${empty}; echo ready`, pattern: /ready/, times: newTimes() },
    { command: `${program} apikey --create`, pattern: /Name/, times: newTimes() },
  ];
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const { command, pattern, times } of runs) {
      // deno-lint-ignore no-await-in-loop -- processes that are timed must not overlap
      const time = await untilDrawn(command, pattern, { SERVICE_API_DATA_DIR: "/nonexistent" });
      if (round >= 0) times.push(time);
    }
  }
  const [terminal = NaN, emptyThere = NaN, question = NaN] = runs.map(({ times }) => median(times));
  const ratio = (question - terminal) / (emptyThere - terminal);
  console.log(
    `\nThe first question is on the screen after ${(question - terminal).toFixed(1)} ms, the terminal's own time ` +
      `left out: ${ratio.toFixed(2)} empty programs; at most 2.5.`,
  );
}

/** How many keys the list has whose keystrokes are measured. */
const LIST_LENGTH = 10_000;

/** The median of keystrokes that filter a list of keys, from key to screen. */
async function measureKeystrokes(program: string, store: string): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: store };
  await createAdmin(program, env);
  fillSqlite(`${store}/keys.db`, LIST_LENGTH);
  const terminal = startAtTerminal(`${program} apikey --delete`, env);
  await terminal.until(/selected/);
  const times: number[] = [];
  for (const key of "filled999\x7f\x7f\x7f12\x7f\x7f3\x7f\x7f4") {
    const start = performance.now();
    // deno-lint-ignore no-await-in-loop -- one key after the other
    await terminal.type(key);
    // deno-lint-ignore no-await-in-loop -- as above
    await terminal.until(/selected/);
    times.push(performance.now() - start);
  }
  await terminal.interrupt();
  console.log(
    `A keystroke in the list of ${LIST_LENGTH} keys to delete is on the screen after ${median(times).toFixed(1)} ms, ` +
      `the slowest after ${Math.max(...times).toFixed(1)} ms; at most 50 ms.`,
  );
}

const CURL = "curl, the same request";

/** The request of `apikey --create`, as curl sends it. */
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

async function main(): Promise<void> {
  const rounds = Number(Deno.args[0] ?? 41);
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bench-" });
  try {
    const target = readTarget(Deno.build.target);
    const made = await bundle(`${workspace}/bundle`);
    const program = `${workspace}/service-api`;
    await compileBundle(made, target, program);
    await Deno.writeTextFile(`${workspace}/empty.ts`, "");
    const empty = `${workspace}/empty`;
    await compileBundle(await bundle(`${workspace}/empty-bundle`, `${workspace}/empty.ts`), target, empty);

    const remoteStore = `${workspace}/remote`;
    const store = { SERVICE_API_DATA_DIR: remoteStore };
    const key = await createAdmin(program, store);
    // A file of its own: what runs is not forgotten.
    await Deno.copyFile(program, `${workspace}/server`);
    const server = await startServer([`${workspace}/server`, "serve", "--port", "0"], store);
    const createArgs = (round: number): readonly string[] => [
      ...["apikey", "--create", "--name", `bench ${round + WARM_UP}`],
      ...["--permissions", "DOCKER:READ_ANY", "--json"],
    ];
    const remote = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key };
    const [curl, gh] = await Promise.all([find("curl"), find("gh")]);
    try {
      print(
        await measure([
          { title: "empty program", executable: empty, args: () => [] },
          { title: "--version", executable: program, args: () => ["--version"], target: 1.25 },
          { title: "--help", executable: program, args: () => ["--help"], target: 1.25 },
          {
            title: "create over HTTP",
            executable: program,
            args: createArgs,
            env: remote,
            target: 1.4,
            targetToCurl: 4,
          },
          {
            title: "create embedded",
            executable: program,
            args: createArgs,
            env: { SERVICE_API_DATA_DIR: `${workspace}/embedded` },
            target: 2.3,
          },
          ...(curl
            ? [{ title: CURL, executable: curl, args: (round: number) => curlArgs(server.url, key, round) }]
            : []),
          ...(gh ? [{ title: "gh --version", executable: gh, args: () => ["--version"] }] : []),
        ], rounds),
      );
    } finally {
      await server.stop();
    }
    printContents(made);
    const above = await sizeOf(program) - await sizeOf(empty);
    console.log(`\nThe executable is ${(above / 1e6).toFixed(2)} MB above an empty program; at most 0.8 MB.`);
    await measureFirstQuestion(program, empty, rounds);
    await measureKeystrokes(program, `${workspace}/list`);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
