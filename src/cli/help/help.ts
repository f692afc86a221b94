/** The entry point for help pages. The program loads it on demand, because most invocations need no help. */
export { formatFullPage, formatShortPage } from "./format.ts";
export { readPage } from "./page.ts";
export { formatTopic, formatTopics, readTopic } from "./topics.ts";
