/** Runs programs and waits until they end. */

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program. Unless `options` has `stdin`, its standard input is empty. */
export async function execute(
  program: string,
  args: readonly string[],
  options: Deno.CommandOptions = {},
): Promise<Outcome> {
  return decode(await new Deno.Command(program, { ...options, args: [...args] }).output());
}

/** Writes `input` to a process whose streams are pipes, and waits until it ends. */
export async function outcomeOf(child: Deno.ChildProcess, input: string): Promise<Outcome> {
  const writer = child.stdin.getWriter();
  const output = child.output();
  await writer.write(new TextEncoder().encode(input)).catch(() => {});
  await writer.close().catch(() => {});
  return decode(await output);
}

/**
 * Runs a command that must succeed.
 *
 * @returns its standard output
 * @throws {Error} with its standard error if it fails
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

function decode({ code, stdout, stderr }: Deno.CommandOutput): Outcome {
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
