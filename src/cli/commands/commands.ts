/**
 * The commands beside `apikey`, what answers a shell at a Tab, and what tells of mistyped command lines. Loaded when it
 * is wanted: `apikey` is what starts thousands of times a day.
 */
import { defineAudit } from "./audit.ts";
import type { Define } from "../command.ts";
import { defineCompletions } from "../completions/completions.ts";
import { defineConfig } from "./config.ts";
import { defineLogin } from "./login.ts";
import { defineLogout } from "./logout.ts";
import { defineRequest } from "./request.ts";
import { defineServe } from "./serve/serve.ts";

export { complete } from "../completions/complete.ts";
export { usageFailure } from "../usage_failure.ts";

/** By their names. */
export const DEFINITIONS = {
  request: defineRequest,
  serve: defineServe,
  audit: defineAudit,
  config: defineConfig,
  login: defineLogin,
  logout: defineLogout,
  completions: defineCompletions,
} as const satisfies Readonly<Record<string, Define>>;
