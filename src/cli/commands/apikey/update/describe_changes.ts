/** Shows what an update changes about a key, before and after. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import { redactSecrets } from "../../../../apikey/secret.ts";
import type { ApiKey, KeyChanges } from "../../../../client/client.ts";

/** Returns one line for each member that changes, with the value before and the value after. Masks secrets. */
export function describeChanges(key: ApiKey, changes: KeyChanges): string {
  const rows = [
    ["name", changes.name !== undefined && `${quote(key.name)} → ${quote(changes.name)}`],
    ["description", changes.description !== undefined && textChange(key.description, changes.description)],
    ["roles", changes.roles && `${listText(key.roles)} → ${listText(changes.roles)}`],
    ["permissions", changes.permissions && describePermissions(key.permissions ?? [], changes.permissions)],
    ["expires", changes.expiresAt !== undefined && `${key.expiresAt ?? "never"} → ${changes.expiresAt ?? "never"}`],
    ["enabled", typeof changes.enabled === "boolean" && `${yesOrNo(key.enabled)} → ${yesOrNo(changes.enabled)}`],
  ] as const;
  const lines = rows.flatMap(([title, text]) => text ? [`  ${title.padEnd(11)}  ${escapeInvisible(text)}\n`] : []);
  return redactSecrets([`Changes to the key ${quote(key.name)} (${escapeInvisible(key.id)}):\n`, ...lines].join(""));
}

function textChange(before: string | null, after: string | null): string {
  return [before, after].map((text) => text === null ? "none" : quote(text)).join(" → ");
}

function listText(items: readonly string[] | null): string {
  return items === null ? "unknown" : items.join(", ") || "none";
}

/** A key can have hundreds of permissions, so this shows only those that differ. */
function describePermissions(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((permission) => !before.includes(permission)).map((permission) => ` +${permission}`);
  const removed = before.filter((permission) => !after.includes(permission)).map((permission) => ` -${permission}`);
  return `${before.length} → ${after.length}:${[...added, ...removed].join("")}`;
}

function yesOrNo(value: boolean | null): string {
  return value === null ? "unknown" : value ? "yes" : "no";
}
