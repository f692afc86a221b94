/**
 * A real terminal for tests: a command in a window of tmux, on a tmux server and a socket of its own in a temporary
 * directory. Tests type and press keys as a person would, read the screen as text, and wait until it shows what they
 * are after. Nothing of the user's own tmux, configuration or environment is used.
 *
 *     await using terminal = await openTerminal(["bash", "--norc"], { env: { HOME: directory } });
 *     await terminal.shows(/\$ $/);
 *     await terminal.type("echo he");
 *     await terminal.press("Enter");
 */
import { command } from "../execute.ts";

/** How often the screen is looked at, and for how long at most, in milliseconds. */
const INTERVAL = 25;
const PATIENCE = 20_000;

export interface TerminalOptions {
  /** The whole environment of the command, but for `PATH`, `TERM` and `LC_ALL`, which are set where it does not. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory of the command; a directory of the terminal's own by default. */
  readonly cwd?: string;
  /** @default 80 */
  readonly columns?: number;
  /** @default 24 */
  readonly rows?: number;
}

export interface Terminal extends AsyncDisposable {
  /** Types a text as it is. */
  type(text: string): Promise<void>;
  /** Pastes a text, as a terminal does that marks what is pasted where the program wants that. */
  paste(text: string): Promise<void>;
  /** Presses keys by the names that tmux has for them: `Tab`, `Enter`, `Escape`, `Up`, `C-c`, `BSpace`. */
  press(...keys: readonly string[]): Promise<void>;
  /** What is on the screen, lines without the spaces at their ends, without empty lines at the bottom. */
  screen(): Promise<string>;
  /** The same with escape sequences for colours and the like. */
  styledScreen(): Promise<string>;
  /**
   * Waits until the screen matches.
   *
   * @returns the screen
   * @throws {Error} with the screen in its message, when that is not so after 20 s
   */
  shows(pattern: RegExp): Promise<string>;
  /** Ends the command, if it still runs, and everything that belongs to the terminal. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The status line would take a row; the window of a command that has ended stays to be read. */
const CONFIGURATION = `
set -g status off
set -g remain-on-exit on
set -s escape-time 0
set -g default-terminal screen-256color
`;

/**
 * Opens a terminal and starts a program in it. The screen stays when the command ends; a test that is after its exit
 * status runs it in a shell that prints it, since tmux does not always say.
 *
 * @throws {Error} with the words of tmux, when it cannot
 */
export async function openTerminal(
  program: readonly string[],
  { env = {}, cwd, columns = 80, rows = 24 }: TerminalOptions = {},
): Promise<Terminal> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-terminal-" });
  const path = Deno.env.get("PATH") ?? "";
  // -u: what is captured is UTF-8, in whatever locale the command runs.
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
  return {
    type: async (text) => {
      // A semicolon at the end of an argument would end the command of tmux.
      await tmux("send-keys", "-l", "--", text.replace(/;$/, "\\;"));
    },
    paste: async (text) => {
      await tmux("set-buffer", "--", text);
      await tmux("paste-buffer", "-p");
    },
    press: async (...keys) => {
      await tmux("send-keys", "--", ...keys);
    },
    screen,
    styledScreen: () => tmux("capture-pane", "-p", "-e"),
    shows: async (pattern) => {
      const end = performance.now() + PATIENCE;
      for (;;) {
        // deno-lint-ignore no-await-in-loop -- one look after the other
        const shown = await screen();
        if (pattern.test(shown)) return shown;
        if (performance.now() > end) throw new Error(`the screen did not come to show ${pattern}:\n${shown}`);
        // deno-lint-ignore no-await-in-loop -- one look after the other
        await new Promise((resolve) => setTimeout(resolve, INTERVAL));
      }
    },
    [Symbol.asyncDispose]: close,
  };
}
