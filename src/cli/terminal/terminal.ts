/**
 * Output for people: colours, symbols, text widths, the rights matrix and progress. This entry file is loaded only at a
 * terminal.
 */
export { openProgress, withSpinner } from "./progress.ts";
export { drawRights } from "./rights_matrix.ts";
export { styleFor } from "./style.ts";
export { wrapText } from "./text_width.ts";
