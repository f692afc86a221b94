/** Formats one key for people and, line by line, for other programs. */
import { escapeInvisible } from "../../../../apikey/failure.ts";
import type { ApiKey, EffectivePermissions, KeyReference } from "../../../../client/client.ts";
import type { Host } from "../../../host/host.ts";
import { summarizePermissions } from "../../../terminal/permission_summary.ts";
import { statusOf, toKeyJson } from "../key_output.ts";

/** Returns a line for each field: its name, a colon, a tab and the value. */
export function formatFields(key: ApiKey, now: Date): string {
  const fields = Object.entries({ ...toKeyJson(key), status: statusOf(key, now) ?? null });
  return fields.map(([name, value]) => `${name}:\t${escapeInvisible(String(value ?? ""))}\n`).join("");
}

/**
 * Returns the fields that the server reports, and the rights as a table.
 *
 * @param creator the key that created this key; `undefined` if it is unknown
 * @param rights `undefined` if they are unknown
 */
export async function formatForTerminal(
  key: ApiKey,
  creator: KeyReference | undefined,
  rights: EffectivePermissions | undefined,
  host: Host,
): Promise<string> {
  const { drawRights, styleFor, timeAgo, withRelativeTime, wrapText } = await import("#terminal");
  const style = styleFor(host.stdout, host);
  const columns = host.stdout.columns();
  const now = host.now();
  const status = statusOf(key, now);
  // Only the embedded server has revisions. It reports every field, so `null` is not an unknown time.
  const never = key.revision === null ? null : "never";
  const time = (text: string | null): string | null => text && withRelativeTime(text, now);
  const past = (text: string | null): string | null => text && `${text} (${timeAgo(text, now)})`;
  const fields = [
    ["Name", key.name],
    ["Id", key.id],
    ["Description", key.description],
    ["Status", status],
    ["Roles", key.roles && (key.roles.join(", ") || "none")],
    ["Permissions", key.permissions && (summarizePermissions(key.permissions) || "none")],
    ["Expires", time(key.expiresAt) ?? never],
    ["Last used", past(key.lastUsedAt) ?? never],
    ["Created", past(key.createdAt)],
    ["Created by", creator === undefined ? key.createdBy : `${creator.name} (${creator.id})`],
    ["Updated", past(key.updatedAt)],
    ["Old secret", key.graceUntil && `valid until ${time(key.graceUntil)}`],
    ["Managed by", key.managedBy],
  ] as const;
  const lines = fields.flatMap(([label, value]) => {
    if (!value) return [];
    const [first = "", ...others] = wrapText(escapeInvisible(value), columns - LABEL_WIDTH - 1);
    const paint = label === "Status" && status !== "active" ? style.red : (text: string) => text;
    return [
      `${style.dim(label.padEnd(LABEL_WIDTH))}${paint(first)}`,
      ...others.map((line) => " ".repeat(LABEL_WIDTH) + line),
    ];
  });
  const matrix = rights === undefined ? [] : ["", ...drawRights(escapeRights(rights), columns, style)];
  return [...lines, ...matrix, ""].join("\n");
}

/** The width of the labels and the space after them. */
const LABEL_WIDTH = 13;

/** The permissions of a key come from the server, which may not know the rules for names. */
export function escapeRights({ roles, byRoles, byPermissions }: EffectivePermissions): EffectivePermissions {
  return {
    roles: roles.map(escapeInvisible),
    byRoles,
    byPermissions: new Set([...byPermissions].map(escapeInvisible)),
  };
}
