/** Changes one profile of a config file. Keeps all other settings and their comments, but not the indentation. */
import { Document, isMap, isScalar, YAMLMap } from "yaml";
import type { Host } from "../host/host.ts";
import type { ConfigPath } from "./path.ts";
import { parseConfig } from "./yaml.ts";
import { readConfigText } from "./read.ts";
import { type StagedFile, stageFile } from "./private_file.ts";

/** New values for members of a profile. `undefined` removes the member. */
export type Changes = Readonly<Record<string, string | boolean | Readonly<Record<string, string>> | undefined>>;

/**
 * Writes the changed config file under a temporary name. To replace the config file, call `commit` on the result.
 *
 * Withdraws the permissions of other users if the file contains headers or the URL of a database.
 *
 * @throws {Failure} `USAGE` if the config file is invalid, `FAILED` if the temporary file cannot be written
 */
export async function stageChanges(
  config: ConfigPath,
  profile: string,
  changes: Changes,
  host: Host,
): Promise<StagedFile> {
  const text = await readConfigText(config, host) ?? "";
  // If the path is a symbolic link, replaces its target and keeps the link.
  const path = await Deno.realPath(config.path).catch(() => config.path);
  const mode = await Deno.stat(path).then(({ mode }) => mode ?? 0o600, () => 0o600);
  const changed = applyChanges(text, config.path, profile, changes);
  const permissions = holdsSecrets(changed, config.path) ? 0o700 : 0o777;
  return await stageFile(path, changed, mode & permissions, host);
}

function applyChanges(text: string, path: string, profile: string, changes: Changes): string {
  const document = text === "" ? new Document() : parseConfig(text, path, (written) => written).document;
  const root = isMap(document.contents) ? document.contents : new YAMLMap(document.schema);
  document.contents = root;
  const mapping = childMapping(childMapping(root, "profiles", document), profile, document);
  for (const [member, value] of Object.entries(changes)) {
    if (value === undefined) mapping.delete(member);
    else mapping.set(member, typeof value === "object" ? document.createNode(value) : value);
  }
  const output = document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? output.replaceAll(/\r?\n/g, "\r\n") : output;
}

/** Whether a profile has headers or the URL of a database, which may contain a password. */
function holdsSecrets(text: string, path: string): boolean {
  const { profiles } = parseConfig(text, path, (written) => written);
  return [...profiles.values()].some(({ headers, values }) => headers.length > 0 || values.has("databaseUrl"));
}

/** Returns the mapping with this name. Adds it if it is missing. */
function childMapping(parent: YAMLMap, name: string, document: Document): YAMLMap {
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === name);
  if (isMap(pair?.value)) {
    if (pair.value.items.length === 0) pair.value.flow = false;
    return pair.value;
  }
  const child = new YAMLMap(document.schema);
  if (pair === undefined) parent.set(document.createNode(name), child);
  else {
    if (isScalar(pair.value)) child.commentBefore = pair.value.comment ?? pair.value.commentBefore ?? null;
    pair.value = child;
  }
  return child;
}
