/** `logout`: removes the key that `login` stored. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { wrapFor } from "../host/notes.ts";
import { otherProfiles, readConfig } from "../config_file/read.ts";
import { directoryOf, keyFileOf } from "../config_file/path.ts";
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
 * `login` did not write the key file; `FAILED` if the key file cannot be removed or the config file cannot be written
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
  const keyPath = `${directoryOf(file.path, host)}${keyFileOf(profile.name)}`;
  const keyFile = profile.values.get("keyFile");
  if (keyFile !== undefined && keyFile.value !== keyPath) {
    throw new Failure(
      "USAGE",
      `${keyFile.name} is ${quote(keyFile.value)}, which login did not write. Remove this file yourself.`,
    );
  }
  const existed = await withLock(file, host, async () => {
    const { stageChanges } = await import("#config-document");
    const isRemoved = await removeFile(keyPath);
    if (keyFile !== undefined) {
      await (await stageChanges(file, profile.name, { "key-file": undefined }, host)).commit();
    }
    return isRemoved;
  });
  const server = profile.values.get("baseUrl")?.value;
  const result = existed || keyFile !== undefined
    ? `Logged out${server === undefined ? "" : ` of ${server}. Profile ${profile.name} keeps this URL`}.`
    : `Not logged in: profile ${profile.name} has no key.`;
  await host.stdout.write(`${await wrapFor(host.stdout, result)}\n`);
  for (const name of ["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"].filter((name) => host.env(name) !== undefined)) {
    // deno-lint-ignore no-await-in-loop -- the lines keep their order
    await host.stderr.write(`${name} is still set: unset it too.\n`);
  }
  return ExitCode.OK;
}

const NOTES = `
logout removes the file keys/<profile>.key, in the directory of the config file,
and the setting key-file of the profile. The server still accepts the key. To
revoke the key, run service-api apikey --delete. logout does not remove a key
file that login did not write.

Examples:
  service-api logout
  service-api logout --profile staging
${EXIT_STATUS}`;
