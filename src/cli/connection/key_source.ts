/** Says where the key in use comes from, so that a user can replace its secret there. */
import { quote } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { KeySource } from "../host/dialog.ts";
import type { EffectiveSettings } from "./effective_settings.ts";

/** @returns `undefined` if there is no key, if it is in a header of the user, or if a pipe or standard input contained it */
export function keySourceOf(settings: EffectiveSettings): KeySource | undefined {
  const { key, keyFile } = settings;
  if (keyFile === undefined) return key && { name: key.from, file: undefined, loginCommand: undefined };
  const { value: path, source, from } = keyFile;
  if (path === "-" || path.startsWith("/dev/fd/")) return undefined;
  const { profile } = settings.config;
  return source === "file"
    ? { name: `profile ${quote(profile?.name ?? "")}`, file: path, loginCommand: loginCommandFor(settings) }
    : { name: from, file: path, loginCommand: undefined };
}

/** Returns the command to which a user adds the file of a key, to store this key in the profile. */
function loginCommandFor({ baseUrl, config: { file, profile } }: EffectiveSettings): string | undefined {
  if (baseUrl === undefined || profile === undefined) return undefined;
  const config = file?.setting?.source === "flag" ? ` --config ${shellWord(file.path)}` : "";
  return `service-api login --profile ${shellWord(profile.name)}${config} --base-url ${shellWord(baseUrl.value)}`;
}
