/** The config file as YAML: reading it and changing it. Loaded where there is one. */
export { stageChanges } from "./edit.ts";
export { parseConfig } from "./yaml.ts";
