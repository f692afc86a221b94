/** `needs`: prints the least permissions that a GraphQL document needs. */
import type { Command } from "@commander-js/extra-typings";
import type { CommandContext } from "../../command.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS } from "../../exit_code.ts";
import { withServerFlags } from "../../settings/server_flags.ts";

/** Registers the command. */
export function registerNeeds(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("Print the least permissions that a GraphQL document needs, one per line.")
    .usage("<document> [options]")
    .argument("<document>", "GraphQL document, @file, or - for standard input")
    .optionsGroup("Document:")
    .option("--schema <file>", "the schema as SDL with @usePermissions, or the JSON result of introspection")
    .option("--variables <json>", "JSON object with the variables of the document, @file, or - for standard input")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (document, flags) => {
      const { printNeeds } = await import("#needs");
      setExitCode(await printNeeds(document, flags, host, withClient(flags, host, log)));
    });
}

const NOTES = `
Schema:
  Without --schema, needs asks the server to describe its schema. With --schema,
  it contacts no server. A schema states the permission of a field in one of
  these forms. The second one is a part of the description of the field.
    @usePermissions(action: "READ_ANY", resource: "API_KEY")

    #### Required Permissions:
    - Action: **READ_ANY**
    - Resource: **API_KEY**
  If a schema states no permissions at all, needs fails with UNSUPPORTED.

Results:
  The permissions cover all operations of the document, with all fragments. A
  field of an interface counts for every type that implements the interface.
  @skip and @include omit a field only if their condition is a literal or a
  variable with a value in --variables.
  Schemas state permissions for all keys, for example DELETE_ANY. DELETE_OWN can
  be enough if the document is only for the calling key and the keys that it
  created. The mutation create with overwrite: true also needs
  API_KEY:DELETE_ANY, and so does update with managedBy.
  Notes on standard error say how many fields have no stated permission, and
  which rights the document grants to keys. A key can grant only rights that it
  has.
  With --json, needs prints {"permissions":["API_KEY:READ_ANY"],"unstated":0}.

Examples:
  service-api needs '{ apiKeys { name } }'
  service-api needs @report.graphql --schema schema.graphql
  service-api needs @import.graphql --variables '{"input":{"overwrite":true}}'
  # Create a key for a document. The command shows the permissions and asks.
  service-api apikey --create --name report --permissions-for @report.graphql
${EXIT_STATUS}`;
