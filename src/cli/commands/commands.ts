/**
 * Entry file of every command except `apikey`, of shell completion, and of the messages for mistyped command lines.
 * Loaded on demand, so that `apikey` starts fast.
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

/** The commands by name. */
export const COMMANDS = {
  request: registerRequest,
  serve: registerServe,
  audit: registerAudit,
  config: registerConfig,
  login: registerLogin,
  logout: registerLogout,
  completions: registerCompletions,
} as const satisfies Readonly<Record<string, RegisterCommand>>;
