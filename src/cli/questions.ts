/** What a person at a terminal is asked. Loaded when there is something to ask, and somebody to answer. */
export { askForKey } from "./create_questions.ts";
export { askForKeys } from "./delete_questions.ts";
export { openQuestions } from "./prompts/questions.ts";
export { createKeyReader, markPastes } from "./terminal_keys.ts";
