/** Runs programs at a pseudo-terminal, which `script` (util-linux) creates. */

export interface TerminalProcess {
  /** Types text. */
  type(text: string): Promise<void>;
  /** Waits until the output matches the pattern. Considers only the output since the last call. */
  until(pattern: RegExp): Promise<void>;
  /** Presses Ctrl-C and waits until the program ends. */
  interrupt(): Promise<void>;
}

/** Starts a shell command at a pseudo-terminal. */
export function startAtTerminal(command: string, env: Readonly<Record<string, string>>): TerminalProcess {
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
      for (let output = ""; !pattern.test(output);) {
        // deno-lint-ignore no-await-in-loop -- reads one chunk at a time
        const { value, done } = await reader.read();
        if (done) throw new Error(`${command} ended before ${pattern}; its output was ${JSON.stringify(output)}`);
        output += value;
      }
    },
    interrupt: async () => {
      await type("\x03").catch(() => {});
      await process.status;
      await Promise.all([writer.close().catch(() => {}), reader.cancel()]);
    },
  };
}
