/** What a person at a terminal is asked. Loaded when there is something to ask, and somebody to answer. */
export { askForKey } from "./apikey/create_prompts.ts";
export { askForKeys } from "./apikey/delete_prompts.ts";
export { openQuestions } from "../prompts/prompts.ts";
export { createKeyReader, markPastes } from "../prompts/key_reader.ts";
