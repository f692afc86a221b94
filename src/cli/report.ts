/** Turns failures into text or JSON and an exit status. Only this module does so. */
import { Failure } from "../apikey/failure.ts";
import { redactSecrets } from "../apikey/secret.ts";
import { EXIT_CODES, type ExitCode } from "./exit_code.ts";
import type { Host, Output } from "./host/host.ts";
import { writeNotes } from "./host/notes.ts";

/** A failure of `--delete`, with the number of keys that were deleted before it. */
export class DeletionFailure extends Failure {
  constructor(readonly deleted: number, cause: unknown) {
    const { code, message } = asFailure(cause);
    const keys = deleted === 1 ? "1 key was" : `${deleted} keys were`;
    super(code, deleted === 0 ? message : `${message} Before that, ${keys} deleted.`, { cause });
  }
}

/** Writes a value as one line of JSON, for `--json`. */
export async function writeJson(output: Output, value: unknown): Promise<void> {
  await output.write(toJsonLine(value));
}

/** A value as one line of JSON. Its invisible characters are escaped, so that the line cannot manipulate a terminal. */
export function toJsonLine(value: unknown): string {
  return `${escapeInJson(JSON.stringify(value))}\n`;
}

/** Writes every invisible character as `\\uXXXX`, except spaces (U+0020), tabs and line feeds. Valid JSON stays valid. */
export function escapeInJson(json: string): string {
  // Most JSON is ASCII. This test takes a fifth of the time of the replacement.
  if (/^[\t\n -~]*$/.test(json)) return json;
  return json.replace(
    /(?![ \t\n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  );
}

/**
 * Reports a failure. Without `--json`, writes text to standard error, or nothing if the failure is only that the reader
 * of standard output has closed it. With `--json`, writes `{"error","code"}` to standard output, and for a deletion also
 * the member `deleted`. If it cannot write this line, or if standard output discards it, writes text to standard error.
 */
export async function reportFailure(error: unknown, host: Host): Promise<ExitCode> {
  const { code, message } = asFailure(error);
  const text = redactSecrets(message);
  const writeText = (): Promise<void> => writeNotes([text], host);
  if (host.args.includes("--json")) {
    const deleted = error instanceof DeletionFailure ? error.deleted : isDeletion(host.args) ? 0 : undefined;
    await writeJson(host.stdout, { deleted, error: text, code }).catch(writeText).catch(() => {});
    if (await host.isOutputClosed().catch(() => false)) await writeText().catch(() => {});
  } else if (!isClosedPipe(error)) {
    await writeText().catch(() => {});
  }
  return EXIT_CODES[code];
}

function isDeletion(args: readonly string[]): boolean {
  return args[0] === "apikey" && (args[1] === "delete" || args.includes("--delete") && !args.includes("--create"));
}

/**
 * Whether the failure is only that the reader of standard output has closed it, as `head` does. Users expect no message
 * then.
 */
function isClosedPipe(error: unknown): boolean {
  return error instanceof Failure && error.cause instanceof Deno.errors.BrokenPipe;
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure("FAILED", `Unexpected error: ${String(error)}. Please report it.`, { cause: error });
}
