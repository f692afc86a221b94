/** What a person at a terminal is shown, besides questions. Loaded at a terminal only. */
export { formatNextSteps, formatRights } from "./apikey/create_output.ts";
export { openProgress, whileWaiting } from "../terminal/progress.ts";
export { styleFor } from "../terminal/style.ts";
