/** The one place where a failure becomes text or JSON and an exit status. */
import { escapeInvisible, Failure } from "../apikey/failure.ts";
import { redactSecrets } from "../apikey/secret.ts";
import { EXIT_CODES, type ExitCode } from "./exit_code.ts";
import type { Host, Output } from "./host/host.ts";

/** A failure to delete, after so many of several keys were deleted. */
export class DeletionFailure extends Failure {
  constructor(readonly deleted: number, cause: unknown) {
    const { code, message } = asFailure(cause);
    const keys = deleted === 1 ? "1 key was" : `${deleted} keys were`;
    super(code, deleted === 0 ? message : `${message} Before that, ${keys} deleted.`, { cause });
  }
}

/** Writes a value as the one line that `--json` promises. */
export async function writeJson(output: Output, value: unknown): Promise<void> {
  await output.write(toJsonLine(value));
}

/** A value as a line of JSON, in which nothing can move a terminal's cursor or reorder the line. */
export function toJsonLine(value: unknown): string {
  const json = JSON.stringify(value).replace(
    /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
  return `${json}\n`;
}

/**
 * Tells the user of a failure: with `--json` on standard output as `{"error","code"}`, on delete with
 * `"deleted":0` besides; otherwise, or when nobody reads standard output any more, on standard error.
 */
export async function reportFailure(error: unknown, host: Host): Promise<ExitCode> {
  const { code, message } = asFailure(error);
  const text = redactSecrets(message);
  const { args } = host;
  const tell = (): Promise<void> => host.stderr.write(`service-api: ${escapeInvisible(text)}\n`);
  if (args.includes("--json")) {
    const deleting = args.includes("--delete") && !args.includes("--create");
    const deleted = error instanceof DeletionFailure ? error.deleted : deleting ? 0 : undefined;
    await writeJson(host.stdout, { deleted, error: text, code }).catch(tell).catch(
      () => {},
    );
  } else if (!isClosedPipe(error)) {
    await tell().catch(() => {});
  }
  return EXIT_CODES[code];
}

/** Whoever read the output has seen enough of it: nothing to tell. */
function isClosedPipe(error: unknown): boolean {
  return error instanceof Failure && error.cause instanceof Deno.errors.BrokenPipe;
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure("FAILED", `This should not have happened: ${String(error)}. Please report it.`, { cause: error });
}
