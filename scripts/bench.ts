/**
 * Measures the executable against an empty program, compiled alike, in the same run: whole processes in turn,
 * medians, ratios to the empty program.
 *
 *   deno task bench [ROUNDS]
 *
 * What a person sees is measured at a pseudo-terminal, which takes `script` of util-linux.
 *
 * Peak memory is read with GNU time (`/usr/bin/time`, Debian's package `time`) where it is there.
 */
import { startAtTerminal } from "./at_terminal.ts";
import { compile } from "./compile.ts";
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
}

interface Row {
  readonly title: string;
  /** Milliseconds. */
  readonly time: number;
  /** Megabytes (10^6 bytes), or NaN. */
  readonly memory: number;
  readonly target: number | undefined;
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

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

async function measure(cases: readonly Case[], rounds: number): Promise<readonly Row[]> {
  const times = new Map<Case, number[]>(cases.map((measured) => [measured, []]));
  const peaks = new Map<Case, number[]>(cases.map((measured) => [measured, []]));
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const measured of cases) {
      // deno-lint-ignore no-await-in-loop -- processes that are timed must not overlap
      const time = await elapsed(measured, round);
      if (round >= 0) times.get(measured)?.push(time);
    }
  }
  const memoryRounds = await exists(GNU_TIME) ? 5 : 0;
  for (let round = rounds; round < rounds + memoryRounds; round++) {
    for (const measured of cases) {
      // deno-lint-ignore no-await-in-loop -- as above
      peaks.get(measured)?.push(await peakMemory(measured, round));
    }
  }
  return cases.map((measured) => ({
    title: measured.title,
    time: median(times.get(measured) ?? []),
    memory: median(peaks.get(measured) ?? []) / 1e6,
    target: measured.target,
  }));
}

function print(rows: readonly Row[]): void {
  const [empty] = rows;
  if (empty === undefined) return;
  console.log("| run | median | ratio | at most | peak memory | ratio |");
  console.log("|---|---|---|---|---|---|");
  for (const { title, time, memory, target } of rows) {
    const ratios = [time / empty.time, memory / empty.memory].map((ratio) => ratio.toFixed(2));
    console.log(
      `| ${title} | ${time.toFixed(1)} ms | ${ratios[0]} | ${target ?? ""} | ${memory.toFixed(1)} MB | ${ratios[1]} |`,
    );
  }
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
  await terminal.until(/ticked/);
  const times: number[] = [];
  for (const key of "filled999\x7f\x7f\x7f12\x7f\x7f3\x7f\x7f4") {
    const start = performance.now();
    // deno-lint-ignore no-await-in-loop -- one key after the other
    await terminal.type(key);
    // deno-lint-ignore no-await-in-loop -- as above
    await terminal.until(/ticked/);
    times.push(performance.now() - start);
  }
  await terminal.interrupt();
  console.log(
    `A keystroke in the list of ${LIST_LENGTH} keys to delete is on the screen after ${median(times).toFixed(1)} ms, ` +
      `the slowest after ${Math.max(...times).toFixed(1)} ms; at most 50 ms.`,
  );
}

async function main(): Promise<void> {
  const rounds = Number(Deno.args[0] ?? 41);
  const workspace = await Deno.makeTempDir({ prefix: "service-api-bench-" });
  try {
    await Deno.writeTextFile(`${workspace}/empty.ts`, "");
    const [program = ""] = await compile({ output: workspace });
    const [empty = ""] = await compile({ main: `${workspace}/empty.ts`, name: "empty", output: workspace });
    const remoteStore = `${workspace}/remote`;
    const store = { SERVICE_API_DATA_DIR: remoteStore };
    const key = await createAdmin(program, store);
    const server = await startServer([program, "serve", "--port", "0"], store);
    const createArgs = (round: number): readonly string[] => [
      ...["apikey", "--create", "--name", `bench ${round + WARM_UP}`],
      ...["--permissions", "DOCKER:READ_ANY", "--json"],
    ];
    const remote = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key };
    try {
      print(
        await measure([
          { title: "empty program", executable: empty, args: () => [] },
          { title: "--version", executable: program, args: () => ["--version"], target: 1.25 },
          { title: "--help", executable: program, args: () => ["--help"], target: 1.25 },
          { title: "create over HTTP", executable: program, args: createArgs, env: remote, target: 1.7 },
          {
            title: "create embedded",
            executable: program,
            args: createArgs,
            env: { SERVICE_API_DATA_DIR: `${workspace}/embedded` },
            target: 2.3,
          },
        ], rounds),
      );
    } finally {
      await server.stop();
    }
    await measureFirstQuestion(program, empty, rounds);
    await measureKeystrokes(program, `${workspace}/list`);
    const [programSize, emptySize] = (await Promise.all([Deno.stat(program), Deno.stat(empty)])).map(({ size }) =>
      size
    );
    const above = (programSize ?? NaN) - (emptySize ?? NaN);
    console.log(`\nThe executable is ${(above / 1e6).toFixed(2)} MB above an empty program; at most 1.5 MB.`);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

await main();
