/** The `apikey` command: its flags, its help page, and the choice between create and delete. */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../../../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../../../apikey/role.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, type ExitCode } from "../../exit_code.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import type { Host } from "../../host/host.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { wrapWords } from "../../terminal/wrap.ts";
import { type CreateFlags, createKey } from "./create.ts";
import { deleteKeys } from "./delete.ts";

/** Registers the command. */
export function registerApikey(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description(
      "Create or delete API keys. At a terminal the command prompts for missing values.\n" +
        "With a name and a role or permission it never prompts.",
    )
    .usage(
      "[--create | --delete]\n" +
        "       service-api apikey --create --name <name> [options]\n" +
        "       service-api apikey --delete [--name <name>] [options]",
    )
    .optionsGroup("Mode:")
    .option("--create", "create a key and print its secret once")
    .option("--delete", "delete the keys with the given name, or select keys from a list")
    .optionsGroup("Key:")
    .option("--name <name>", "letters, digits and spaces; unique among keys")
    .option("--roles <roles>", "comma-separated roles")
    .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs")
    .option("--description <desc>", "what the key is for")
    .option("--overwrite", "replace the key with the same name, if there is one; its secret stops working immediately")
    .optionsGroup("Prompts:")
    .option("--yes", "skip the final confirmation")
    .option("--no-input", "never prompt; fail if a value is missing")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, also for failures");
  withServerFlags(withOwnFlags)
    .addHelpText("after", notes)
    .action(async (flags) => setExitCode(await apikey(flags, host, withClient(flags, host, log))));
}

/** Flags that `--delete` rejects. */
const CREATE_ONLY_FLAGS = ["roles", "permissions", "description", "overwrite"] as const;

interface ApikeyFlags extends CreateFlags {
  readonly create?: true | undefined;
  readonly delete?: true | undefined;
}

async function apikey(flags: ApikeyFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.create && flags.delete) throw new Failure("USAGE", "Use either --create or --delete, not both.");
  const mode = flags.create ? "create" : flags.delete ? "delete" : await promptForMode(flags, host);
  if (mode === "create") return await createKey(flags, host, useClient);
  const createOnly = CREATE_ONLY_FLAGS.find((flag) => flag in flags);
  if (createOnly !== undefined) {
    throw new Failure("USAGE", `--${createOnly} works only with --create, not with --delete.`);
  }
  return await deleteKeys(flags, host, useClient);
}

async function promptForMode(flags: ApikeyFlags, host: Host): Promise<"create" | "delete"> {
  if (!canPrompt(flags, host)) throw new Failure("USAGE", "Choose a mode: add --create or --delete.");
  const { openPrompts } = await import("#prompts");
  const prompts = await openPrompts(host);
  return await prompts.selectOne({
    label: "What do you want to do?",
    items: [
      { value: "create", label: "Create a key", hint: "prints its secret once" },
      { value: "delete", label: "Delete keys", hint: "selected from a list" },
    ],
  });
}

function indentedList(words: readonly string[]): string {
  return wrapWords(words, 76, " ").map((line) => `  ${line}`).join("\n");
}

function notes(): string {
  return `
Name:
  Letters and decimal digits of any script, and spaces. Spaces at both ends are
  removed and letters are normalized to NFC. At most 255 code points on the
  embedded server.

Roles:
${ROLES.map((role) => `  ${role.padEnd(9)}${ROLE_MEANINGS[role]}`).join("\n")}

Resources:
${indentedList(RESOURCES)}

Actions:
${indentedList(ACTIONS)}

Rights:
  A key may do what its roles and its permissions allow. _ANY includes _OWN.
  _OWN covers the key itself and the keys that it created.
  On the embedded server the roles grant:
    ADMIN    every action on every resource
    VIEWER   READ_ANY on every resource
    CONNECT  every action on CONNECT and CONNECT__REMOTE_ACCESS
    GUEST    READ_OWN on ME
  On the embedded server the calling key needs:
    --create     API_KEY:CREATE_ANY, and every right that the new key gets
    --overwrite  also API_KEY:DELETE_ANY, or API_KEY:DELETE_OWN if it created
                 the key
    --delete     API_KEY:READ_ANY and API_KEY:DELETE_ANY, or API_KEY:READ_OWN
                 and API_KEY:DELETE_OWN if it created the key
  Without --base-url and without a key, every user who can read and write the
  data directory has all rights.
  A pipeline key that replaces itself and the keys that it creates needs
  API_KEY:CREATE_ANY, API_KEY:READ_OWN, API_KEY:DELETE_OWN and every right that
  it grants.

Prompting:
  The command prompts if standard input and standard error are terminals.
  Without a terminal, or with --no-input, a missing value is a usage error.
  --create with a name and a role or permission never prompts. Otherwise it
  prompts for each missing value, shows the rights of the new key, and asks for
  confirmation. --yes skips that confirmation. If the name is taken and
  --overwrite is not given, it always asks before it replaces the key.
  --delete without --name lists the keys to select from.
  Arrows move, Space selects, and Enter confirms. Typing filters the list.
  Backspace and Ctrl-U edit the filter. Ctrl-A selects all visible items.
  In the permission grid the first row stands for every visible resource, and
  the position before the first column stands for every action.
  Ctrl-C at a prompt cancels the command. It then changes nothing.
  Prompts follow NO_COLOR, FORCE_COLOR and TERM=dumb. They are drawn in ASCII if
  the locale is not UTF-8.

Results:
  --create prints only the secret on standard output. It cannot be shown again.
  --delete prints how many keys it deleted.
  Prompts, the rights matrix and errors go to standard error.
  With --json standard output has exactly one line:
    created       {"key":"sak_...","name":"ci deploy","id":"key_..."}
    deleted       {"deleted":1,"keys":[{"id":"key_...","name":"ci deploy"}]}
    unknown name  {"deleted":0,"error":"No API key found with name: ci deploy"}
                  (exit status 1)
    no keys       {"deleted":0,"message":"No API keys found to delete"}
    no selection  {"deleted":0,"message":"No keys selected for deletion"}
    failure       {"error":"...","code":"..."}; with --delete also "deleted",
                  the number of keys deleted before the failure

Failure codes and exit statuses:
  INVALID_NAME          2  the name is empty, too long, or has other characters
  INVALID_ROLE          2  unknown role
  INVALID_PERMISSION    2  unknown resource or action, or not RESOURCE:ACTION
  NO_RIGHTS             2  neither a role nor a permission
  USAGE                 2  another invalid flag, value or environment variable
  ALREADY_EXISTS        1  the name is taken and --overwrite is not given
  FAILED                1  the server refused for another reason, or the output
                           could not be written
  UNAUTHENTICATED       3  the key is missing, mistyped, unknown or deleted, or
                           too many such requests came from one address
  FORBIDDEN             3  the key lacks a right; the message names it
  UNREACHABLE           4  no connection, or the store is full, not writable,
                           damaged, or of a newer version
  TLS                   4  the certificate or the TLS handshake failed
  TIMEOUT               4  no answer within --timeout, or another process locked
                           the store for that time
  BAD_RESPONSE          4  the answer is not GraphQL, or it is a redirect
  INTERRUPTED         130  Ctrl-C, SIGINT or SIGTERM, or not confirmed

Examples:
  # Create a key by hand.
  service-api apikey --create
  # Create a key in a script. The variable holds only the secret.
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  # Replace the key and its rights.
  service-api apikey --create --name "ci deploy" --overwrite --json \\
    --permissions DOCKER:READ_ANY,DOCKER:UPDATE_ANY
  # Delete a key, and stop the script if that fails.
  service-api apikey --delete --name "ci deploy" || exit
  # Select the keys to delete from a list.
  service-api apikey --delete
  # List the keys, and print who changed them.
  service-api request --query '{ apiKeys { name roles createdAt } }'
  service-api audit
${EXIT_STATUS}`;
}
