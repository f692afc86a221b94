/** Reads the secret in a file. */
import { Failure, quote, reasonOf } from "../../../../apikey/failure.ts";

/** A longer file is not a secret. */
const MAX_SIZE = 4096;

/**
 * Reads the secret in a file, without spaces and line breaks around it. Reads synchronously, because a thousand
 * asynchronous reads take ten times as long.
 *
 * @returns `undefined` if the file does not exist or is empty
 * @throws {Failure} `USAGE` if the file cannot be one with a secret, so it must not be replaced; `FAILED`
 */
export function readSecret(path: string): string | undefined {
  let text: string;
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile) throw notASecret(path, "is not a regular file");
    if (size > MAX_SIZE) throw notASecret(path, `is larger than ${MAX_SIZE} bytes`);
    text = Deno.readTextFileSync(path).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Failure) throw error;
    throw new Failure("FAILED", `Cannot read ${quote(path)}: ${reasonOf(error)}.`, { cause: error });
  }
  if (/\n/.test(text)) throw notASecret(path, "has several lines");
  return text === "" ? undefined : text;
}

function notASecret(path: string, problem: string): Failure {
  return new Failure(
    "USAGE",
    `${quote(path)} ${problem}, so it is not a file with a secret and is not replaced. Choose another file.`,
  );
}
