/**
 * Prints the result of `apikey --delete`. The specification fixes the JSON shapes and messages (sections 4.2 and 7),
 * except `failed` and the message for an empty selection.
 */
import { escapeInvisible, Failure, type FailureCode, quote, reasonOf, toSentence } from "../../../apikey/failure.ts";
import type { Name } from "../../../apikey/name.ts";
import { redactSecrets } from "../../../apikey/secret.ts";
import type { KeyReference } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { writeNotes } from "../../host/notes.ts";
import { DeletionFailure, writeJson } from "../../report.ts";
import type { Risk } from "./lockout.ts";

/** A name or an id on the command line. */
export type Target =
  | { readonly kind: "name"; readonly value: Name }
  | { readonly kind: "id"; readonly value: string };

/** A key, a name or an id whose keys were not deleted. */
export interface FailedDeletion {
  /** `null` if only a name was given. */
  readonly id: string | null;
  /** `null` if only an id was given. */
  readonly name: string | null;
  readonly code: FailureCode;
  readonly error: string;
}

export type DeleteResult =
  | {
    readonly kind: "deleted";
    readonly keys: readonly KeyReference[];
    /** Not empty only if several keys were to be deleted. */
    readonly failed: readonly FailedDeletion[];
    /** The keys that matched a filter, but that a client used or changed before they were deleted. */
    readonly kept?: readonly KeyReference[];
    /** The keys whose deletion can lock the user out, and that were deleted without a prompt. */
    readonly risks?: readonly Risk[];
  }
  /** The only target matches no key. */
  | { readonly kind: "not found"; readonly target: Target }
  | { readonly kind: "no keys" }
  /** A filter matches no key, or only keys that were kept. */
  | { readonly kind: "no matches"; readonly kept: readonly KeyReference[] };

/** The flags about the result. */
export interface ResultFlags {
  readonly ifExists?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Whether the command did what the user asked for. */
export function isSuccess(result: DeleteResult, { ifExists = false }: ResultFlags): boolean {
  if (result.kind === "deleted") return result.failed.every(({ code }) => ifExists && code === "NOT_FOUND");
  return ifExists || result.kind !== "not found";
}

/** Whether the user expects keys that the command did not find. */
export function isMissingKeys(result: DeleteResult, { ifExists = false }: ResultFlags): boolean {
  if (ifExists) return false;
  if (result.kind === "deleted") return result.failed.some(({ code }) => code === "NOT_FOUND");
  return result.kind === "not found" || result.kind === "no keys";
}

/** Whether a filter matches no key. That is a success, unless the command cannot see the keys. */
export function isWithoutMatch(result: DeleteResult): boolean {
  return result.kind === "no matches" && result.kept.length === 0;
}

/** Where the command searched for keys. */
export interface Search {
  /** The server or store, for example `the server https://keys.example.com`. */
  readonly place: string;
  readonly isStoreMissing: boolean;
  /** Whether the server shows the key in use only itself and the keys that it created. */
  readonly seesOnlyOwnKeys: boolean;
  /** What to do about names that no key has: sentences that begin with a space. */
  readonly advice: ReadonlyMap<string, string>;
}

/** The message for a target that matches no key (spec section 7, shape A). */
export function notFound({ kind, value }: Target): string {
  return `No API key found with ${kind}: ${value}`;
}

/**
 * Prints the result on standard output. If a key or the store is missing, says on standard error where the command
 * searched, unless the output is JSON.
 *
 * @throws {DeletionFailure} `FAILED` if the result cannot be written
 */
export async function printDeleteResult(
  result: DeleteResult,
  search: Search,
  flags: ResultFlags,
  host: Host,
): Promise<void> {
  try {
    const text = flags.json ? undefined : toText(result);
    if (flags.json) await writeJson(host.stdout, toJson(result));
    else if (text !== undefined) await host.stdout.write(`${text}\n`);
  } catch (error) {
    const deleted = result.kind === "deleted" ? result.keys.length : 0;
    const message = `The result could not be printed: ${reasonOf(error)}`;
    throw new DeletionFailure(deleted, new Failure("FAILED", message, { cause: error }));
  }
  // The result is complete without these lines.
  const isShown = !flags.json && result.kind === "deleted" && host.stdout.isTerminal() && host.stderr.isTerminal();
  if (isShown) await host.stderr.write(listNames(result.keys)).catch(() => {});
  await writeNotes(notes(result, search, flags), host).catch(() => {});
}

function toJson(result: DeleteResult): object {
  switch (result.kind) {
    case "deleted": {
      const keys = result.keys.map(({ id, name }) => ({ id, name }));
      const failed = result.failed.map((one) => ({ ...one, error: redactSecrets(one.error) }));
      return { deleted: keys.length, keys, ...(failed.length === 0 ? {} : { failed }) };
    }
    case "not found":
      return { deleted: 0, error: notFound(result.target) };
    case "no keys":
    case "no matches":
      return { deleted: 0, message: "No API keys found to delete" };
  }
}

/** Returns `undefined` if the notes say everything. */
function toText(result: DeleteResult): string | undefined {
  if (result.kind !== "deleted") return "No API keys found to delete";
  const { keys: { length }, failed } = result;
  if (length > 0) return `Successfully deleted ${length} API ${length === 1 ? "key" : "keys"}`;
  return failed.every(({ code }) => code === "NOT_FOUND") ? "No API keys found to delete" : undefined;
}

/** The maximum number of names that a terminal shows after a deletion. */
const MAX_NAMES = 8;

/** Returns an indented line for each key. */
function listNames(keys: readonly KeyReference[]): string {
  const shown = keys.slice(0, MAX_NAMES).map(({ id, name }) =>
    `  ${escapeInvisible(redactSecrets(`${name} (${id})`))}\n`
  );
  return [...shown, ...keys.length > MAX_NAMES ? [`  and ${keys.length - MAX_NAMES} more\n`] : []].join("");
}

export const SEARCH_ELSEWHERE = "To search elsewhere, use --base-url, --data-dir, --database-url or --profile.";

export const SEES_ONLY_OWN_KEYS =
  "The key in use sees only itself and the keys that it created, because it lacks API_KEY:READ_ANY. Other keys may exist.";

/** The lines for standard error, without the errors that are in the JSON. With `--if-exists`, a missing key is no problem. */
function notes(
  result: DeleteResult,
  { place, isStoreMissing, seesOnlyOwnKeys, advice }: Search,
  flags: ResultFlags,
): readonly string[] {
  const failed = result.kind === "deleted" ? result.failed : [];
  const missing = [
    ...(result.kind === "not found" ? [`${notFound(result.target)}.${advice.get(result.target.value) ?? ""}`] : []),
    ...failed.filter(({ code }) => code === "NOT_FOUND").map(({ name, error }) =>
      `${error}.${advice.get(name ?? "") ?? ""}`
    ),
  ];
  const refused = failed.filter(({ code }) => code !== "NOT_FOUND").map(({ id, name, error }) =>
    toSentence(`Could not delete ${quote(name ?? id ?? "")}: ${error}`)
  );
  const { kept = [] } = "kept" in result ? result : {};
  const keptNotes = kept.map(({ name }) => `Kept ${quote(name)}, because it was used or changed meanwhile.`);
  const errors = flags.json ? [] : [...flags.ifExists ? [] : missing, ...refused];
  const searched = `Searched ${place}. ${SEARCH_ELSEWHERE}`;
  return [
    ...[...errors, ...keptNotes].map(redactSecrets),
    ...!flags.json && (isMissingKeys(result, flags) || isWithoutMatch(result) && isStoreMissing) ? [searched] : [],
    ...seesOnlyOwnKeys ? [SEES_ONLY_OWN_KEYS] : [],
  ];
}
