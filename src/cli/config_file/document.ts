/** The entry point for parsing and changing YAML. It is loaded only to parse or to write a config file. */
export { stageChanges } from "./edit.ts";
export { parseConfig } from "./yaml.ts";
