/** What `apikey` can do without a subcommand, and the flags that only some of it takes. */

export type Mode = "create" | "list" | "show" | "update" | "rotate" | "delete";

/** Flags that `--delete` rejects. */
export const CREATE_ONLY_FLAGS = [
  "roles",
  "permissions",
  "permissionsFor",
  "description",
  "expiresIn",
  "expiresAt",
  "overwrite",
  "secretFile",
] as const;

/** Flags that select keys. */
export const FILTER_FLAGS = ["match", "expired", "unused"] as const;

/** Flags that `--create` rejects. */
export const DELETE_ONLY_FLAGS = ["id", ...FILTER_FLAGS, "ifExists"] as const;
