/** The config file as YAML: reading it and changing it. Loaded where there is one. */
export { stageChanges } from "./config_edit.ts";
export { parseConfig } from "./config_yaml.ts";
