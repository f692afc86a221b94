/** The entry point for parsing and changing YAML. It is loaded only if there is a config file to parse or change. */
export { stageChanges } from "./edit.ts";
export { parseConfig } from "./yaml.ts";
