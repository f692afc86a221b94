/** `apikey --delete` (spec section 4.2). Everything but the deletion of a single target is loaded on demand. */
import { Failure } from "../../../apikey/failure.ts";
import { parseExistingName } from "../../../apikey/name.ts";
import type { Client } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { DeletionFailure } from "../../report.ts";
import {
  type DeleteResult,
  isMissingKeys,
  isSuccess,
  isWithoutMatch,
  printDeleteResult,
  type Search,
  type Target,
} from "./delete_output.ts";
import { deleteTarget, findTarget } from "./delete_target.ts";
import type { DeleteOnlyFlags, OutputFlags } from "./key_flags.ts";

/** The flags as typed. */
export interface DeleteFlags extends DeleteOnlyFlags, OutputFlags {
  readonly name?: readonly string[] | undefined;
  readonly id?: readonly string[] | undefined;
}

/**
 * Deletes the keys with the given names and ids, the keys that the filters match, or the keys that the user selects at a
 * terminal, and prints the result.
 *
 * @param options `confirms`: without `--yes`, asks for confirmation even if names or ids are given
 * @throws {Failure} with any code; no key was deleted unless the message says that some were or may have been
 */
export async function deleteKeys(
  flags: DeleteFlags,
  { confirms }: { readonly confirms: boolean },
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const filterFlag = (["match", "expired", "unused"] as const).find((flag) => flags[flag] !== undefined);
  if (filterFlag !== undefined && (flags.name ?? flags.id) !== undefined) {
    throw new Failure("USAGE", `--${filterFlag} cannot be combined with --name or --id. Run the command twice.`);
  }
  const targets = parseTargets(flags);
  const [only, ...others] = targets;
  if (only === undefined && filterFlag === undefined && !canPrompt(flags, host)) {
    throw new Failure(
      "USAGE",
      "The command cannot prompt for the keys to delete. Add --name, --id, --match, --expired or --unused.",
    );
  }
  const isSimple = only !== undefined && others.length === 0 && !confirms;
  // In the executable, code that is loaded on demand cannot throw a `DeletionFailure` that this code recognizes.
  let deleted = 0;
  const countDeleted = (count: number): void => void (deleted += count);
  try {
    return await useClient(async (connect, interrupted, facts) => {
      const { describePlace, isStoreMissing, target } = facts;
      const place = describePlace();
      const deletion = { flags, confirms, connect, dialog: { host, interrupted, target }, countDeleted };
      const result = isSimple
        ? await deleteOne(await connect(), only, host)
        : await (await import("#lifecycle")).deleteMany(targets, deletion);
      const explains = isMissingKeys(result, flags) || isWithoutMatch(result);
      const search = explains ? await describeSearch(targets, await connect()) : NO_ADVICE;
      await printDeleteResult(result, { ...search, place, isStoreMissing: isStoreMissing() }, flags, host);
      if (result.kind === "deleted" && (result.risks ?? []).length > 0) {
        await (await import("#lifecycle")).warnAboutLockout(result, facts, host);
      }
      return isSuccess(result, flags) ? ExitCode.OK : ExitCode.FAILED;
    });
  } catch (error) {
    const isFailure = !(error instanceof Error && error.name === "GoBack");
    throw isFailure && !(error instanceof DeletionFailure) ? new DeletionFailure(deleted, error) : error;
  }
}

const NO_ADVICE: Explanation = { seesOnlyOwnKeys: false, advice: new Map() };

type Explanation = Pick<Search, "seesOnlyOwnKeys" | "advice">;

/** Finds out why keys may be missing. Of several names, explains at most {@linkcode MAX_ADVICE}. */
async function describeSearch(targets: readonly Target[], client: Client): Promise<Explanation> {
  const names = targets.flatMap((target) => target.kind === "name" ? [target.value] : []).slice(0, MAX_ADVICE);
  const advice = await Promise.all(names.map(async (name) => [name, await client.adviceOnName(name)] as const));
  return { seesOnlyOwnKeys: await client.seesOnlyOwnKeys(), advice: new Map(advice) };
}

const MAX_ADVICE = 5;

/** @throws {Failure} `INVALID_NAME`; `USAGE` if an id is empty */
function parseTargets({ name: names = [], id: ids = [] }: DeleteFlags): readonly Target[] {
  const targets: readonly Target[] = [
    ...names.map((name): Target => ({ kind: "name", value: parseExistingName(name) })),
    ...ids.map((id): Target => ({ kind: "id", value: parseId(id) })),
  ];
  return [...new Map(targets.map((target) => [`${target.kind} ${target.value}`, target])).values()];
}

function parseId(typed: string): string {
  const id = typed.trim();
  if (id !== "") return id;
  throw new Failure("USAGE", "--id is empty. Pass the id of a key, for example key_1.");
}

/** Deletes the keys with one name or id. Never prompts (spec section 4.2, rule 1). */
async function deleteOne(client: Client, target: Target, host: Host): Promise<DeleteResult> {
  const [found, inUse] = await Promise.all([findTarget(client, target), client.findKeyInUse()]);
  const keyInUse = inUse?.id;
  const isRisk = found.some(({ id, roles = [] }) => id === keyInUse || roles.includes("ADMIN"));
  const risks = isRisk ? await (await import("#lifecycle")).deletionRisksToWarnOf(client, found, keyInUse, host) : [];
  const keys = await deleteTarget(client, target, found);
  return keys.length === 0 ? { kind: "not found", target } : { kind: "deleted", keys, failed: [], risks };
}
