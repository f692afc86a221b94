/** Parts of the output of commands that print keys. */
import type { ApiKey } from "../../../client/client.ts";

/** A key as commands print it with `--json`. The order of the members is part of the interface. */
export function toKeyJson({ revision: _, ...members }: ApiKey): Omit<ApiKey, "revision"> {
  return members;
}

export type KeyStatus = "active" | "disabled" | "expired";

/** Returns `undefined` if the server does not report whether keys are enabled. */
export function statusOf({ enabled, expiresAt }: ApiKey, now: Date): KeyStatus | undefined {
  if (enabled === false) return "disabled";
  if (expiresAt !== null && new Date(expiresAt) <= now) return "expired";
  return enabled === null ? undefined : "active";
}

/** Names the roles, and counts the permissions: for example `VIEWER, 2 permissions`. */
export function describeRights({ roles, permissions }: Pick<ApiKey, "roles" | "permissions">): string {
  const count = permissions?.length ?? 0;
  return [...roles ?? [], ...(count === 0 ? [] : [`${count} permission${count === 1 ? "" : "s"}`])].join(", ");
}
