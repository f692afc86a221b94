/** `logout`: removes the key that `login` stored. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import type { Session } from "../command.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { readConfig } from "../config_file/read.ts";
import { directoryOf, lockOf, storedKey } from "../config_file/path.ts";
import { removeFile, withLock } from "../config_file/private_file.ts";
import { type ProfileFlags, withProfileFlags } from "../settings/server_flags.ts";

/** Declares the command. */
export function registerLogout(command: Command, { host, setExitCode }: Session): void {
  withProfileFlags(command.description("Remove the key that login stored. The profile keeps its server."))
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await logout(flags, host)));
}

/**
 * Removes the key of a profile.
 *
 * @throws {Failure} `USAGE` when it is in a file that `login` did not write, `FAILED` when it cannot be removed
 */
export async function logout(flags: ProfileFlags, host: Host): Promise<ExitCode> {
  const { file, profile } = await readConfig(flags, host);
  const isDone = file !== undefined && profile !== undefined;
  if (!isDone) {
    await host.stdout.write("There is no profile to log out of.\n");
    return ExitCode.OK;
  }
  const keyPath = `${directoryOf(file.path, host)}${storedKey(profile.name)}`;
  const keyFile = profile.values.get("keyFile");
  if (keyFile !== undefined && keyFile.value !== keyPath) {
    throw new Failure(
      "USAGE",
      `${keyFile.name} is ${quote(keyFile.value)}, which login did not write: remove it yourself.`,
    );
  }
  const wasThere = await withLock(lockOf(file), host, async () => {
    const { stageChanges } = await import("#config-document");
    const isRemoved = await removeFile(keyPath);
    if (keyFile !== undefined) {
      await (await stageChanges(file, profile.name, { "key-file": undefined }, host)).commit();
    }
    return isRemoved;
  });
  const server = profile.values.get("baseUrl")?.value;
  await host.stdout.write(
    wasThere || keyFile !== undefined
      ? `Logged out${server === undefined ? "" : ` of ${server}`}.\n`
      : `There is no key of the profile ${profile.name} to remove.\n`,
  );
  for (const name of ["SERVICE_API_KEY", "SERVICE_API_KEY_FILE"].filter((name) => host.env(name) !== undefined)) {
    // deno-lint-ignore no-await-in-loop -- one line after the other
    await host.stderr.write(`${name} is still set, and is used all the same.\n`);
  }
  return ExitCode.OK;
}

const NOTES = `
Examples:
  service-api logout
  service-api logout --profile staging
${EXIT_STATUS}`;
