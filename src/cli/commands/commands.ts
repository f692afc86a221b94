/**
 * The commands beside `apikey`, what answers a shell at a Tab, and what tells of mistyped command lines. Loaded when it
 * is wanted: `apikey` is what starts thousands of times a day.
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

/** By their names. */
export const DEFINITIONS = {
  request: registerRequest,
  serve: registerServe,
  audit: registerAudit,
  config: registerConfig,
  login: registerLogin,
  logout: registerLogout,
  completions: registerCompletions,
} as const satisfies Readonly<Record<string, RegisterCommand>>;
