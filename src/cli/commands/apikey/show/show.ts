/** `apikey show`: prints what the server reports about one key. */
import type { Command } from "@commander-js/extra-typings";
import type { CommandContext } from "../../../command.ts";
import type { UseClient } from "../../../connection/connection.ts";
import { withClient } from "../../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import type { PromptFlags } from "../../../host/can_prompt.ts";
import type { Host } from "../../../host/host.ts";
import { writeJson } from "../../../report.ts";
import { withServerFlags } from "../../../settings/server_flags.ts";
import { toKeyJson } from "../key_output.ts";
import { parseSelector, promptForSelector, type SelectorFlags, withSelector } from "../select/select_key.ts";
import { formatFields, formatForTerminal } from "./show_output.ts";

/** Registers the command. */
export function registerShow(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = withSelector(command.description("Show a key and its rights, without its secret."))
    .optionsGroup("Prompts:")
    .option("--no-input", "never prompt; fail if a value is missing")
    .option("--plain", "prompt in plain lines, for example for screen readers [SERVICE_API_PLAIN]")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (name, flags) => setExitCode(await showKey(name, flags, host, withClient(flags, host, log))));
}

interface ShowFlags extends SelectorFlags, Pick<PromptFlags, "input"> {
  readonly json?: true | undefined;
}

/**
 * Prints a key. Prompts for the key if neither a name nor an id is given.
 *
 * @throws {Failure} with any code
 */
export async function showKey(
  name: string | undefined,
  flags: ShowFlags,
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const given = parseSelector(name, flags, "show", host);
  await useClient(async (connect, interrupted, { target }) => {
    const client = await connect();
    const dialog = { host, interrupted, target };
    const key = await client.findKey(given ?? await promptForSelector("Key to show", client, dialog));
    if (flags.json) return await writeJson(host.stdout, toKeyJson(key));
    if (!host.stdout.isTerminal()) return await host.stdout.write(formatFields(key, host.now()));
    const { roles, permissions, createdBy } = key;
    // The creator may be deleted or invisible to the key in use.
    const creator = createdBy === null ? undefined : await client.findKey({ id: createdBy }).catch(() => undefined);
    const rights = roles && permissions ? await client.effectivePermissions({ roles, permissions }) : undefined;
    await host.stdout.write(await formatForTerminal(key, creator, rights, host));
  });
  return ExitCode.OK;
}

const NOTES = `
Results:
  At a terminal, standard output shows what the server reports about the key,
  and its rights as a table. Otherwise it has a line for each field: the name of
  the field, a colon, a tab and the value. The fields are those of --json, and
  status, which is active, disabled or expired. A value is empty if it does not
  apply or if the server does not report it.
  With --json, standard output has exactly one line, which is one of these:
    shown    {"id","name","description","roles":[...],
             "permissions":["DOCKER:READ_ANY"],"enabled","createdAt",
             "createdBy","managedBy","updatedAt","lastUsedAt","expiresAt",
             "graceUntil"}
             A member is null if it does not apply or if the server does not
             report it. Times are in the format of RFC 3339.
    failure  {"error":"...","code":"..."}, with the code NOT_FOUND if no key has
             the name or id

The calling key needs API_KEY:READ_ANY. API_KEY:READ_OWN is enough for the
calling key itself and for the keys that it created.

Examples:
  service-api apikey show "ci deploy"
  service-api apikey show --id key_1 --json
${EXIT_STATUS}`;
