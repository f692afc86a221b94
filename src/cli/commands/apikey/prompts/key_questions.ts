/** The questions about a key that the user creates or changes. Each question begins with the answer so far. */
import { parseDescription } from "../../../../apikey/description.ts";
import { escapeInvisible, Failure } from "../../../../apikey/failure.ts";
import { expiryFrom } from "../../../../apikey/lifetime.ts";
import { parseName } from "../../../../apikey/name.ts";
import { isAction, type Permission, RESOURCES } from "../../../../apikey/permission.ts";
import { ROLES } from "../../../../apikey/role.ts";
import type { Client } from "../../../../client/client.ts";
import type { PermissionsOptions } from "../../../prompts/options.ts";
import type { Prompts } from "../../../prompts/prompts.ts";

/** The answers so far. The questions change them. */
export interface Answers {
  /** As typed. */
  name: string;
  description: string;
  roles: readonly string[];
  permissions: readonly Permission[];
}

/** What every question needs. */
export interface Asking {
  readonly answers: Answers;
  readonly prompts: Prompts;
  /** Whether the user can go back. The question then throws `GoBack`, and keeps the answer so far. */
  readonly canGoBack: boolean;
}

export async function askName({ answers, prompts, canGoBack }: Asking): Promise<void> {
  answers.name = await prompts.text({
    label: "Name",
    hint: "letters, digits and spaces",
    initial: answers.name,
    check: (typed) => void parseName(typed),
    saveDraft: (typed) => void (answers.name = typed),
    canGoBack,
  });
}

export async function askDescription({ answers, prompts, canGoBack }: Asking): Promise<void> {
  answers.description = await prompts.text({
    label: "Description",
    hint: "what the key is for (optional)",
    initial: answers.description,
    check: (typed) => void parseDescription(typed),
    saveDraft: (typed) => void (answers.description = typed),
    canGoBack,
  });
}

/** Describes the roles as the server does, because they mean something else on other servers. */
export async function askRoles({ answers, prompts, canGoBack }: Asking, client: Client): Promise<void> {
  const descriptions = await client.roleDescriptions();
  answers.roles = await prompts.select({
    label: "Roles",
    items: [...new Set<string>([...ROLES, ...answers.roles])].map((role) => ({
      value: role,
      label: escapeInvisible(role),
      hint: escapeInvisible((descriptions.get(role) ?? "").replaceAll(/\s+/g, " ")),
    })),
    initial: answers.roles,
    saveDraft: (roles) => void (answers.roles = roles),
    canGoBack,
  });
}

export async function askPermissions({ answers, prompts, canGoBack }: Asking, client: Client): Promise<void> {
  const { roles, permissions } = answers;
  const named = permissions.map((permission) => permission.replace(/:.*/, ""));
  answers.permissions = await prompts.permissions({
    label: "Permissions",
    resources: [...new Set([...await resourcesOfServer(client), ...named])],
    roles,
    ...await rulesOfServer(roles, client),
    initial: permissions,
    saveDraft: (selected) => void (answers.permissions = selected),
    canGoBack,
  });
}

/**
 * Asks for a duration. The answer is empty if the key does not expire.
 *
 * @param initial the duration so far, as typed
 */
export async function askExpiry(
  initial: string,
  { prompts, canGoBack }: Omit<Asking, "answers">,
  now: Date,
): Promise<string> {
  const typed = await prompts.text({
    label: "Expires in",
    hint: "for example 90d; leave it empty if the key does not expire",
    emptyAnswer: "never",
    initial,
    check: (text) => void (text.trim() === "" || expiryFrom({ expiresIn: text }, now)),
    canGoBack,
  });
  return typed.trim();
}

/** The permissions that the grid can show. Other servers can have more actions. */
export function knownPermissions(permissions: readonly string[]): readonly Permission[] {
  return permissions.filter((permission): permission is Permission => isAction(permission.replace(/^[^:]*:/, "")));
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
