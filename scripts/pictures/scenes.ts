/**
 * The scenes that the pictures show. A scene runs the program at a terminal and presses keys. It waits for symbols, for
 * example `?` and `✔`, and never for words. New wording in the program therefore needs no change here.
 */
import { run } from "../../src/cli/program.ts";
import { KEYS, type Screen } from "../../tests/program/screen.ts";
import { TerminalHost } from "../../tests/program/terminal_host.ts";

export interface Scene {
  /** The start of the file names. For example, `create` results in `create-light.svg` and `create-dark.svg`. */
  readonly name: string;
  readonly title: string;
  /** The width of the terminal, in characters. */
  readonly columns: number;
  /** @returns everything that was written to the terminal, with escape sequences */
  readonly play: (columns: number) => Promise<string>;
}

export const SCENES: readonly Scene[] = [
  {
    name: "create",
    title: "service-api apikey --create prompts for the details of a key, shows its rights and creates it",
    columns: 80,
    play: (columns) =>
      withStore(async (store) => {
        // The first key of a store would also show that the store is new.
        await expectSuccess(
          start(store, columns, "", ["apikey", "--create", "--name", "admin", "--roles", "ADMIN"]).code,
        );
        const { screen, code } = start(store, columns, "KEY=$(service-api apikey --create)", ["apikey", "--create"]);
        await answerUpToPermissions(screen);
        screen.press(..."docker:update", KEYS.tab, KEYS.enter);
        await promptAfter(screen, 4);
        screen.press("y");
        await expectSuccess(code);
        return screen.raw;
      }),
  },
  {
    name: "permissions",
    title: "service-api apikey --create shows a grid of resources and actions to select permissions in",
    columns: 80,
    play: (columns) =>
      withStore(async (store) => {
        const { screen, code } = start(store, columns, "KEY=$(service-api apikey --create)", ["apikey", "--create"]);
        await answerUpToPermissions(screen);
        screen.press(..."docker:update", KEYS.tab, KEYS.ctrlU);
        screen.press(KEYS.up, KEYS.up, KEYS.left, KEYS.left, KEYS.space);
        await screen.until(/\[◈\]/);
        const { raw } = screen;
        screen.press(KEYS.ctrlC);
        await code;
        return raw;
      }),
  },
  {
    name: "delete",
    title: "service-api apikey --delete lists the keys; two of them are selected",
    columns: 80,
    play: (columns) =>
      withStore(async (store) => {
        await createKeys(store);
        const { screen, code } = start(store, columns, "service-api apikey --delete", ["apikey", "--delete"]);
        await promptAfter(screen, 0);
        screen.press(KEYS.space, KEYS.down, KEYS.down, KEYS.space);
        await screen.until(/◉[^]*◉/);
        const { raw } = screen;
        screen.press(KEYS.ctrlC);
        await code;
        return raw;
      }),
  },
  {
    name: "help",
    title: "service-api -h lists the commands",
    columns: 80,
    play: (columns) =>
      withStore(async (store) => {
        const { screen, code } = start(store, columns, "service-api -h", ["-h"]);
        await expectSuccess(code);
        return screen.raw;
      }),
  },
];

/** The current time in every scene. */
const NOW = new Date("2026-03-02T09:30:00Z");

/** The directory of the store that the pictures show. */
const SHOWN_DIRECTORY = "/home/me/.local/share";

/** Runs a scene with an empty store and with repeatable random numbers. */
async function withStore(play: (directory: string) => Promise<string>): Promise<string> {
  const directory = await Deno.makeTempDir();
  const { getRandomValues } = crypto;
  crypto.getRandomValues = repeatableRandomValues();
  try {
    return (await play(directory)).replaceAll(directory, SHOWN_DIRECTORY);
  } finally {
    crypto.getRandomValues = getRandomValues;
    await Deno.remove(directory, { recursive: true });
  }
}

/** Returns a replacement for `crypto.getRandomValues`. Its values look random and are the same in every scene. */
function repeatableRandomValues(): <Values extends ArrayBufferView | null>(array: Values) => Values {
  let state = 1;
  return (array) => {
    if (array !== null) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      // The pseudo-random generator of Park and Miller.
      for (const index of bytes.keys()) bytes[index] = (state = state * 48271 % 2147483647) & 255;
    }
    return array;
  };
}

/** The height of the terminal, in lines: enough to show the choices, few enough for a README. */
const ROWS = 20;

interface RunningProgram {
  readonly screen: Screen;
  /** The exit code. */
  readonly code: Promise<number>;
}

/** Starts the program at a terminal that already shows the command line `typed`. */
function start(store: string, columns: number, typed: string, args: readonly string[], now = NOW): RunningProgram {
  const env = { XDG_DATA_HOME: store, NO_COLOR: "", TERM: "xterm-256color" };
  const isCaptured = typed.includes("$(");
  const host = new TerminalHost(args, { env, columns, rows: ROWS, showsOutput: !isCaptured });
  host.now = () => now;
  host.screen.write(`\x1b[2m$\x1b[22m \x1b[1m${typed}\x1b[22m\n`);
  return { screen: host.screen, code: run(host) };
}

async function expectSuccess(code: Promise<number>): Promise<void> {
  if (await code !== 0) throw new Error(`the program exited with ${await code}`);
}

/** Waits for the prompt after the given number of answered prompts. */
async function promptAfter(screen: Screen, answered: number): Promise<void> {
  await screen.until(new RegExp(`(?:^✔ [^]*?){${answered}}^\\? `, "m"));
}

async function answerUpToPermissions(screen: Screen): Promise<void> {
  await promptAfter(screen, 0);
  screen.press(..."ci deploy", KEYS.enter);
  await promptAfter(screen, 1);
  screen.press(..."deploys the web shop", KEYS.enter);
  await promptAfter(screen, 2);
  screen.press(..."viewer", KEYS.tab, KEYS.enter);
  await promptAfter(screen, 3);
}

const KEYS_TO_DELETE = [
  ["ci deploy", "DOCKER:UPDATE_ANY", "deploys the web shop"],
  ["nightly backup", "DISK:READ_ANY", "cron on db1"],
  ["ci test", "DOCKER:READ_ANY", "integration tests"],
  ["status page", "INFO:READ_ANY", "uptime of the web shop"],
] as const;

async function createKeys(store: string): Promise<void> {
  for (const [index, [name, permissions, description]] of KEYS_TO_DELETE.entries()) {
    const args = ["--create", "--name", name, "--permissions", permissions, "--description", description];
    const created = new Date(NOW.getTime() - (KEYS_TO_DELETE.length - index) * 12 * 86_400_000);
    // deno-lint-ignore no-await-in-loop -- creates the keys in this order
    await expectSuccess(start(store, 80, "", ["apikey", ...args], created).code);
  }
}
