/** Shows what changes about a key, before and after. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import { redactSecrets } from "../../../../apikey/secret.ts";
import type { ApiKey, KeyChanges } from "../../../../client/client.ts";
import type { Host, Output } from "../../../host/host.ts";
import { styleFor } from "../../../terminal/style.ts";
import { wrapWords } from "../../../terminal/wrap.ts";

const TITLE_WIDTH = 13;

/**
 * Returns lines for each member that changes, with the value before and the value after. Masks secrets. At a terminal,
 * breaks long lines between words.
 *
 * @param indentation the number of spaces before each line
 */
export function describeChanges(
  key: ApiKey,
  changes: KeyChanges,
  output: Output,
  host: Host,
  indentation: number,
): readonly string[] {
  const arrow = output.isTerminal() ? styleFor(output, host).symbols.arrow : "→";
  const rows = [
    ["name", changes.name !== undefined && `${quote(key.name)} ${arrow} ${quote(changes.name)}`],
    ["description", changes.description !== undefined && textChange(key.description, changes.description, arrow)],
    ["roles", changes.roles && `${listText(key.roles)} ${arrow} ${listText(changes.roles)}`],
    ["permissions", changes.permissions && describePermissions(key.permissions ?? [], changes.permissions, arrow)],
    [
      "expires",
      changes.expiresAt !== undefined && `${key.expiresAt ?? "never"} ${arrow} ${changes.expiresAt ?? "never"}`,
    ],
    ["enabled", typeof changes.enabled === "boolean" && `${yesOrNo(key.enabled)} ${arrow} ${yesOrNo(changes.enabled)}`],
    ["managed by", changes.managedBy !== undefined && textChange(key.managedBy, changes.managedBy, arrow)],
  ] as const;
  const width = output.isTerminal() ? output.columns() - 1 - indentation - TITLE_WIDTH : Infinity;
  const indent = " ".repeat(indentation);
  return rows.flatMap(([title, text]) => {
    if (!text) return [];
    const lines = wrapWords(escapeInvisible(redactSecrets(text)).split(" "), width, " ");
    return lines.map((line, index) => `${indent}${(index === 0 ? title : "").padEnd(TITLE_WIDTH)}${line}`);
  });
}

function textChange(before: string | null, after: string | null, arrow: string): string {
  return [before, after].map((text) => text === null ? "none" : quote(text)).join(` ${arrow} `);
}

function listText(items: readonly string[] | null): string {
  return items === null ? "unknown" : items.join(", ") || "none";
}

/** A key can have hundreds of permissions, so this shows only those that differ. */
function describePermissions(before: readonly string[], after: readonly string[], arrow: string): string {
  const added = after.filter((permission) => !before.includes(permission)).map((permission) => ` +${permission}`);
  const removed = before.filter((permission) => !after.includes(permission)).map((permission) => ` -${permission}`);
  return `${before.length} ${arrow} ${after.length}:${[...added, ...removed].join("")}`;
}

function yesOrNo(value: boolean | null): string {
  return value === null ? "unknown" : value ? "yes" : "no";
}
