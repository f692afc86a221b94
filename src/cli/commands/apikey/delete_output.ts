/**
 * Prints the result of `apikey --delete`. The specification fixes the JSON shapes and messages (sections 4.2 and 7),
 * except the message for an empty selection.
 */
import { Failure, reasonOf } from "../../../apikey/failure.ts";
import type { Name } from "../../../apikey/name.ts";
import type { KeyReference } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure, writeJson } from "../../report.ts";

export type DeleteResult =
  | { readonly kind: "deleted"; readonly keys: readonly KeyReference[] }
  /** Keys exist, but none has the name. */
  | { readonly kind: "not found"; readonly name: Name }
  | { readonly kind: "no keys" }
  | { readonly kind: "none selected" };

/** @throws {DeletionFailure} `FAILED` if the result cannot be written */
export async function printDeleteResult(
  result: DeleteResult,
  { json }: { readonly json?: boolean | undefined },
  host: Host,
): Promise<void> {
  try {
    if (json) await writeJson(host.stdout, toJson(result));
    else await host.stdout.write(`${toText(result)}\n`);
  } catch (error) {
    const deleted = result.kind === "deleted" ? result.keys.length : 0;
    const message = `The result could not be printed: ${reasonOf(error)}`;
    throw new DeletionFailure(deleted, new Failure("FAILED", message, { cause: error }));
  }
}

function toJson(result: DeleteResult): object {
  switch (result.kind) {
    case "deleted":
      return { deleted: result.keys.length, keys: result.keys.map(({ id, name }) => ({ id, name })) };
    case "not found":
      return { deleted: 0, error: `No API key found with name: ${result.name}` };
    case "no keys":
      return { deleted: 0, message: "No API keys found to delete" };
    case "none selected":
      return { deleted: 0, message: "No keys selected for deletion" };
  }
}

function toText(result: DeleteResult): string {
  if (result.kind === "none selected") return "No keys selected for deletion";
  if (result.kind !== "deleted") return "No API keys found to delete";
  const { length } = result.keys;
  return `Successfully deleted ${length} API ${length === 1 ? "key" : "keys"}`;
}
