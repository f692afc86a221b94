/** `resource add`: adds a custom resource. */
import type { Command } from "@commander-js/extra-typings";
import { parseDescription } from "../../../apikey/description.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { writeJson } from "../../report.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { addResource } from "./requests.ts";
import { parseResourceName } from "./resource_name.ts";

/** Registers the subcommand. */
export function registerAdd(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("Add a resource, so that keys can have permissions on it.")
    .usage("<resource> [options]")
    .argument("<resource>", "letters, digits and single underscores, for example ORDERS")
    .optionsGroup("Resource:")
    .option("--description <desc>", "what the resource is, in at most 1,024 characters")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (name, flags) => setExitCode(await add(name, flags, host, withClient(flags, host, log))));
}

interface AddFlags {
  readonly description?: string | undefined;
  readonly json?: true | undefined;
}

/** @throws {Failure} `USAGE`, `ALREADY_EXISTS`, `UNSUPPORTED`, or any other code */
async function add(typed: string, flags: AddFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  const name = parseResourceName(typed);
  const description = flags.description === undefined ? undefined : parseDescription(flags.description);
  const added = await useClient(async (connect) => await addResource(await connect(), { name, description }));
  if (flags.json) await writeJson(host.stdout, added);
  else await host.stdout.write(`Added the resource ${name}\n`);
  return ExitCode.OK;
}

const NOTES = `
The name begins with a letter and has at most 64 characters. Lower case becomes
upper case. The built-in resources and those that were added before cannot be
added again. If you use a key, it needs PERMISSION:CREATE_ANY. To give a key a
permission on the resource, the calling key must have this permission too.

--json prints {"name":"ORDERS","description":"orders service"}. The description
is null if there is none.

Examples:
  service-api resource add ORDERS --description "orders service"
  service-api apikey --create --name "shop" --permissions ORDERS:READ_ANY
${EXIT_STATUS}`;
