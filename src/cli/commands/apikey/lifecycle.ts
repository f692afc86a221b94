/**
 * Registers the subcommands of `apikey`, except `create` and `delete`, and deletes several keys. The program loads this
 * module on demand, so that `apikey --create` starts fast.
 */
import type { RegisterCommand } from "../../command.ts";
import { registerList } from "./list/list.ts";
import { registerRotate } from "./rotate.ts";
import { registerShow } from "./show/show.ts";
import { registerUpdate } from "./update/update.ts";
import { registerVerify } from "./verify/verify.ts";
import { registerApply } from "./reconcile/apply.ts";
import { registerEnsure } from "./reconcile/ensure.ts";
import type { SubcommandName } from "./subcommands.ts";

export { withNewSecret } from "./key_in_use/new_secret.ts";
export { deleteMany } from "./delete/delete_many.ts";
export { deletionRisksToWarnOf } from "./delete/delete_safely.ts";
export { warnAboutLockout } from "./delete/lockout_warning.ts";
export { listKeys } from "./list/list.ts";
export { rotate } from "./rotate.ts";
export { showKey } from "./show/show.ts";
export { update } from "./update/update.ts";

/** Every subcommand except `create` and `delete`, by name. */
export const LIFECYCLE_COMMANDS = {
  list: registerList,
  show: registerShow,
  update: registerUpdate,
  rotate: registerRotate,
  verify: registerVerify,
  ensure: registerEnsure,
  apply: registerApply,
} as const satisfies Readonly<
  Record<Exclude<SubcommandName, "create" | "delete">, RegisterCommand>
>;
