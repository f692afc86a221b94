/** What a person at a terminal is asked. Loaded when there is something to ask, and somebody to answer. */
export { promptForKey } from "./apikey/create_prompts.ts";
export { promptForKeys } from "./apikey/delete_prompts.ts";
export { openPrompts } from "../prompts/prompts.ts";
export { createKeyReader, markPastes } from "../prompts/key_reader.ts";
