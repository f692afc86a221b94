/**
 * A real terminal for tests: a program in a window of tmux. Tests type text, press keys, read the screen as text, and
 * wait until the screen matches a pattern. Each terminal has its own tmux server, socket and configuration, so the user's tmux
 * is not affected.
 *
 *     await using terminal = await openTerminal(["bash", "--norc"], { env: { PS1: "$ " } });
 *     await terminal.shows(/^\$$/);
 *     await terminal.type("echo hello");
 *     await terminal.press("Enter");
 *     await terminal.shows(/^hello$/m);
 */
import { command } from "../execute.ts";

/** How often to read the screen, when to press keys again, and how long to wait in total, in milliseconds. */
const INTERVAL = 25;
const AGAIN = 5_000;
const TIMEOUT = 180_000;

export interface TerminalOptions {
  /** The whole environment of the program. `PATH`, `TERM` and `LC_ALL` have defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory. The default is a new temporary directory. */
  readonly cwd?: string;
  /** @default 80 */
  readonly columns?: number;
  /** @default 24 */
  readonly rows?: number;
}

export interface Terminal extends AsyncDisposable {
  /** Types text. */
  type(text: string): Promise<void>;
  /** Pastes text. If the program has turned on bracketed paste mode, markers enclose the text. */
  paste(text: string): Promise<void>;
  /** Presses keys by their tmux names: `Tab`, `Enter`, `Escape`, `Up`, `C-c`, `BSpace`. */
  press(...keys: readonly string[]): Promise<void>;
  /** Changes the size of the window. */
  resize(columns: number, rows: number): Promise<void>;
  /** The text on the screen, without trailing spaces and without empty lines at the end. */
  screen(): Promise<string>;
  /** The text on the screen with escape sequences for colours. */
  styledScreen(): Promise<string>;
  /**
   * Waits until the screen matches.
   *
   * @param again keys to press again every 5 s until the screen matches
   * @returns the text on the screen
   * @throws {Error} with the text on the screen, after 180 s
   */
  shows(pattern: RegExp, ...again: readonly string[]): Promise<string>;
  /** Ends the program and the tmux server, and removes the temporary directory. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Hides the status line, keeps the window open after the program has ended, and forwards Escape at once. */
const CONFIGURATION = `
set -g status off
set -g remain-on-exit on
set -s escape-time 0
set -g default-terminal screen-256color
`;

/**
 * Opens a terminal and starts a program in it. tmux does not report exit statuses reliably. If you need the exit status,
 * run the program in a shell and print the status there.
 *
 * @throws {Error} if tmux fails, with its message
 */
export async function openTerminal(
  program: readonly string[],
  { env = {}, cwd, columns = 80, rows = 24 }: TerminalOptions = {},
): Promise<Terminal> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-terminal-" });
  const path = Deno.env.get("PATH") ?? "";
  // With -u, tmux captures text as UTF-8, whatever the locale of the program.
  const tmux = (...args: readonly string[]): Promise<string> =>
    command("tmux", ["-u", "-S", `${directory}/socket`, "-f", `${directory}/tmux.conf`, ...args], {
      env: { PATH: path, HOME: directory, LC_ALL: "C.UTF-8" },
      clearEnv: true,
    });
  const screen = async (): Promise<string> => (await tmux("capture-pane", "-p")).replaceAll(/ +$/gm, "").trimEnd();
  const close = async (): Promise<void> => {
    await tmux("kill-server").catch(() => {});
    await Deno.remove(directory, { recursive: true });
  };
  try {
    await Deno.writeTextFile(`${directory}/tmux.conf`, CONFIGURATION);
    const variables = { PATH: path, TERM: "screen-256color", LC_ALL: "C.UTF-8", ...env };
    const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", String(columns), "-y", String(rows)];
    await tmux("new-session", "-d", ...size, "-c", cwd ?? directory, "--", "env", "-i", ...assignments, ...program);
  } catch (error) {
    await close();
    throw error;
  }
  const press = async (...keys: readonly string[]): Promise<void> => {
    if (keys.length > 0) await tmux("send-keys", "--", ...keys);
  };
  return {
    type: async (text) => {
      // A semicolon at the end of an argument would end the tmux command.
      await tmux("send-keys", "-l", "--", text.replace(/;$/, "\\;"));
    },
    paste: async (text) => {
      await tmux("set-buffer", "--", text);
      await tmux("paste-buffer", "-p");
    },
    press,
    resize: async (columns, rows) => {
      await tmux("resize-window", "-x", String(columns), "-y", String(rows));
    },
    screen,
    styledScreen: () => tmux("capture-pane", "-p", "-e"),
    shows: async (pattern, ...again) => {
      const start = performance.now();
      for (let next = start + AGAIN;;) {
        // deno-lint-ignore no-await-in-loop -- polls the screen
        const shown = await screen();
        if (pattern.test(shown)) return shown;
        if (performance.now() > start + TIMEOUT) throw new Error(`${pattern} did not appear on the screen:\n${shown}`);
        if (performance.now() > next) {
          // deno-lint-ignore no-await-in-loop -- one press after the other
          await press(...again);
          next = performance.now() + AGAIN;
        }
        // deno-lint-ignore no-await-in-loop -- polls the screen
        await new Promise((resolve) => setTimeout(resolve, INTERVAL));
      }
    },
    [Symbol.asyncDispose]: close,
  };
}
