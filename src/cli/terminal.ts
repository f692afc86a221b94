/** What a person at a terminal is shown, besides questions. Loaded at a terminal only. */
export { adviceOn, pictureOf } from "./created_key.ts";
export { openProgress, whileWaiting } from "./status_line.ts";
export { styleFor } from "./style.ts";
