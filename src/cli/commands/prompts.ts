/** The entry point for the prompts of all commands. It is loaded only if a command prompts. */
export { confirmKey, promptForKey } from "./apikey/create_prompts.ts";
export { confirmDeletion, promptForKeys } from "./apikey/delete/delete_prompts.ts";
export { promptForOneKey } from "./apikey/select/one_key_prompt.ts";
export { openPrompts } from "../prompts/prompts.ts";
