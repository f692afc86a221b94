/**
 * The entry point for output to a terminal: colours, symbols, text widths, JSON, the rights matrix and progress. It is loaded
 * on demand, because commands in scripts do not need it.
 */
export { indentJson } from "./indent_json.ts";
export { openProgress } from "./progress.ts";
export { relativeTime, timeAgo, withRelativeTime } from "./relative_time.ts";
export { drawRights } from "./rights_matrix.ts";
export { isPlain, styleFor } from "./style.ts";
export { layoutTable, tableRow } from "./table.ts";
export { truncate, truncateMiddle, widthOf, wrapMessage, wrapText } from "./text_width.ts";
export { whileWaiting } from "./waiting.ts";
