/** `apikey --create` (spec section 4.1). */
import { parseDescription } from "../../../apikey/description.ts";
import { Failure } from "../../../apikey/failure.ts";
import { hasName, type Name, parseName } from "../../../apikey/name.ts";
import { type NamedPermission, parsePermissionsOf } from "../../../apikey/permission.ts";
import { requireSomeRights } from "../../../apikey/rights.ts";
import { parseRolesOf } from "../../../apikey/role.ts";
import { UnknownName } from "../../../apikey/unknown_name.ts";
import type { Client, IssuedKey, NewKey } from "../../../client/client.ts";
import type { UseClient } from "../../connection/connection.ts";
import { ExitCode } from "../../exit_code.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { parseAt, parseExpiry } from "../../settings/parse_at.ts";
import { printCreatedKey, showsRights, withDestination } from "./create_output.ts";
import type { KeyFlags, OutputFlags } from "./key_flags.ts";
import { type KnownNames, parseKnownNames, parseNamesOfServer } from "./known_names.ts";

/** The flags as typed. */
export interface CreateFlags extends KeyFlags, OutputFlags {
  readonly name?: string | undefined;
}

/** The parsed flags. Prompts add the missing values. */
export interface KeyDraft {
  readonly name: Name | undefined;
  readonly description: string | undefined;
  readonly roles: readonly string[] | undefined;
  readonly permissions: readonly NamedPermission[] | undefined;
  readonly overwrite: boolean;
  readonly expiresAt: Date | undefined;
}

/**
 * Creates a key and prints its secret, or writes it to the file of `--secret-file`. If a name and a role or permission are
 * given, never prompts. `--permissions-for` asks for confirmation.
 *
 * @throws {Failure} with any code; no key was created unless the message says that it was or may have been
 */
export async function createKey(flags: CreateFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const { permissionsFor } = flags;
  const isComplete = flags.name !== undefined && (flags.roles ?? flags.permissions ?? permissionsFor) !== undefined;
  const wasPrompted = !isComplete && canPrompt(flags, host);
  const isForDocument = !wasPrompted && permissionsFor !== undefined;
  if (permissionsFor !== undefined && !flags.yes && !canPrompt(flags, host)) throw cannotConfirm();
  const parse = (known: KnownNames): KeyDraft => parseDraft(flags, known, host.now());
  const parsed = parseKnownNames(parse);
  if (!wasPrompted && !(parsed instanceof UnknownName)) {
    (permissionsFor === undefined ? requireComplete : requireName)(parsed);
  }
  await useClient(async (connect, interrupted, { target, timeout, keySource }) => {
    const dialog = { host, interrupted, target };
    const destination = { host, timeout, interrupted, unchanged: "Nothing was created." };
    await withDestination(flags, destination, async (secretFile) => {
      const typed = parsed instanceof UnknownName ? await parseNamesOfServer(parse, parsed, await connect()) : parsed;
      const draft = permissionsFor === undefined ? typed : await addPermissions(permissionsFor, typed, host, connect);
      const key = wasPrompted
        ? await (await import("#prompts")).promptForKey(draft, flags, dialog, connect)
        : isForDocument
        ? await (await import("#prompts")).confirmKey(requireComplete(draft), flags, dialog, connect)
        : requireComplete(draft);
      const client = await connect();
      // Asks before creating the key: nothing may delay or prevent the printing of its secret.
      const asksForRights = !wasPrompted && !isForDocument && showsRights(flags, host);
      const rights = asksForRights ? await client.effectivePermissions(key) : undefined;
      const hasPrompted = wasPrompted || (isForDocument && !flags.yes);
      const create = async (isStored: boolean): Promise<IssuedKey> => {
        const created = await client.createKey(key);
        await printCreatedKey({ created, secretFile, rights, wasPrompted: hasPrompted, isStored }, flags, host);
        return created;
      };
      if (!await replacesKeyInUse(key, client)) return void await create(false);
      const { withNewSecret } = await import("#lifecycle");
      const offers = hasPrompted && !flags.yes && !flags.json;
      await withNewSecret({ source: keySource, secretFile, offers, dialog, timeout }, create);
    });
  });
  return ExitCode.OK;
}

/** Whether the key in use has the name of the new key, which replaces it. */
async function replacesKeyInUse({ name, overwrite }: NewKey, client: Client): Promise<boolean> {
  const keyInUse = overwrite ? await client.findKeyInUse() : undefined;
  return keyInUse !== undefined && hasName(keyInUse, name);
}

function cannotConfirm(): Failure {
  return new Failure(
    "USAGE",
    "--permissions-for asks for confirmation, because the server decides which permissions it adds. If it cannot " +
      "prompt, add --yes. To see the permissions first, run service-api needs.",
  );
}

/** Adds the permissions that a document needs. */
async function addPermissions(
  document: string,
  draft: KeyDraft,
  host: Host,
  connect: () => Promise<Client>,
): Promise<KeyDraft> {
  const { permissionsFor } = await import("#needs");
  const needed = await permissionsFor(document, host, connect);
  return { ...draft, permissions: [...new Set([...draft.permissions ?? [], ...needed])] };
}

/**
 * @throws {Failure} `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`; `USAGE` if the description is too long or the
 * expiry is not in the future
 */
function parseDraft(flags: CreateFlags, { roles, resources }: KnownNames, now: Date): KeyDraft {
  const { roles: roleLists, permissions: permissionLists } = flags;
  return {
    name: flags.name === undefined ? undefined : parseName(flags.name),
    description: flags.description === undefined ? undefined : parseDescription(flags.description),
    roles: roleLists && parseAt("--roles", () => parseRolesOf(roles, roleLists)),
    permissions: permissionLists && parseAt("--permissions", () => parsePermissionsOf(resources, permissionLists)),
    overwrite: flags.overwrite ?? false,
    expiresAt: parseExpiry(flags, now),
  };
}

/** @throws {Failure} `USAGE` */
function requireName({ name }: KeyDraft): Name {
  if (name !== undefined) return name;
  throw new Failure("USAGE", "The command cannot prompt for the name of the key. Add --name.");
}

/** @throws {Failure} `USAGE`, `NO_RIGHTS` */
function requireComplete(draft: KeyDraft): NewKey {
  const { roles = [], permissions = [] } = draft;
  const name = requireName(draft);
  requireSomeRights(roles, permissions);
  return { ...draft, name, roles, permissions };
}
