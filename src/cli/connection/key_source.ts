/** Says where the key in use comes from, so that a user can replace its secret there. */
import { quote } from "../../apikey/failure.ts";
import { shellWord } from "../../apikey/shell_word.ts";
import type { Endpoint } from "../../client/endpoint.ts";
import { NEW_SECRET_REMEDY } from "../../client/response_failure.ts";
import type { KeySource } from "../host/dialog.ts";
import type { ConfigPath } from "../config_file/path.ts";
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

/** Returns the command that stores a key in the profile that the user has selected. */
export function loginCommandOf({ config: { file, profileSetting } }: EffectiveSettings): string {
  const profile = profileSetting === undefined ? "" : ` --profile ${shellWord(profileSetting.value)}`;
  return `service-api login${profile}${configFlag(file)}`;
}

function configFlag(file: ConfigPath | undefined): string {
  return file?.setting?.source === "flag" ? ` --config ${shellWord(file.path)}` : "";
}

/** Returns the command to which a user adds the file of a key, to store this key in the profile. */
function loginCommandFor({ baseUrl, config: { file, profile } }: EffectiveSettings): string | undefined {
  if (baseUrl === undefined || profile === undefined) return undefined;
  return `service-api login --profile ${shellWord(profile.name)}${configFlag(file)} --base-url ${
    shellWord(baseUrl.value)
  }`;
}

/** What messages advise if the server rejects the key. */
export type KeyRemedies = Required<Pick<Endpoint, "keyRemedy" | "knownKeyRemedy" | "newSecretRemedy">>;

/**
 * Returns advice that names the place of the key, so that the user knows which of several keys was sent.
 *
 * @param login the command that stores a key in the profile that the user has selected
 */
export function keyRemediesFor(source: KeySource | undefined, login: string): KeyRemedies {
  const command = source?.loginCommand;
  const set = command === undefined
    ? `Set a valid key with SERVICE_API_KEY or --key-file, or store one with ${login}.`
    : `Run ${command} to store a valid key.`;
  const pass = command === undefined ? NEW_SECRET_REMEDY : `Run ${command} to store it.`;
  return {
    keyRemedy: `${sayPlace("The key", source)}${set}`,
    knownKeyRemedy: sayPlace("The key", source).trimEnd(),
    newSecretRemedy: `${pass} ${sayPlace("The old secret", source)}`.trimEnd(),
  };
}

/** Returns, for example, `The key is in "/etc/ci.key" (--key-file). `; empty if the place is unknown. */
function sayPlace(what: string, source: KeySource | undefined): string {
  if (source === undefined) return "";
  return `${what} is in ${source.file === undefined ? source.name : `${quote(source.file)} (${source.name})`}. `;
}
