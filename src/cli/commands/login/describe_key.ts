/** Describes the key of a login, and warns about the role ADMIN. */
import { escapeInvisible } from "../../../apikey/failure.ts";
import type { Verification } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";

/** The maximum number of permissions to list. The number of further permissions is shown for each action. */
const MAX_LISTED = 6;

/** Shows at a terminal what a key may do and until when. Warns if it has the role ADMIN, also in a pipe. */
export async function describeKey(verification: Verification | undefined, host: Host): Promise<void> {
  const key = verification?.isActive ? verification.key : undefined;
  if (key === undefined) return;
  const { relativeTime, styleFor, wrapText } = await import("#terminal");
  const { dim, yellow } = styleFor(host.stderr, host);
  const rows = [
    ["Roles", key.roles?.join(", ")],
    ["Permissions", describePermissions(key.permissions ?? [])],
    ["Expires", key.expiresAt && `${relativeTime(key.expiresAt, host.now())} (${key.expiresAt})`],
  ] as const;
  const width = host.stderr.columns() - LABEL_WIDTH - 3;
  const lines = rows.flatMap(([label, value]) => {
    const [first, ...others] = value ? wrapText(escapeInvisible(value), width) : [];
    return first === undefined ? [] : [
      `  ${dim(label.padEnd(LABEL_WIDTH))}${first}\n`,
      ...others.map((line) => `${" ".repeat(LABEL_WIDTH + 2)}${line}\n`),
    ];
  });
  const isTerminal = host.stderr.isTerminal();
  const warning = isTerminal ? wrapText(ADMIN_WARNING, host.stderr.columns() - 1) : [ADMIN_WARNING];
  const shownWarning = key.roles?.includes("ADMIN") ? warning.map((line) => `${yellow(line)}\n`) : [];
  await host.stderr.write([...isTerminal ? lines : [], ...shownWarning].join(""));
}

/** The width of the labels and the space after them. */
const LABEL_WIDTH = 13;

const ADMIN_WARNING = "Warning: this key has the role ADMIN. Any program that runs as you can read it, and can then " +
  "create, change and delete every key. For daily work, create a key with fewer rights (service-api apikey create) " +
  "and log in with it.";

function describePermissions(permissions: readonly string[]): string {
  if (permissions.length <= MAX_LISTED) return permissions.join(", ");
  const byAction = Map.groupBy(permissions, (pair) => pair.replace(/^.*:/, ""));
  return [...byAction].map(([action, pairs]) => {
    return pairs.length === 1 ? pairs.join() : `${action} on ${pairs.length} resources`;
  }).join(", ");
}
