/** The entry point for the prompts of all commands. It is loaded only if a command prompts. */
export { confirmKey, promptForKey } from "./apikey/prompts/create_prompts.ts";
export { confirmDeletion, promptForKeys } from "./apikey/prompts/delete_prompts.ts";
export { describeKeys } from "./apikey/prompts/key_details.ts";
export { promptForMode } from "./apikey/prompts/mode_prompt.ts";
export { promptForOneKey } from "./apikey/prompts/one_key_prompt.ts";
export { promptForRotation } from "./apikey/prompts/rotate_prompts.ts";
export { openDialog } from "./apikey/prompts/open_dialog.ts";
export { requireRight } from "./apikey/prompts/require_right.ts";
export { confirmUpdate, updatePrompt } from "./apikey/prompts/update_prompts.ts";
export { openPrompts } from "../prompts/prompts.ts";
export { runSteps } from "../prompts/steps.ts";
