/** `apikey --create` (spec section 4.1). */
import { Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import { parseName } from "../../../apikey/name.ts";
import { parsePermissions } from "../../../apikey/permission.ts";
import { requireSomeRights } from "../../../apikey/rights.ts";
import { parseRoles } from "../../../apikey/role.ts";
import type { CreatedKey, NewKey } from "../../../client/client.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { UseClient } from "../../connection/connection.ts";
import type { GivenKey } from "./create_prompts.ts";
import { ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { writeJson } from "../../report.ts";

/** The flags of the command, as they were typed. */
export interface CreateFlags extends PromptFlags {
  readonly name?: string | undefined;
  readonly roles?: string | undefined;
  readonly permissions?: string | undefined;
  readonly description?: string | undefined;
  readonly overwrite?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Creates a key and prints its secret, alone on standard output. A person at a terminal is asked for what is missing:
 * with a name and a role or permission given, nothing is.
 *
 * @throws {Failure} of any kind; no key was made, unless the message says otherwise
 */
export async function create(flags: CreateFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const given = decideCreate(flags);
  const isComplete = given.name !== undefined && (given.roles ?? given.permissions) !== undefined;
  if (isComplete || !canPrompt(flags, host)) {
    const key = requireComplete(given);
    await useClient(async (connect) => print(await (await connect()).create(key), key, "not asked", flags, host));
  } else {
    const { promptForKey } = await import("#prompts");
    await useClient(async (connect, interrupted) => {
      const key = await promptForKey(given, flags, host, connect, interrupted);
      await print(await (await connect()).create(key), key, "asked", flags, host);
    });
  }
  return ExitCode.OK;
}

/**
 * Turns the flags into what they say of the key.
 *
 * @throws {Failure} `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`
 */
function decideCreate(flags: CreateFlags): GivenKey {
  return {
    name: flags.name === undefined ? undefined : parseName(flags.name),
    description: flags.description,
    roles: flags.roles === undefined ? undefined : parseRoles(flags.roles),
    permissions: flags.permissions === undefined ? undefined : parsePermissions(flags.permissions),
    overwrite: flags.overwrite ?? false,
  };
}

/**
 * Sees that nothing is missing that nobody can be asked for.
 *
 * @throws {Failure} `USAGE`, `NO_RIGHTS`
 */
function requireComplete({ name, roles = [], permissions = [], ...rest }: GivenKey): NewKey {
  if (name === undefined) throw new Failure("USAGE", "Creating a key needs a name: give --name.");
  requireSomeRights(roles, permissions);
  return { ...rest, name, roles, permissions };
}

async function print(
  created: CreatedKey,
  key: NewKey,
  person: "asked" | "not asked",
  flags: CreateFlags,
  host: Host,
): Promise<void> {
  const isShown = !flags.json && host.stdout.isTerminal() && host.stderr.isTerminal();
  if (isShown && person === "not asked") await tell(host, ({ formatRights }) => formatRights(key, host));
  try {
    if (flags.json) await writeJson(host.stdout, { key: created.key, name: created.name, id: created.id });
    else await host.stdout.write(`${created.key}\n`);
  } catch (error) {
    throw undelivered(created, error);
  }
  if (isShown || person === "asked") await tell(host, ({ formatNextSteps }) => formatNextSteps(created, host));
}

/** Tells a person something. That it cannot be told is no reason to lose the secret. */
async function tell(host: Host, words: (terminal: typeof import("#terminal")) => string): Promise<void> {
  try {
    await host.stderr.write(words(await import("#terminal")));
  } catch {
    // The secret is what counts, and whoever reads standard output has it.
  }
}

/** The key is there, but nobody has its secret: say so, since only the user can mend it. */
function undelivered({ name, id }: CreatedKey, cause: unknown): Failure {
  return new Failure(
    "FAILED",
    `The key ${quote(name)} (${id}) was created, but its secret is lost: ${reasonOf(cause)} ` +
      "Delete the key, or create it again with --overwrite.",
    { cause },
  );
}
