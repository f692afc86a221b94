/** `apikey`: its flags, its help, and which of its modes runs. */
import type { Command } from "@commander-js/extra-typings";
import { Failure } from "../../../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../../../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../../../apikey/role.ts";
import type { Session } from "../../command.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import { type UseClient, withClient } from "../../connection/connection.ts";
import { create, type CreateFlags } from "./create.ts";
import { deleteKeys } from "./delete.ts";
import { EXIT_STATUS, type ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { wrapWords } from "../../terminal/wrap.ts";

/** Declares the command. */
export function registerApikey(command: Command, { host, log, setExitCode }: Session): void {
  const withOwnFlags = command
    .description(
      "Create or delete API keys. At a terminal you are asked for what is missing; with\n" +
        "a name and a role or permission given, nothing is asked.",
    )
    .usage(
      "[--create | --delete]\n" +
        "       service-api apikey --create --name <name> [options]\n" +
        "       service-api apikey --delete --name <name> [options]",
    )
    .optionsGroup("Mode:")
    .option("--create", "create a key and print its secret, once")
    .option("--delete", "delete the keys of a name, or those you tick")
    .optionsGroup("Key:")
    .option("--name <name>", "letters, digits and spaces; unique")
    .option("--roles <roles>", "comma-separated roles")
    .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs")
    .option("--description <desc>", "what the key is for")
    .option("--overwrite", "replace the key of that name, if there is one")
    .optionsGroup("Prompts, at a terminal:")
    .option("--yes", "confirm what is asked last")
    .option("--no-input", "ask nothing: what is missing is an error")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, failures too");
  withServerFlags(withOwnFlags)
    .addHelpText("after", notes)
    .action(async (flags) => setExitCode(await apikey(flags, host, withClient(flags, host, log))));
}

/** The flags that go with `--create` alone. */
export const FLAGS_OF_CREATE = ["roles", "permissions", "description", "overwrite"] as const;

interface ApikeyFlags extends CreateFlags {
  readonly create?: true | undefined;
  readonly delete?: true | undefined;
}

async function apikey(flags: ApikeyFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  if (flags.create && flags.delete) throw new Failure("USAGE", "Give either --create or --delete, not both.");
  const mode = flags.create ? "create" : flags.delete ? "delete" : await askForMode(flags, host);
  if (mode === "create") return await create(flags, host, useClient);
  const [stray] = FLAGS_OF_CREATE.filter((flag) => flag in flags);
  if (stray !== undefined) throw new Failure("USAGE", `--${stray} goes with --create, not with --delete.`);
  return await deleteKeys(flags, host, useClient);
}

async function askForMode(flags: ApikeyFlags, host: Host): Promise<"create" | "delete"> {
  if (!canPrompt(flags, host)) throw new Failure("USAGE", "Say what to do: give --create or --delete.");
  const { openPrompts } = await import("#prompts");
  const prompts = await openPrompts(host);
  return await prompts.selectOne({
    label: "What is to be done?",
    items: [
      { value: "create", label: "create", hint: "a key, and print its secret, once" },
      { value: "delete", label: "delete", hint: "keys, ticked in a list" },
    ],
  });
}

function wrapped(words: readonly string[]): string {
  return wrapWords(words, 76, " ").map((line) => `  ${line}`).join("\n");
}

function notes(): string {
  return `
Roles:
${ROLES.map((role) => `  ${role.padEnd(9)}${ROLE_MEANINGS[role]}`).join("\n")}

Resources:
${wrapped(RESOURCES)}

Actions:
${wrapped(ACTIONS)}

Rights:
  A key may do what its roles and its permissions allow; _ANY contains _OWN.
  On the embedded server ADMIN may do everything, VIEWER has READ_ANY on every
  resource, CONNECT every action on CONNECT and CONNECT__REMOTE_ACCESS, GUEST
  ME:READ_OWN. Nobody grants a right they do not hold. --create needs
  API_KEY:CREATE_ANY, --delete API_KEY:READ_ANY and API_KEY:DELETE_ANY.

Results:
  --create prints the secret, alone on standard output, once and never again.
  --json   {"key","name","id"}, {"deleted":1,"keys":[{"id","name"}]},
           and of a failure {"error","code"}, on delete with "deleted"
  Prompts, pictures and errors go to standard error.

Examples:
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  service-api apikey --create --name "ci deploy" --overwrite --json \\
    --permissions DOCKER:READ_ANY,DOCKER:UPDATE_ANY
  service-api apikey --delete --name "ci deploy"
  service-api apikey --delete
  service-api request --query '{ apiKeys { name roles createdAt } }'
  service-api audit
${EXIT_STATUS}`;
}
