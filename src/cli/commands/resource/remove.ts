/** `resource remove`: removes a custom resource. */
import type { Command } from "@commander-js/extra-typings";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { writeJson } from "../../report.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { removeResource } from "./requests.ts";
import { parseResourceName } from "./resource_name.ts";

/** Registers the subcommand. */
export function registerRemove(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("Remove a resource that no key has permissions on. Never prompts.")
    .usage("<resource> [options]")
    .argument("<resource>", "the name of a resource that was added")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (name, flags) => setExitCode(await remove(name, flags, host, withClient(flags, host, log))));
}

interface RemoveFlags {
  readonly json?: true | undefined;
}

/** @throws {Failure} `USAGE`, `NOT_FOUND`, `UNSUPPORTED`, `FAILED` if a key names the resource, or any other code */
async function remove(typed: string, flags: RemoveFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const name = parseResourceName(typed);
  await useClient(async (connect) => await removeResource(await connect(), name));
  if (flags.json) await writeJson(host.stdout, { removed: name });
  else await host.stdout.write(`Removed the resource ${name}\n`);
  return ExitCode.OK;
}

const NOTES = `
The server does not remove a resource while any key has a permission on it, even
if the key is disabled or has expired. Delete or update these keys first. If you
use a key, it needs PERMISSION:DELETE_ANY.

--json prints {"removed":"ORDERS"}.

Examples:
  # List the keys that may read orders, by role or by permission.
  service-api apikey list --can ORDERS:READ_ANY
  service-api apikey update "shop" --remove-permissions "ORDERS:*"
  service-api resource remove ORDERS
${EXIT_STATUS}`;
