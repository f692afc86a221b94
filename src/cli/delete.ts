/** `apikey --delete` (spec section 4.2). */
import { Failure, reasonOf } from "../apikey/failure.ts";
import { type Name, parseName } from "../apikey/name.ts";
import type { Client, KeyReference } from "../client/client.ts";
import type { Ask } from "./connection.ts";
import { ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import { writeJson } from "./report.ts";

/** The flags of the command, as they were typed. */
export interface DeleteFlags {
  readonly name?: string | undefined;
  readonly json?: boolean | undefined;
}

/** What came of it: keys that are gone, a name that none of the keys has, or no key at all. */
type DeleteResult =
  | { readonly kind: "deleted"; readonly keys: readonly KeyReference[] }
  | { readonly kind: "not found"; readonly name: Name }
  | { readonly kind: "no keys" };

/**
 * Deletes the keys of a name and prints what was deleted.
 *
 * @throws {Failure} of any kind; nothing was deleted, unless the message says otherwise
 */
export async function remove(flags: DeleteFlags, host: Host, ask: Ask): Promise<ExitCode> {
  const name = decideDelete(flags);
  return await ask(async (connect) => {
    const result = await deleteByName(await connect(), name);
    await print(result, flags, host);
    return result.kind === "not found" ? ExitCode.FAILED : ExitCode.OK;
  });
}

async function print(result: DeleteResult, flags: DeleteFlags, host: Host): Promise<void> {
  try {
    if (flags.json) await writeJson(host.stdout, toJson(result));
    else await host.stdout.write(`${toText(result)}\n`);
  } catch (error) {
    throw new Failure("FAILED", `${toText(result)}, but nobody was told: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Turns the flags into the name whose keys are to be deleted.
 *
 * @throws {Failure} `USAGE`, `INVALID_NAME`
 */
function decideDelete(flags: DeleteFlags): Name {
  if (flags.name === undefined) throw new Failure("USAGE", "Deleting a key needs its name: give --name.");
  return parseName(flags.name);
}

/** Another caller may replace the key between the look-up and the deletion: then it is looked up again. */
async function deleteByName(client: Client, name: Name, attempts = 3): Promise<DeleteResult> {
  const { matches, anyKey } = await client.find(name);
  if (matches.length === 0) return anyKey ? { kind: "not found", name } : { kind: "no keys" };
  if (await client.remove(matches)) return { kind: "deleted", keys: matches };
  if (attempts > 1) return await deleteByName(client, name, attempts - 1);
  throw new Failure("FAILED", "The server did not delete the key and did not say why. Its log may tell.");
}

function toJson(result: DeleteResult): object {
  switch (result.kind) {
    case "deleted":
      return { deleted: result.keys.length, keys: result.keys.map(({ id, name }) => ({ id, name })) };
    case "not found":
      return { deleted: 0, error: `No API key found with name: ${result.name}` };
    case "no keys":
      return { deleted: 0, message: "No API keys found to delete" };
  }
}

function toText(result: DeleteResult): string {
  if (result.kind !== "deleted") return "No API keys found to delete";
  const { length } = result.keys;
  return `Successfully deleted ${length} API ${length === 1 ? "key" : "keys"}`;
}
