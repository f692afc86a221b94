/**
 * Registers every command except `apikey`, and gives access to shell completion and to the messages about mistakes in
 * command lines. The program loads this module on demand, so that `apikey` starts fast.
 */
import { registerAudit } from "./audit/audit.ts";
import type { RegisterCommand } from "../command.ts";
import { registerCompletions } from "../completions/completions.ts";
import { registerConfig } from "./config.ts";
import { registerLogin } from "./login/login.ts";
import { registerLogout } from "./logout.ts";
import { registerNeeds } from "./needs/needs.ts";
import { registerRequest } from "./request.ts";
import { registerResource } from "./resource/resource.ts";
import { registerServe } from "./serve/serve.ts";
import { registerStore } from "./store/store.ts";

export { complete } from "../completions/complete.ts";
export { usageFailure } from "../help/usage_failure.ts";

/** Every command except `apikey`, by name. */
export const COMMANDS = {
  request: registerRequest,
  needs: registerNeeds,
  resource: registerResource,
  serve: registerServe,
  store: registerStore,
  audit: registerAudit,
  config: registerConfig,
  login: registerLogin,
  logout: registerLogout,
  completions: registerCompletions,
} as const satisfies Readonly<Record<string, RegisterCommand>>;
