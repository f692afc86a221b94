/** The prompts of `apikey --create`. */
import { parseDescription } from "../../../apikey/description.ts";
import { escapeInvisible, Failure, quote } from "../../../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../../../apikey/name.ts";
import { RESOURCES } from "../../../apikey/permission.ts";
import { type Role, ROLES } from "../../../apikey/role.ts";
import type { Client, EffectivePermissions, NewKey } from "../../../client/client.ts";
import type { PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import type { PermissionsOptions } from "../../prompts/options.ts";
import { openPrompts, type Prompts } from "../../prompts/prompts.ts";
import { drawRights } from "../../terminal/rights_matrix.ts";
import { styleFor } from "../../terminal/style.ts";
import { wrapText } from "../../terminal/text_width.ts";
import type { KeyDraft } from "./create.ts";

/** The width of the titles in the summary, in columns. */
const TITLE_WIDTH = 15;

/**
 * Prompts for the missing values of the draft and shows a summary with the effective rights. Without `--yes`, asks for
 * confirmation.
 *
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm; `ALREADY_EXISTS` if the draft's name is
 * taken and the user does not want to replace the key; other codes if the server cannot check the name
 */
export async function promptForKey(
  draft: KeyDraft,
  flags: PromptFlags,
  host: Host,
  connect: () => Promise<Client>,
  interrupted: AbortSignal,
): Promise<NewKey> {
  const prompts = await openPrompts(host, interrupted);
  const { name, overwrite } = await promptForName(draft, prompts, connect);
  const description = draft.description ??
    await prompts.text({
      label: "Description",
      hint: "what the key is for (optional)",
      check: (typed) => void parseDescription(typed),
    });
  const client = await connect();
  const roles = draft.roles ?? await promptForRoles(prompts, client);
  const permissions = draft.permissions ??
    await prompts.permissions({
      label: "Permissions",
      resources: await resourcesOfServer(client),
      roles,
      ...await rulesOfServer(roles, client),
    });
  const key = {
    ...draft,
    name,
    description: description.trim() === "" ? undefined : description,
    roles,
    permissions,
    overwrite,
  };
  await confirmKey(key, { initial: true }, flags, host, client, interrupted);
  return key;
}

/**
 * Shows a key with its effective rights. Without `--yes`, asks for confirmation.
 *
 * @param initial the answer if the user only presses Enter
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm
 */
export async function confirmKey(
  key: NewKey,
  { initial }: { readonly initial: boolean },
  flags: PromptFlags,
  host: Host,
  client: Client,
  interrupted: AbortSignal,
): Promise<void> {
  await host.stderr.write(formatSummary(key, await client.effectivePermissions(key), host));
  const label = key.overwrite ? "Create this key and replace any key with the same name?" : "Create this key?";
  if (flags.yes) return;
  const prompts = await openPrompts(host, interrupted);
  if (!await prompts.confirm({ label, initial })) throw new Failure("INTERRUPTED", "Nothing was created.");
}

/**
 * Prompts for the name if it is missing. If the name is taken and `--overwrite` is not set, asks whether to replace the
 * key.
 */
async function promptForName(
  draft: KeyDraft,
  prompts: Prompts,
  connect: () => Promise<Client>,
): Promise<Pick<NewKey, "name" | "overwrite">> {
  const check = (typed: string): void => void parseName(typed);
  const name = draft.name ??
    parseName(await prompts.text({ label: "Name", hint: "letters, digits and spaces", check }));
  const { overwrite } = draft;
  if (overwrite || !await isTaken(name, await connect())) return { name, overwrite };
  const label = `A key named ${quote(name)} already exists. Replace it and revoke its secret?`;
  if (await prompts.confirm({ label, initial: false })) return { name, overwrite: true };
  if (draft.name !== undefined) throw nameTaken(name);
  return await promptForName(draft, prompts, connect);
}

/**
 * Returns whether a key has this name, or `false` if the user's key is not allowed to read keys. If the name is taken
 * after all, the server rejects the new key.
 */
async function isTaken(name: Name, client: Client): Promise<boolean> {
  try {
    return (await client.findKeys(name)).length > 0;
  } catch (error) {
    if (error instanceof Failure && error.code === "FORBIDDEN") return false;
    throw error;
  }
}

/** Describes the roles as the server does, because they mean something else on other servers. */
async function promptForRoles(prompts: Prompts, client: Client): Promise<readonly Role[]> {
  const descriptions = await client.roleDescriptions();
  return await prompts.select({
    label: "Roles",
    items: ROLES.map((role) => ({
      value: role,
      label: role,
      hint: escapeInvisible((descriptions.get(role) ?? "").replaceAll(/\s+/g, " ")),
    })),
  });
}

/** Asks the server for its resources. Returns those of this program if the server does not describe its schema. */
async function resourcesOfServer(client: Client): Promise<readonly string[]> {
  try {
    return (await client.listEnumNames()).resources;
  } catch (error) {
    if (error instanceof Failure && ["FAILED", "FORBIDDEN", "BAD_RESPONSE"].includes(error.code)) return RESOURCES;
    throw error;
  }
}

/** Asks the server for the rights of the roles, and uses one permission to find out whether `_ANY` includes `_OWN`. */
async function rulesOfServer(
  roles: readonly string[],
  client: Client,
): Promise<Pick<PermissionsOptions, "byRoles" | "anyIncludesOwn">> {
  const { byRoles, byPermissions } = await client.effectivePermissions({ roles, permissions: ["API_KEY:READ_ANY"] });
  return { byRoles, anyIncludesOwn: byPermissions.has("API_KEY:READ_OWN") };
}

function formatSummary(
  { name, description, roles, permissions, expiresAt }: NewKey,
  rights: EffectivePermissions,
  host: Host,
): string {
  const style = styleFor(host.stderr, host);
  const columns = host.stderr.columns();
  const rows = [
    ["Name", name],
    ["Description", escapeInvisible(description ?? "")],
    ["Roles", roles.join(", ")],
    ["Permissions", permissions.join(", ")],
    ["Expires", expiresAt?.toISOString() ?? ""],
  ] as const;
  const lines = rows.filter(([, value]) => value !== "").flatMap(([title, value]) =>
    wrapText(value, columns - TITLE_WIDTH - 1)
      .map((line, index) => style.dim((index === 0 ? `  ${title}` : "").padEnd(TITLE_WIDTH)) + line)
  );
  return ["", ...lines, "", ...drawRights(rights, columns, style), "", ""].join("\n");
}
