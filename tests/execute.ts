/** Programs of the system run to their end. */

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; without `stdin` among the options there is nothing on its standard input. */
export async function execute(
  program: string,
  args: readonly string[],
  options: Deno.CommandOptions = {},
): Promise<Outcome> {
  return decoded(await new Deno.Command(program, { ...options, args: [...args] }).output());
}

/** What comes of a process whose streams are pipes, when it is given a text on standard input. */
export async function outcomeOf(child: Deno.ChildProcess, input: string): Promise<Outcome> {
  const writer = child.stdin.getWriter();
  const output = child.output();
  await writer.write(new TextEncoder().encode(input)).catch(() => {});
  await writer.close().catch(() => {});
  return decoded(await output);
}

/**
 * Runs a command that is to succeed.
 *
 * @returns what it printed
 * @throws {Error} with what it said, when it failed
 */
export async function command(
  program: string,
  args: readonly string[],
  options?: Deno.CommandOptions,
): Promise<string> {
  const { code, stdout, stderr } = await execute(program, args, options);
  if (code !== 0) throw new Error(`${program}: ${stderr.trim()}`);
  return stdout;
}

function decoded({ code, stdout, stderr }: Deno.CommandOutput): Outcome {
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
