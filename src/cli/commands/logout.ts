/** `logout`: removes the key that `login` stored. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { wrapFor } from "../host/notes.ts";
import { keyFileUse } from "../config_file/key_file.ts";
import { otherProfiles, readConfig, readConfigFile } from "../config_file/read.ts";
import { removeFile, withLock } from "../config_file/private_file.ts";
import { type ProfileFlags, withProfileFlags } from "../settings/server_flags.ts";

/** Registers the command. */
export function registerLogout(command: Command, { host, setExitCode }: CommandContext): void {
  withProfileFlags(command.description("Remove the key that login stored. The profile keeps its server."))
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await logout(flags, host)));
}

/**
 * Removes the key of a profile.
 *
 * @throws {Failure} `USAGE` if the config file is invalid, if the profile that a setting names is missing, or if
 * the key file is not in the directory of `login`; `FAILED` if the key file cannot be removed or the config file cannot be written
 */
export async function logout(flags: ProfileFlags, host: Host): Promise<ExitCode> {
  const config = await readConfig(flags, host);
  const { file, profile } = config;
  if (file === undefined || profile === undefined) {
    const others = otherProfiles(config);
    const result = `Not logged in: there is no profile "default".${others === "" ? "" : ` ${others}`}`;
    await host.stdout.write(`${await wrapFor(host.stdout, result)}\n`);
    return ExitCode.OK;
  }
  const removal = await withLock(file, host, async () => {
    const profiles = (await readConfigFile(file, host))?.profiles ?? config.profiles;
    const keyFile = profiles.get(profile.name)?.values.get("keyFile");
    const use = await keyFileUse(profile.name, { file, profiles }, host);
    if (keyFile === undefined || use === undefined) return undefined;
    if (!use.isInKeys) {
      throw new Failure(
        "USAGE",
        `${keyFile.name} is ${quote(keyFile.value)}, which login did not write. Remove this file yourself.`,
      );
    }
    const { stageChanges } = await import("#config-document");
    if (use.others.length === 0) await removeFile(use.path);
    await (await stageChanges(file, profile.name, { "key-file": undefined }, host)).commit();
    return use;
  });
  const server = profile.values.get("baseUrl")?.value;
  const kept = removal === undefined || removal.others.length === 0
    ? ""
    : ` The file ${quote(removal.path)} remains, because it is also the key-file of ${nameProfiles(removal.others)}.`;
  const result = removal === undefined
    ? `Not logged in: profile ${profile.name} has no key.`
    : `Logged out${server === undefined ? "" : ` of ${server}. Profile ${profile.name} keeps this URL`}.${kept}`;
  await host.stdout.write(`${await wrapFor(host.stdout, result)}\n`);
  for (const name of ["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"].filter((name) => host.env(name) !== undefined)) {
    // deno-lint-ignore no-await-in-loop -- the lines keep their order
    await host.stderr.write(`${name} is still set: unset it too.\n`);
  }
  return ExitCode.OK;
}

function nameProfiles(names: readonly string[]): string {
  return `${names.length === 1 ? "profile" : "the profiles"} ${names.join(", ")}`;
}

const NOTES = `
logout removes the setting key-file of the profile, and the file that it names.
The server still accepts the key. To revoke the key, run service-api apikey
--delete. logout removes a file only if it is in the directory keys, next to the
config file, and only if no other profile uses it.

Examples:
  service-api logout
  service-api logout --profile staging
${EXIT_STATUS}`;
