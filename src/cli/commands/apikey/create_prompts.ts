/** What `apikey --create` asks a person for, as far as flags do not say it. */
import { escapeInvisible, Failure, quote } from "../../../apikey/failure.ts";
import { type Name, nameTaken, parseName } from "../../../apikey/name.ts";
import type { Permission } from "../../../apikey/permission.ts";
import { type Role, ROLE_MEANINGS, ROLES } from "../../../apikey/role.ts";
import type { Client, NewKey } from "../../../client/client.ts";
import type { PromptFlags } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { openPrompts, type Prompts } from "../../prompts/prompts.ts";
import { drawRights } from "../../terminal/rights_matrix.ts";
import { styleFor } from "../../terminal/style.ts";
import { linesOf } from "../../terminal/text_width.ts";

/** Columns before the values of the summary. */
const TITLE_WIDTH = 15;

/** A key as far as flags say what it is to be. */
export interface GivenKey {
  readonly name: Name | undefined;
  readonly description: string | undefined;
  readonly roles: readonly Role[] | undefined;
  readonly permissions: readonly Permission[] | undefined;
  readonly overwrite: boolean;
}

/**
 * Asks for what is not given, shows what it comes to, and asks whether that is wanted.
 *
 * @throws {Failure} `INTERRUPTED` when it is not; `ALREADY_EXISTS` when a given name is taken and is not to be replaced
 */
export async function promptForKey(
  given: GivenKey,
  flags: PromptFlags,
  host: Host,
  connect: () => Promise<Client>,
  interrupted: AbortSignal,
): Promise<NewKey> {
  const prompts = await openPrompts(host, interrupted);
  const { name, overwrite } = await askForName(given, prompts, connect);
  const description = given.description ??
    await prompts.text({ label: "Description", hint: "what the key is for; may be empty" });
  const roles = given.roles ?? await prompts.select({
    label: "Roles",
    items: ROLES.map((role) => ({ value: role, label: role, hint: ROLE_MEANINGS[role] })),
  });
  const permissions = given.permissions ?? await prompts.permissions({ label: "Permissions", roles });
  const key = { name, description: description.trim() === "" ? undefined : description, roles, permissions, overwrite };
  await host.stderr.write(summarize(key, host));
  const question = overwrite ? "Create this key in place of any other of that name?" : "Create this key?";
  if (flags.yes || await prompts.confirm({ label: question, initial: true })) return key;
  throw new Failure("INTERRUPTED", "Nothing was created.");
}

/** A name that is free, or whose key is to be replaced. */
async function askForName(
  given: GivenKey,
  prompts: Prompts,
  connect: () => Promise<Client>,
): Promise<Pick<NewKey, "name" | "overwrite">> {
  const check = (typed: string): void => void parseName(typed);
  const name = given.name ??
    parseName(await prompts.text({ label: "Name", hint: "letters, digits and spaces", check }));
  const { overwrite } = given;
  if (overwrite || !await isTaken(name, await connect())) return { name, overwrite };
  const label = `A key named ${quote(name)} exists. Replace it? Its secret fails at once.`;
  if (await prompts.confirm({ label, initial: false })) return { name, overwrite: true };
  if (given.name !== undefined) throw nameTaken(name);
  return await askForName(given, prompts, connect);
}

/** Whoever may create keys but not read them finds out when the key is created. */
async function isTaken(name: Name, client: Client): Promise<boolean> {
  try {
    return (await client.find(name)).matches.length > 0;
  } catch (error) {
    if (error instanceof Failure && error.code === "FORBIDDEN") return false;
    throw error;
  }
}

function summarize({ name, description, roles, permissions }: NewKey, host: Host): string {
  const style = styleFor(host.stderr, host);
  const columns = host.stderr.columns();
  const room = columns - TITLE_WIDTH - 1;
  const rows = [
    ["Name", name],
    ["Description", escapeInvisible(description ?? "")],
    ["Roles", roles.join(", ")],
    ["Permissions", permissions.join(", ")],
  ] as const;
  const lines = rows.filter(([, value]) => value !== "").flatMap(([title, value]) =>
    linesOf(value, room).map((line, index) => style.dim((index === 0 ? `  ${title}` : "").padEnd(TITLE_WIDTH)) + line)
  );
  return ["", ...lines, "", ...drawRights(roles, permissions, columns, style), "", ""].join("\n");
}
