/** `store`: manages the store of the embedded server as a whole. Its subcommand has its own file. */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../../apikey/failure.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT_STATUS } from "../../exit_code.ts";
import { registerCopy } from "./copy.ts";

/** Registers the command with its subcommand. */
export function registerStore(command: Command, context: CommandContext): void {
  command
    .description("Copy the store of the embedded server, for example to PostgreSQL.")
    .usage("copy [options]")
    .helpCommand(false)
    .addHelpText("after", NOTES)
    .action(() => {
      throw new Failure("USAGE", "Choose a command: copy. See service-api store --help.");
    });
  registerCopy(command.command("copy").summary("copy an SQLite store to an empty store"), context);
}

const NOTES = `
The store:
  The embedded server keeps its keys in the file keys.db of a data directory, or
  in a PostgreSQL database. service-api config shows which store is in use.

Examples:
  service-api store copy --from /var/lib/keys --data-dir /srv/keys
  service-api store copy --from /var/lib/keys \\
    --database-url postgres://service_api@localhost:5432/keys
${EXIT_STATUS}`;
