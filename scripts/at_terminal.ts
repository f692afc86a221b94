/** A program at a pseudo-terminal, for benchmarks: `script` of util-linux makes one. */

export interface AtTerminal {
  /** Types text. */
  type(text: string): Promise<void>;
  /** Waits until the program has drawn something that matches, since the last call. */
  until(pattern: RegExp): Promise<void>;
  /** Ends it with Ctrl-C. */
  interrupt(): Promise<void>;
}

/** Starts a command line of the shell at a terminal. */
export function startAtTerminal(command: string, env: Readonly<Record<string, string>>): AtTerminal {
  const process = new Deno.Command("script", {
    args: ["--quiet", "--flush", "--return", "--command", command, "/dev/null"],
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", SHELL: "/bin/sh", LC_ALL: "C.UTF-8", TERM: "xterm", ...env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = process.stdin.getWriter();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const type = (text: string): Promise<void> => writer.write(new TextEncoder().encode(text));
  return {
    type,
    until: async (pattern) => {
      for (let drawn = ""; !pattern.test(drawn);) {
        // deno-lint-ignore no-await-in-loop -- one chunk after the other
        const { value, done } = await reader.read();
        if (done) throw new Error(`${command} ended before ${pattern}, after ${JSON.stringify(drawn)}`);
        drawn += value;
      }
    },
    interrupt: async () => {
      await type("\x03").catch(() => {});
      await process.status;
      await Promise.all([writer.close().catch(() => {}), reader.cancel()]);
    },
  };
}
