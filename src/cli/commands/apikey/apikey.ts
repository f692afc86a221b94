/**
 * The `apikey` command: its flags, its help page, and the choice between create and delete. Also its subcommands `create`
 * and `delete`, which do the same as the flags.
 */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../../../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../../../apikey/role.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import type { Dialog } from "../../host/dialog.ts";
import type { Host } from "../../host/host.ts";
import { collect, withServerFlags } from "../../settings/server_flags.ts";
import { wrapWords } from "../../terminal/wrap.ts";
import { type CreateFlags, createKey } from "./create.ts";
import { type DeleteFlags, deleteKeys } from "./delete.ts";
import { withDeleteFlags, withKeyFlags, withOutputFlags } from "./key_flags.ts";
import { CREATE_ONLY_FLAGS, DELETE_ONLY_FLAGS, type Mode } from "./mode.ts";
import { chooseName } from "./select/choose_name.ts";

/** Registers the command. */
export function registerApikey(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withModes = command
    .description(
      "Create, list, change, rotate and delete API keys. At a terminal, the command prompts for missing values.",
    )
    .usage(
      "--create [--name <name>] [options]\n" +
        "--delete [--name <name> | --id <id>]... [options]\n" +
        "<command> [options]",
    )
    .optionsGroup("Mode:")
    .option("--create", "create a key and print its secret once")
    .option("--delete", "delete keys by name or id, by --match, --expired or --unused, or selected from a list")
    .optionsGroup("Key:")
    .option("--name <name>", "letters, digits and spaces; unique among keys; with --delete, repeatable", collect)
    .option("--id <id>", "with --delete: the id of a key; repeatable", collect);
  withServerFlags(withOutputFlags(withDeleteFlags(withKeyFlags(withModes))))
    .addHelpText("after", notes)
    .action(async (flags) => setExitCode(await apikey(flags, host, withClient(flags, host, log))));
}

/** Registers the subcommand `create`. */
export function registerCreate(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withName = command
    .description("Create a key and print its secret once. The same as service-api apikey --create.")
    .usage("[name] [options]")
    .argument("[name]", "letters, digits and spaces; unique among keys")
    .optionsGroup("Key:")
    .option("--name <name>", "the same as the argument");
  withServerFlags(withOutputFlags(withKeyFlags(withName)))
    .addHelpText("after", `${EXAMPLES_OF_CREATE}${SEE_APIKEY}`)
    .action(async (name, flags) => {
      const keyFlags = { ...flags, name: chooseName(name, flags) };
      setExitCode(await createKey(keyFlags, host, withClient(flags, host, log)));
    });
}

/** Registers the subcommand `delete`. */
export function registerDelete(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withNames = command
    .description("Delete keys. The same as service-api apikey --delete.")
    .usage("[name]... [options]")
    .argument("[name...]", "the names of the keys")
    .optionsGroup("Key:")
    .option("--name <name>", "the same as an argument; repeatable", collect)
    .option("--id <id>", "the id of a key; repeatable", collect);
  withServerFlags(withOutputFlags(withDeleteFlags(withNames)))
    .addHelpText("after", `${DELETING_MANY}${EXAMPLES_OF_DELETE}${SEE_APIKEY}`)
    .action(async (names, flags) => {
      const given = [...names, ...flags.name ?? []];
      const keyFlags = { ...flags, name: given.length === 0 ? undefined : given };
      setExitCode(await deleteKeys(keyFlags, { confirms: false }, host, withClient(flags, host, log)));
    });
}

const SEE_APIKEY = `
service-api apikey --help describes names, roles, permissions, rights, prompts
and results.
${EXIT_STATUS}`;

const EXAMPLES_OF_CREATE = `
Examples:
  # Create a key in a script. The variable holds only the secret.
  KEY=$(service-api apikey create "ci deploy" --permissions DOCKER:READ_ANY)
  # Create a key that expires, and write its secret to a file.
  service-api apikey create "ci deploy" --roles VIEWER --expires-in 90d \\
    --secret-file ci.key
`;

const DELETING_MANY = `
Deleting many keys:
  --match, --expired and --unused select keys. If several are given, a key must
  match all of them. They cannot be combined with names or ids. --match compares
  the whole name, and case matters. Quote the pattern, so that the shell does
  not expand it. --unused counts from the last use of a key or, if it was never
  used, from its creation.
  At a terminal, the command shows the matching keys, all of them selected, and
  asks for confirmation. If it cannot prompt, it needs --yes.
  The command deletes the keys in batches of at most 100. Right before that, it
  reads each batch again, and keeps the keys that were used or changed since it
  listed them. A use during the deletion itself goes unnoticed, and so does a
  use that the server has not recorded yet. The embedded server records the use
  of a key within 30 seconds.
  Lists mark the key in use, which is the calling key, and the last key with the
  role ADMIN. To delete one of them among several keys or from a list, the
  command prompts for the name of the key or, if it cannot prompt, needs --yes.
  If only one name or id is given, it deletes the key without a prompt. Without
  a prompt, a warning on standard error says if the deleted key was the key in
  use or the last ADMIN.
`;

const EXAMPLES_OF_DELETE = `
Examples:
  service-api apikey delete "ci deploy" "ci build" --if-exists
  # Select from the keys that no client has used for 90 days.
  service-api apikey delete --unused 90d
  # Delete the expired keys of the pipeline in a script.
  service-api apikey delete --match 'ci *' --expired --yes
`;

interface ApikeyFlags extends Omit<CreateFlags, "name">, DeleteFlags {
  readonly create?: true | undefined;
  readonly delete?: true | undefined;
}

async function apikey(flags: ApikeyFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.create && flags.delete) throw new Failure("USAGE", "Use either --create or --delete, not both.");
  if (flags.create || flags.delete) return await run(flags.create ? "create" : "delete", flags, host, useClient);
  if (!canPrompt(flags, host)) {
    throw new Failure(
      "USAGE",
      "Choose what to do: add --create or --delete, or a command, for example list. See service-api apikey -h.",
    );
  }
  const { openDialog, promptForMode, runSteps } = await import("#prompts");
  const withDialog = <Result>(task: (dialog: Dialog) => Promise<Result>): Promise<Result> =>
    useClient((_connect, interrupted, { target }) => task({ host, interrupted, target }));
  await withDialog(openDialog);
  let mode: Mode | undefined;
  let exitCode: ExitCode = ExitCode.OK;
  await runSteps([
    async () => void (mode = await withDialog((dialog) => promptForMode(flags, dialog, mode))),
    async () => void (exitCode = mode === undefined ? exitCode : await run(mode, flags, host, useClient)),
  ], { host });
  return exitCode;
}

async function run(mode: Mode, flags: ApikeyFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (mode === "create") return await createKey({ ...flags, name: nameToCreate(flags) }, host, useClient);
  if (mode !== "delete") return await runOther(mode, flags, host, useClient);
  const createOnly = CREATE_ONLY_FLAGS.find((flag) => flag in flags);
  if (createOnly !== undefined) {
    throw new Failure("USAGE", `--${toFlag(createOnly)} works only with --create, not with --delete.`);
  }
  // The prompt for the mode is no confirmation, because a user can choose the wrong mode.
  return await deleteKeys(flags, { confirms: !flags.delete }, host, useClient);
}

/** @throws {Failure} `USAGE` */
function nameToCreate(flags: ApikeyFlags): string | undefined {
  const { name: [name, ...others] = [] } = flags;
  const deleteOnly = DELETE_ONLY_FLAGS.find((flag) => flag in flags);
  if (deleteOnly !== undefined) {
    throw new Failure("USAGE", `--${toFlag(deleteOnly)} works only with --delete, not with --create.`);
  }
  if (others.length > 0) throw new Failure("USAGE", "--name was given twice. --create creates only one key.");
  return name;
}

/** The name of a flag as the user types it, without the hyphens at its start. */
function toFlag(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Runs a command that the user chose at the prompt, and that has no flag like `--create`. */
async function runOther(
  mode: Exclude<Mode, "create" | "delete">,
  flags: ApikeyFlags,
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const { listKeys, rotate, showKey, update } = await import("#lifecycle");
  if (mode === "list") return await listKeys(flags, host, useClient);
  const { name: [name] = [], id: [id] = [], json, yes, input } = flags;
  const run = { show: showKey, update, rotate }[mode];
  return await run(name, { id, json, yes, input }, host, useClient);
}

function indentedList(words: readonly string[]): string {
  return wrapWords(words, 76, " ").map((line) => `  ${line}`).join("\n");
}

function notes(): string {
  return `
Embedded server:
  The embedded server is the one built into this program. Commands use it unless
  --base-url, SERVICE_API_URL or the profile selects another server. It keeps
  keys in a store: a file in the data directory, or a PostgreSQL database.

Name:
  Letters and decimal digits of any script, and spaces. Spaces at both ends are
  removed, and letters are normalized to NFC. The embedded server accepts at
  most 255 code points. --delete also accepts other numbers, which the names on
  other servers may contain.

Roles:
${ROLES.map((role) => `  ${role.padEnd(9)}${ROLE_MEANINGS[role]}`).join("\n")}

Resources:
${indentedList(RESOURCES)}
  A server can have more. service-api resource adds, lists and removes them.

Actions:
${indentedList(ACTIONS)}

Wildcards:
  In --permissions, "DOCKER:*" stands for every action on DOCKER, "*:READ_ANY"
  for READ_ANY on every resource of the server, and "*:*" for every action on
  every resource. The key gets each of these permissions. It does not get
  permissions on resources that the server adds later. Quote the asterisk, so
  that the shell does not expand it.

Rights:
  A key may do anything that any of its roles or permissions allows.
  On the embedded server, _ANY includes _OWN. _OWN covers the key itself and the
  keys that it created. The roles grant:
    ADMIN    every action on every resource
    VIEWER   READ_ANY on every resource
    CONNECT  every action on CONNECT and CONNECT__REMOTE_ACCESS
    GUEST    READ_OWN on ME
  On other servers, roles can grant other rights, and _ANY may not include _OWN.
  At a terminal, --create shows the rights that the server reports.
  On the embedded server, the calling key needs:
    --create     API_KEY:CREATE_ANY, and every right of the new key
    --overwrite  also API_KEY:DELETE_ANY; API_KEY:DELETE_OWN is enough if the
                 key being replaced is the calling key or one that it created
    --delete     API_KEY:READ_ANY and API_KEY:DELETE_ANY; API_KEY:READ_OWN and
                 API_KEY:DELETE_OWN are enough if the key being deleted is the
                 calling key or one that it created
  The calling key is the key from --key-file, a variable or the profile. Without
  a key, a user who can read and write the embedded server's store has all
  rights.
  For example, a CI pipeline's key needs API_KEY:CREATE_ANY, API_KEY:READ_OWN,
  API_KEY:DELETE_OWN and every right of the keys that it creates, if the
  pipeline replaces or deletes this key and keys created with it.

Expiry:
  --expires-in and --expires-at say when the key expires. From then on, the
  server rejects it. Without these flags, a key of the embedded server does not
  expire, unless serve runs with --max-key-lifetime or --default-key-lifetime.
  An expired key keeps its name until it is deleted. service-api apikey rotate
  with --expires-in issues a new secret for it.

Other servers:
  If a role or resource is not in these lists, --create asks the server for its
  roles and resources before it rejects the name.
  A server that cannot replace a key in one step needs several requests for
  --overwrite: create the new key under a temporary name, delete the old key,
  rename the new key. The calling key must be allowed to list, create, update
  and delete keys. A working key exists at every moment. If a step fails, the
  message says which keys exist and how to finish.

${DELETING_MANY.trimStart()}
Permissions for a document:
  --permissions-for adds the permissions that a GraphQL document needs to those
  of --permissions. The server states in its schema what a document needs, and
  it could state more than it checks. --create therefore shows the rights of the
  new key and asks for confirmation. If it cannot prompt, it needs --yes.
  service-api needs --help describes how a schema states permissions.

Prompting:
  The command can prompt if standard input and standard error are terminals and
  --no-input is not given. If it cannot prompt, a missing value is a usage
  error.
  Before the first question and with every confirmation, the command shows which
  server or store it uses, and which flag, variable or profile selects it.
  The command does not prompt if the server reports that the calling key lacks
  the permission to create, update, rotate or delete keys.
  --create with a name and a role or permission never prompts. Otherwise it
  prompts for each missing value, shows the rights of the new key, and asks for
  confirmation. Shift-Tab and Esc go back to the question before, and answers
  are kept. At the confirmation, e and n lead to a menu in which you change an
  answer or quit. ? explains the keys of every prompt except those for text.
  If the name is taken and --overwrite is not given, --create asks before
  replacing the key, even with --yes. It fails instead if it does not prompt or
  if the calling key is not allowed to read keys.
  If --overwrite replaces the calling key, its secret in your profile, key file
  or variable stops working. After other prompts, --create offers to store the
  new secret there. Otherwise, a warning says what to do.
  --delete with one name or id never prompts. Without names, ids and filters, it
  shows a list to select keys from, and asks for confirmation. Without --create
  and --delete, the command asks whether to create, list, show, update, rotate
  or delete keys, and deleting always asks for confirmation. --yes skips the
  final confirmation of both modes, and the prompts for the names of keys to
  delete.
  In the lists of roles and keys, the arrow keys move the cursor, Tab selects,
  and Enter confirms. Space selects too, unless a filter is set. Typing filters
  the list, and a filter can contain spaces. Backspace deletes the last
  character of the filter, and Esc clears the filter. Ctrl-A selects or
  deselects all items that match the filter. If nothing is selected, Enter does
  not confirm while a filter is set, if something has to be selected, and the
  first time after the cursor has moved. ? shows all keys of the list.
  The permission grid has the same keys, except Ctrl-A, and Space selects also
  while a filter is set. In its top row, Tab selects the action of the column
  for every resource that matches the filter. To select every action of a row,
  move left past the first column and press Tab.
  Ctrl-C at a prompt cancels the command without changing anything.
  With --plain or SERVICE_API_PLAIN, and if TERM is dumb or, except on Windows,
  unset, prompts are plain lines that nothing redraws. Select from lists with
  numbers, ranges or names: 1,3-5. Type permissions as in --permissions. Where a
  prompt offers it, < goes back to the question before.
  Prompts respect NO_COLOR and FORCE_COLOR. On Linux and macOS, they are drawn
  in ASCII unless the locale is UTF-8.

Results:
  --create prints only the secret on standard output. The secret cannot be shown
  again. With --secret-file, it writes the secret to a file with mode 0600, and
  prints nothing. A file that exists is an error, unless --overwrite is given.
  --overwrite then allows replacing both the file and a key with the same name.
  --delete prints how many keys it deleted, and at a terminal also which ones.
  --create fails before it creates a key if standard output is closed and
  --secret-file is not given.
  Prompts and the table of the new key's rights go to standard error. Without
  --json, errors go there too. If --delete finds no key, it says so on standard
  output, and says on standard error which server or store it searched.
  With --json, standard output has exactly one line, which is one of these:
    created       {"key":"sak_...","name":"ci deploy","id":"key_..."}
                  {"name":"ci deploy","id":"key_...","secretFile":"ci.key"}
                  with --secret-file
    deleted       {"deleted":1,"keys":[{"id":"key_...","name":"ci deploy"}]}
    unknown name  {"deleted":0,"error":"No API key found with name: ci deploy"}
                  (exit status 1; 0 with --if-exists)
    unknown id    {"deleted":0,"error":"No API key found with id: key_..."}
                  (exit status 1; 0 with --if-exists)
    no keys       {"deleted":0,"message":"No API keys found to delete"}
                  also if no key matches --match, --expired and --unused
    some failed   {"deleted":1,"keys":[...],"failed":[{"id":null,"name":"old",
                  "code":"NOT_FOUND","error":"..."}]} (exit status 1; 0 if keys
                  are only missing and --if-exists is given)
                  if one of several keys is missing or the server refuses to
                  delete it; null for what was not given
    failure       {"error":"...","code":"..."}; with --delete also "deleted",
                  the number of keys deleted before the failure

Failures:
  service-api help exit-codes lists the codes of failures and the exit statuses.

Examples:
  # Create a key interactively.
  service-api apikey --create
  # Create a key in a script. The variable holds only the secret.
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  # Create a key and write its secret to a file.
  service-api apikey --create --name "ci deploy" --roles VIEWER \\
    --secret-file ci.key
  # Replace the key and its rights.
  service-api apikey --create --name "ci deploy" --overwrite --json \\
    --permissions DOCKER:READ_ANY,DOCKER:UPDATE_ANY
  # Create a key with the permissions that a document needs.
  service-api apikey --create --name report --permissions-for @report.graphql
  # Delete a key, and stop the script if that fails.
  service-api apikey --delete --name "ci deploy" || exit
  # Delete several keys. --id also reaches keys whose names break the rules.
  service-api apikey --delete --name "ci deploy" --name "ci build" --id key_1
  # Delete the keys that no client has used for 90 days, without a prompt.
  service-api apikey --delete --unused 90d --yes
  # Select the keys to delete from a list.
  service-api apikey --delete
  # List the keys, and print the audit trail of their changes.
  service-api apikey list
  service-api audit
${EXIT_STATUS}`;
}
