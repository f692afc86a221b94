/** Measures what a user at a terminal waits for: the first prompt, and keystrokes in a long list. */
import { fillSqlite } from "../fill_store.ts";
import { median } from "./median.ts";
import { createAdmin } from "./running_server.ts";
import { startAtTerminal } from "./terminal.ts";

const WARM_UP = 3;

/** The number of keys in the list. */
const LIST_LENGTH = 10_000;

/** Starts a command at a terminal and returns the milliseconds until its output matches. */
async function timeUntil(command: string, pattern: RegExp, env: Readonly<Record<string, string>>): Promise<number> {
  const start = performance.now();
  const terminal = startAtTerminal(command, env);
  await terminal.until(pattern);
  const time = performance.now() - start;
  await terminal.interrupt();
  return time;
}

/** Prints the median time until the first prompt, compared with an empty program at a terminal. */
export async function measureFirstPrompt(program: string, empty: string, rounds: number): Promise<void> {
  const newTimes = (): number[] => [];
  const runs = [
    { command: "echo ready", pattern: /ready/, times: newTimes() },
    { command: `${empty}; echo ready`, pattern: /ready/, times: newTimes() },
    { command: `${program} apikey --create`, pattern: /Name/, times: newTimes() },
  ];
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const { command, pattern, times } of runs) {
      // deno-lint-ignore no-await-in-loop -- timed processes must not overlap
      const time = await timeUntil(command, pattern, { SERVICE_API_DATA_DIR: "/nonexistent" });
      if (round >= 0) times.push(time);
    }
  }
  const [terminal = NaN, emptyAtTerminal = NaN, prompt = NaN] = runs.map(({ times }) => median(times));
  const ratio = (prompt - terminal) / (emptyAtTerminal - terminal);
  console.log(
    `\nFirst prompt: ${(prompt - terminal).toFixed(1)} ms without the terminal's own time, ` +
      `${ratio.toFixed(2)} times an empty program (target: at most 2.5).`,
  );
}

/** Prints the median and slowest time that `apikey --delete` takes to redraw its list of keys after a keystroke. */
export async function measureKeystrokes(program: string, store: string): Promise<void> {
  const env = { SERVICE_API_DATA_DIR: store };
  await createAdmin(program, env);
  fillSqlite(`${store}/keys.db`, LIST_LENGTH);
  const terminal = startAtTerminal(`${program} apikey --delete`, env);
  // Matches the numbers of selected and listed keys, which the program prints each time it draws the list.
  const redrawn = /\(\d+ \w+, \d+/;
  await terminal.until(redrawn);
  const times: number[] = [];
  for (const key of "filled999\x7f\x7f\x7f12\x7f\x7f3\x7f\x7f4") {
    const start = performance.now();
    // deno-lint-ignore no-await-in-loop -- the program handles one keystroke at a time
    await terminal.type(key);
    // deno-lint-ignore no-await-in-loop -- as above
    await terminal.until(redrawn);
    times.push(performance.now() - start);
  }
  await terminal.interrupt();
  console.log(
    `Keystroke in a list of ${LIST_LENGTH} keys: median ${median(times).toFixed(1)} ms, ` +
      `slowest ${Math.max(...times).toFixed(1)} ms (target: at most 50 ms).`,
  );
}
