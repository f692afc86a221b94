/**
 * The entry point for every command except `apikey`, for shell completion, and for the error messages about mistyped
 * command lines. It is loaded on demand, so that `apikey` starts fast.
 */
import { registerAudit } from "./audit.ts";
import type { RegisterCommand } from "../command.ts";
import { registerCompletions } from "../completions/completions.ts";
import { registerConfig } from "./config.ts";
import { registerLogin } from "./login.ts";
import { registerLogout } from "./logout.ts";
import { registerRequest } from "./request.ts";
import { registerServe } from "./serve/serve.ts";

export { complete } from "../completions/complete.ts";
export { usageFailure } from "../usage_failure.ts";

/** Every command except `apikey`, by name. */
export const COMMANDS = {
  request: registerRequest,
  serve: registerServe,
  audit: registerAudit,
  config: registerConfig,
  login: registerLogin,
  logout: registerLogout,
  completions: registerCompletions,
} as const satisfies Readonly<Record<string, RegisterCommand>>;
