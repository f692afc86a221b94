/** Runs the program and its prompts at a terminal emulator in this process. */
import { run } from "../../src/cli/program.ts";
import type { Host, Terminal } from "../../src/cli/host/host.ts";
import { openPrompts, type Prompts } from "../../src/cli/prompts/prompts.ts";
import { FakeHost } from "./program.ts";
import { Screen } from "./screen.ts";

export interface AtTerminal {
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether standard output is the terminal too. By default, it is a pipe. */
  readonly showsOutput?: boolean;
  /** The time that the clock always shows. By default, it shows the present. */
  readonly now?: Date;
}

/** A host whose standard input and standard error are a terminal. */
export class TerminalHost extends FakeHost {
  readonly screen: Screen;

  readonly #now: Date | undefined;

  constructor(
    args: readonly string[],
    { env = {}, columns = 80, rows = 24, showsOutput = false, now }: AtTerminal = {},
  ) {
    super(args, { env: { LANG: "C.UTF-8", NO_COLOR: "1", ...env } });
    this.#now = now;
    this.screen = new Screen(columns, rows);
    const toScreen = (text: string): Promise<void> => {
      this.screen.write(text);
      return Promise.resolve();
    };
    for (const output of showsOutput ? [this.stdout, this.stderr] : [this.stderr]) {
      const record = output.write.bind(output);
      output.isTerminal = () => true;
      output.columns = () => columns;
      output.write = async (text) => {
        this.screen.observeText(text);
        await toScreen(text);
        await record(text);
      };
    }
    this.stdin.isTerminal = () => true;
  }

  override now(): Date {
    return this.#now ?? super.now();
  }

  override openTerminal(): Promise<Terminal> {
    return Promise.resolve(this.screen);
  }
}

/** A run of the program at a terminal. */
export interface Running {
  readonly host: TerminalHost;
  readonly screen: Screen;
  /** The exit status. */
  readonly code: Promise<number>;
}

export function runAtTerminal(args: readonly string[], at: AtTerminal = {}): Running {
  const host = new TerminalHost(args, at);
  return { host, screen: host.screen, code: run(host) };
}

/** A prompt on the screen. */
export interface PromptRun<Answer> {
  readonly host: TerminalHost;
  readonly screen: Screen;
  readonly answer: Promise<Answer>;
}

/** Shows a prompt and waits until it is on the screen. */
export async function promptAtTerminal<Answer>(
  show: (prompts: Prompts, host: Host) => Promise<Answer>,
  at: AtTerminal = {},
): Promise<PromptRun<Answer>> {
  const host = new TerminalHost([], at);
  const answer = show(await openPrompts(host), host);
  answer.catch(() => {});
  await host.screen.until(/[?:]/);
  return { host, screen: host.screen, answer };
}

/** Replaces ids, secrets and dates, which differ between runs, with fixed ones. */
export function stabilize(screen: string): string {
  return screen
    .replaceAll(/key_\w{22}/g, `key_${"0".repeat(22)}`)
    .replaceAll(/sak_\w{49}/g, `sak_${"0".repeat(49)}`)
    .replaceAll(/\d{4}-\d{2}-\d{2}/g, "2026-01-02");
}

/** The screen from the first prompt on, without the lines that name the server or store, whose paths differ between runs. */
export function belowTarget(screen: string): string {
  return screen.slice(Math.max(0, screen.search(/^[?✔*] /m))).replaceAll(/^ {2}Using .*\n(?: {15}\S.*\n)*/gm, "");
}
