/** Entry file of the code that parses and changes YAML. Loaded only if a command needs the text of a config file. */
export { stageChanges } from "./edit.ts";
export { parseConfig } from "./yaml.ts";
