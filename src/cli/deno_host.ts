/** The real outside: this process under Deno. */
import { Failure, reasonOf } from "../apikey/failure.ts";
import type { Host, Input, Output } from "./host.ts";

interface DenoOutput {
  isTerminal(): boolean;
  write(bytes: Uint8Array): Promise<number>;
}

function output(stream: DenoOutput): Output {
  return {
    isTerminal: () => stream.isTerminal(),
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
