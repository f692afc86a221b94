/**
 * Prints the result of `apikey --delete`. The specification fixes the JSON shapes and messages (sections 4.2 and 7),
 * except `failed` and the message for an empty selection.
 */
import { escapeInvisible, Failure, type FailureCode, quote, reasonOf, toSentence } from "../../../apikey/failure.ts";
import type { Name } from "../../../apikey/name.ts";
import { redactSecrets } from "../../../apikey/secret.ts";
import type { KeyReference } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure, writeJson } from "../../report.ts";

/** A name or an id on the command line. */
export type Target =
  | { readonly kind: "name"; readonly value: Name }
  | { readonly kind: "id"; readonly value: string };

/** A target whose keys were not deleted. */
export interface FailedTarget {
  readonly target: Target;
  readonly code: FailureCode | "NOT_FOUND";
  readonly error: string;
}

export type DeleteResult =
  | {
    readonly kind: "deleted";
    readonly keys: readonly KeyReference[];
    /** Not empty only if there were several targets. */
    readonly failed: readonly FailedTarget[];
  }
  /** The only target matches no key. */
  | { readonly kind: "not found"; readonly target: Target }
  | { readonly kind: "no keys" }
  | { readonly kind: "none selected" };

/** Whether the command did what the user asked for. */
export function isSuccess(result: DeleteResult): boolean {
  return result.kind === "deleted" ? result.failed.length === 0 : result.kind !== "not found";
}

/** The message for a target that matches no key (spec section 7, shape A). */
export function notFound({ kind, value }: Target): string {
  return `No API key found with ${kind}: ${value}`;
}

/**
 * Prints the result on standard output. If a key is missing, says on standard error where the command searched.
 *
 * @param place the server or store, for example `the server https://keys.example.com`
 * @throws {DeletionFailure} `FAILED` if the result cannot be written
 */
export async function printDeleteResult(
  result: DeleteResult,
  place: string,
  { json }: { readonly json?: boolean | undefined },
  host: Host,
): Promise<void> {
  try {
    const text = json ? undefined : toText(result);
    if (json) await writeJson(host.stdout, toJson(result));
    else if (text !== undefined) await host.stdout.write(`${text}\n`);
  } catch (error) {
    const deleted = result.kind === "deleted" ? result.keys.length : 0;
    const message = `The result could not be printed: ${reasonOf(error)}`;
    throw new DeletionFailure(deleted, new Failure("FAILED", message, { cause: error }));
  }
  // The result is complete without these lines.
  await host.stderr.write(notes(result, place).map((note) => `service-api: ${note}\n`).join("")).catch(() => {});
}

function toJson(result: DeleteResult): object {
  switch (result.kind) {
    case "deleted": {
      const keys = result.keys.map(({ id, name }) => ({ id, name }));
      const failed = result.failed.map(({ target: { kind, value }, code, error }) => ({
        id: kind === "id" ? value : null,
        name: kind === "name" ? value : null,
        code,
        error: redactSecrets(error),
      }));
      return { deleted: keys.length, keys, ...(failed.length === 0 ? {} : { failed }) };
    }
    case "not found":
      return { deleted: 0, error: notFound(result.target) };
    case "no keys":
      return { deleted: 0, message: "No API keys found to delete" };
    case "none selected":
      return { deleted: 0, message: "No keys selected for deletion" };
  }
}

/** Returns `undefined` if the notes say everything. */
function toText(result: DeleteResult): string | undefined {
  if (result.kind === "none selected") return "No keys selected for deletion";
  if (result.kind !== "deleted") return "No API keys found to delete";
  const { keys: { length }, failed } = result;
  if (length > 0) return `Successfully deleted ${length} API ${length === 1 ? "key" : "keys"}`;
  return failed.every(({ code }) => code === "NOT_FOUND") ? "No API keys found to delete" : undefined;
}

/** The lines for standard error. */
function notes(result: DeleteResult, place: string): readonly string[] {
  const errors = result.kind === "not found"
    ? [`${notFound(result.target)}.`]
    : result.kind === "deleted"
    ? result.failed.map(({ target, code, error }) =>
      toSentence(code === "NOT_FOUND" ? error : `Could not delete ${quote(target.value)}: ${error}`)
    )
    : [];
  const isMissing = result.kind === "not found" || result.kind === "no keys" ||
    result.kind === "deleted" && result.failed.some(({ code }) => code === "NOT_FOUND");
  const searched = `Searched ${place}. To search elsewhere, use --base-url, --data-dir, --database-url or --profile.`;
  return [...errors.map((error) => escapeInvisible(redactSecrets(error))), ...(isMissing ? [searched] : [])];
}
