/** The {@linkcode Host} of the real process: its arguments, environment, streams and signals under Deno. */
import { Failure, reasonOf } from "../../apikey/failure.ts";
import type { Host, Input, Output, Terminal, TerminalSize } from "./host.ts";
import { bracketedPaste, createKeyReader } from "./key_reader.ts";

/** The size of a terminal that does not report one. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

function terminalSize(): TerminalSize {
  try {
    const { columns, rows } = Deno.consoleSize();
    return { columns: columns || DEFAULT_COLUMNS, rows: rows || DEFAULT_ROWS };
  } catch {
    return { columns: DEFAULT_COLUMNS, rows: DEFAULT_ROWS };
  }
}

interface DenoOutput {
  isTerminal(): boolean;
  write(bytes: Uint8Array): Promise<number>;
}

function output(stream: DenoOutput, observe: (text: string) => void = () => {}): Output {
  return {
    isTerminal: () => stream.isTerminal(),
    columns: () => terminalSize().columns,
    write: async (text) => {
      observe(text);
      try {
        let rest = new TextEncoder().encode(text);
        while (rest.length > 0) {
          // deno-lint-ignore no-await-in-loop -- each write continues where the last one stopped
          rest = rest.subarray(await stream.write(rest));
        }
      } catch (error) {
        throw new Failure("FAILED", `Cannot write the output: ${reasonOf(error)}.`, { cause: error });
      }
    },
  };
}

const stdin: Input = {
  isTerminal: () => Deno.stdin.isTerminal(),
  readText: async () => {
    const { readable } = Deno.stdin;
    if (readable.locked) {
      throw new Failure("USAGE", "Two flags or variables read standard input, which can be read only once.");
    }
    return await new Response(readable).text();
  },
};

let terminal: Promise<Terminal> | undefined;

/** Receives what the program writes to standard error other than through the terminal. */
let observeStderr: (text: string) => void = () => {};

async function openTerminal(): Promise<Terminal> {
  const [{ stdin, stderr }, { PassThrough, Transform }] = await Promise.all([
    import("node:process"),
    import("node:stream"),
  ]);
  const read = createKeyReader();
  const keys = new Transform({
    transform(chunk: Uint8Array, _encoding, done): void {
      for (const piece of read(chunk)) this.push(piece);
      done();
    },
  });
  const setRawMode = (isRaw: boolean): void => {
    // With `cbreak`, Ctrl-Z suspends the program. The program does not have the permission to suspend itself. `deno task`,
    // which runs the sources, would not stop with it, so the shell would not get the terminal back.
    if (Deno.build.os === "windows" || !Deno.build.standalone) stdin.setRawMode(isRaw);
    else Deno.stdin.setRaw(isRaw, { cbreak: isRaw });
    if (denoHost.env("TERM") !== "dumb") stderr.write(bracketedPaste(isRaw));
  };
  const input = Object.assign(stdin.pipe(keys), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      setRawMode(isRaw);
      if (Deno.build.os === "windows") return;
      Deno.removeSignalListener("SIGCONT", continueInRawMode);
      if (isRaw) Deno.addSignalListener("SIGCONT", continueInRawMode);
    },
  });
  // The shell has changed the mode while the program was suspended.
  const continueInRawMode = (): void => {
    setRawMode(true);
    output.emit("continue");
  };
  const output = Object.defineProperties(new PassThrough(), {
    columns: { get: () => terminalSize().columns },
    rows: { get: () => terminalSize().rows },
  });
  output.pipe(stderr);
  stderr.on("resize", () => output.emit("resize"));
  return {
    input,
    output,
    size: terminalSize,
    observe: (listener) => void (observeStderr = listener),
    setEcho: (isOn) => void stdin.setRawMode(!isOn),
  };
}

/** In cbreak mode, the terminal shows no keys, but Ctrl-C still sends SIGINT. Windows has no such mode. */
function hideTyping(): () => void {
  Deno.stdin.setRaw(true, { cbreak: true });
  return () => Deno.stdin.setRaw(false);
}

export const denoHost: Host = {
  args: Deno.args,
  env: (name) => Deno.env.get(name) || undefined,
  stdin,
  stdout: output(Deno.stdout),
  stderr: output(Deno.stderr, (text) => observeStderr(text)),
  // All prompts share one terminal, so that keys pressed early reach the next prompt.
  openTerminal: () => terminal ??= openTerminal(),
  hideTyping: Deno.build.os === "windows" ? undefined : hideTyping,
  isOutputClosed: async () => {
    if (Deno.build.os === "windows" || Deno.stdout.isTerminal()) return false;
    const { fstatSync } = await import("node:fs");
    return isNull(fstatSync(1)) && isOpenForReading("/dev/fd/1");
  },
  platform: Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux",
  now: () => new Date(),
  onSignal: (signals, handler) => {
    const known = signals.filter((signal) => signal === "SIGINT" || Deno.build.os !== "windows");
    for (const signal of known) Deno.addSignalListener(signal, handler);
    return () => {
      for (const signal of known) Deno.removeSignalListener(signal, handler);
    };
  },
};

/** Returns whether a file is `/dev/null`, which Deno opens at start in place of a closed standard output. */
function isNull({ rdev }: { readonly rdev: number }): boolean {
  try {
    return rdev === Deno.statSync("/dev/null").rdev;
  } catch {
    // A container may have no /dev.
    return false;
  }
}

/**
 * Returns whether a file descriptor is open for reading. Deno opens `/dev/null` for reading and writing, a shell only for
 * writing. Returns true if that is unknown: macOS does not tell, and Deno 2.9 does not allow the question.
 */
function isOpenForReading(path: string): boolean {
  try {
    return ((Deno.lstatSync(path).mode ?? 0o400) & 0o400) !== 0;
  } catch {
    return true;
  }
}
