/** What a person at a terminal is shown, besides questions. Loaded at a terminal only. */
export { drawRights } from "./rights_matrix.ts";
export { openProgress, whileWaiting } from "./status_line.ts";
export { styleFor } from "./style.ts";
