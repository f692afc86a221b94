/** `apikey --create` (spec section 4.1). */
import { parseDescription } from "../../../apikey/description.ts";
import { Failure } from "../../../apikey/failure.ts";
import { type Name, parseName } from "../../../apikey/name.ts";
import { parsePermissions, type Permission } from "../../../apikey/permission.ts";
import { requireSomeRights } from "../../../apikey/rights.ts";
import { parseRoles, type Role } from "../../../apikey/role.ts";
import type { NewKey } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import { canPrompt, type PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { printCreatedKey, showsRights } from "./create_output.ts";

/** The flags as typed. */
export interface CreateFlags extends PromptFlags {
  readonly name?: string | undefined;
  readonly roles?: string | undefined;
  readonly permissions?: string | undefined;
  readonly description?: string | undefined;
  readonly overwrite?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** The parsed flags. Prompts add the missing values. */
export interface KeyDraft {
  readonly name: Name | undefined;
  readonly description: string | undefined;
  readonly roles: readonly Role[] | undefined;
  readonly permissions: readonly Permission[] | undefined;
  readonly overwrite: boolean;
}

/**
 * Creates a key and prints its secret. If a name and a role or permission are given, never prompts.
 *
 * @throws {Failure} with any code; no key was created unless the message says that it was or may have been
 */
export async function createKey(flags: CreateFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const draft = parseDraft(flags);
  if (await host.discardsOutput()) throw secretWouldBeLost();
  const isComplete = draft.name !== undefined && (draft.roles ?? draft.permissions) !== undefined;
  if (isComplete || !canPrompt(flags, host)) {
    const key = requireComplete(draft);
    await useClient(async (connect) => {
      const client = await connect();
      // Asks before creating the key: nothing may delay or prevent the printing of its secret.
      const rights = showsRights(flags, host) ? await client.effectivePermissions(key) : undefined;
      const created = await client.createKey(key);
      await printCreatedKey({ created, rights, wasPrompted: false }, flags, host);
    });
  } else {
    const { promptForKey } = await import("#prompts");
    await useClient(async (connect, interrupted) => {
      const key = await promptForKey(draft, flags, host, connect, interrupted);
      const created = await (await connect()).createKey(key);
      await printCreatedKey({ created, rights: undefined, wasPrompted: true }, flags, host);
    });
  }
  return ExitCode.OK;
}

function secretWouldBeLost(): Failure {
  return new Failure(
    "FAILED",
    "Standard output is closed or is /dev/null, so the secret of the new key would be lost. Nothing was created. " +
      "Write standard output to a file or a pipe.",
  );
}

/** @throws {Failure} `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`; `USAGE` if the description is too long */
function parseDraft(flags: CreateFlags): KeyDraft {
  return {
    name: flags.name === undefined ? undefined : parseName(flags.name),
    description: flags.description === undefined ? undefined : parseDescription(flags.description),
    roles: flags.roles === undefined ? undefined : parseRoles(flags.roles),
    permissions: flags.permissions === undefined ? undefined : parsePermissions(flags.permissions),
    overwrite: flags.overwrite ?? false,
  };
}

/** @throws {Failure} `USAGE`, `NO_RIGHTS` */
function requireComplete({ name, roles = [], permissions = [], ...rest }: KeyDraft): NewKey {
  if (name === undefined) throw new Failure("USAGE", "--create needs --name if it cannot prompt.");
  requireSomeRights(roles, permissions);
  return { ...rest, name, roles, permissions };
}
