/** Reading and changing the config file as YAML. Loaded only if there is a config file. */
export { stageChanges } from "./edit.ts";
export { parseConfig } from "./yaml.ts";
