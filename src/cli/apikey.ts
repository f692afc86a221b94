/** `apikey`: its flags, its help, and which of its modes runs. */
import { Failure } from "../apikey/failure.ts";
import { ACTIONS, RESOURCES } from "../apikey/permission.ts";
import { ROLE_MEANINGS, ROLES } from "../apikey/role.ts";
import type { CommandDefinition } from "./command.ts";
import { type Ask, askServer } from "./connection.ts";
import { create, type CreateFlags } from "./create.ts";
import { remove } from "./delete.ts";
import { EXIT_STATUS, type ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import { withServerFlags } from "./server_flags.ts";

export const apikeyCommand: CommandDefinition = {
  name: "apikey",
  summary: "create or delete an API key",
  define: (command, { host, log, finish }) => {
    const withOwnFlags = command
      .description("Create or delete an API key.")
      .usage("--create --name <name> [options]\n       service-api apikey --delete --name <name> [options]")
      .optionsGroup("Mode:")
      .option("--create", "create a key and print its secret, once")
      .option("--delete", "delete the keys of a name")
      .optionsGroup("Key:")
      .option("--name <name>", "letters, digits and spaces")
      .option("--roles <roles>", "comma-separated roles")
      .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs")
      .option("--description <desc>", "what the key is for")
      .option("--overwrite", "replace the key of that name, if there is one")
      .optionsGroup("Output:")
      .option("--json", "print one line of JSON, failures too");
    withServerFlags(withOwnFlags)
      .addHelpText("after", NOTES)
      .action(async (flags) => finish(await apikey(flags, host, askServer(flags, host, log))));
  },
};

/** The flags that go with `--create` alone. */
export const FLAGS_OF_CREATE = ["roles", "permissions", "description", "overwrite"] as const;

interface ApikeyFlags extends CreateFlags {
  readonly create?: true | undefined;
  readonly delete?: true | undefined;
}

async function apikey(flags: ApikeyFlags, host: Host, ask: Ask): Promise<ExitCode> {
  if (flags.create && flags.delete) throw new Failure("USAGE", "Give either --create or --delete, not both.");
  if (flags.create) return await create(flags, host, ask);
  if (!flags.delete) throw new Failure("USAGE", "Say what to do: give --create or --delete.");
  const [stray] = FLAGS_OF_CREATE.filter((flag) => flag in flags);
  if (stray !== undefined) throw new Failure("USAGE", `--${stray} goes with --create, not with --delete.`);
  return await remove(flags, host, ask);
}

function wrapped(words: readonly string[]): string {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length > 76) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => `  ${line}`).join("\n");
}

const NOTES = `
Roles:
${ROLES.map((role) => `  ${role.padEnd(9)}${ROLE_MEANINGS[role]}`).join("\n")}

Resources:
${wrapped(RESOURCES)}

Actions (_ANY contains _OWN):
${wrapped(ACTIONS)}

Examples:
  KEY=$(service-api apikey --create --name "ci deploy" --roles VIEWER)
  service-api apikey --create --name "ci deploy" --overwrite --json \\
    --permissions DOCKER:READ_ANY,DOCKER:UPDATE_ANY
  service-api apikey --delete --name "ci deploy"
${EXIT_STATUS}`;
