/** `resource`: manages the custom resources of a server. Its subcommands have one file each. */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../../apikey/failure.ts";
import type { CommandContext, RegisterCommand } from "../../command.ts";
import { EXIT_STATUS } from "../../exit_code.ts";
import { registerAdd } from "./add.ts";
import { registerList } from "./list.ts";
import { registerRemove } from "./remove.ts";

const SUBCOMMANDS: readonly (readonly [name: string, summary: string, register: RegisterCommand])[] = [
  ["add", "add a resource", registerAdd],
  ["list", "list the resources that you added", registerList],
  ["remove", "remove a resource", registerRemove],
];

/** Registers the command with its subcommands. */
export function registerResource(command: Command, context: CommandContext): void {
  command
    .description("Manage the resources of your own services, in addition to the built-in ones.")
    .usage("<command> [options]")
    .helpCommand(false)
    .addHelpText("after", NOTES)
    .action(() => {
      throw new Failure("USAGE", "Choose a command: add, list or remove. See service-api resource --help.");
    });
  for (const [name, summary, register] of SUBCOMMANDS) {
    register(command.command(name).summary(summary), context);
  }
}

const NOTES = `
Custom resources:
  service-api apikey --help lists the built-in resources. After you have added a
  resource, keys can have permissions on it, and a service can ask the server
  whether a key has them. "*:READ_ANY" in --permissions includes the resources
  that exist at that time. The roles ADMIN and VIEWER always include all of
  them. A server can have at most 1,000 custom resources.

Examples:
  service-api resource add ORDERS --description "orders service"
  service-api apikey --create --name "shop" --permissions ORDERS:READ_ANY
  service-api resource list
${EXIT_STATUS}`;
