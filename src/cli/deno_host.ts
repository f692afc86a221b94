/** The real outside: this process under Deno. */
import { Failure, reasonOf } from "../apikey/failure.ts";
import type { Host, Input, Output, TerminalSize } from "./host.ts";

const COLUMNS = 80;
const ROWS = 24;

/** A terminal that does not know its size says that it is 0. */
function terminalSize(): TerminalSize {
  try {
    const { columns, rows } = Deno.consoleSize();
    return { columns: columns || COLUMNS, rows: rows || ROWS };
  } catch {
    return { columns: COLUMNS, rows: ROWS };
  }
}

interface DenoOutput {
  isTerminal(): boolean;
  write(bytes: Uint8Array): Promise<number>;
}

function output(stream: DenoOutput): Output {
  return {
    isTerminal: () => stream.isTerminal(),
    columns: () => terminalSize().columns,
    write: async (text) => {
      try {
        let rest = new TextEncoder().encode(text);
        while (rest.length > 0) {
          // deno-lint-ignore no-await-in-loop -- each write has to know where the one before it stopped
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
    if (readable.locked) throw new Failure("USAGE", "Standard input is asked for twice, and can be read only once.");
    return await new Response(readable).text();
  },
};

export const denoHost: Host = {
  args: Deno.args,
  env: (name) => Deno.env.get(name) || undefined,
  stdin,
  stdout: output(Deno.stdout),
  stderr: output(Deno.stderr),
  openTerminal: async () => {
    const [{ stdin, stderr }, { Writable }] = await Promise.all([import("node:process"), import("node:stream")]);
    const drawing = new Writable({ write: (chunk, _encoding, done) => void stderr.write(chunk, () => done()) });
    stderr.on("resize", () => drawing.emit("resize"));
    Object.defineProperties(drawing, {
      columns: { get: () => terminalSize().columns },
      rows: { get: () => terminalSize().rows },
    });
    return { input: stdin, output: drawing, size: terminalSize };
  },
  platform: Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux",
  now: () => new Date(),
  onSignal: (signals, handler) => {
    const known = signals.filter((signal) => signal !== "SIGTERM" || Deno.build.os !== "windows");
    for (const signal of known) Deno.addSignalListener(signal, handler);
    return () => {
      for (const signal of known) Deno.removeSignalListener(signal, handler);
    };
  },
};
