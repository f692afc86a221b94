/** `apikey update`: changes the name, description, rights, expiry or state of a key. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure, quote, reasonOf } from "../../../../apikey/failure.ts";
import { redactSecrets } from "../../../../apikey/secret.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import type { ApiKey, Client, KeyChanges, KeySelector } from "../../../../client/client.ts";
import type { CommandContext } from "../../../command.ts";
import type { UseClient } from "../../../connection/connection.ts";
import { withClient } from "../../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import { canPrompt } from "../../../host/can_prompt.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Host } from "../../../host/host.ts";
import { wrapFor } from "../../../host/notes.ts";
import { writeJson } from "../../../report.ts";
import { collect, withServerFlags } from "../../../settings/server_flags.ts";
import { type OutputFlags, withOutputFlags } from "../key_flags.ts";
import { toKeyJson } from "../key_output.ts";
import { type KnownNames, parseKnownNames, parseNamesOfServer } from "../known_names.ts";
import { warnAboutLockout } from "../delete/lockout_warning.ts";
import { confirmRisks, findRisks, knownRisks, listAdmins, type Risk, risksToWarnOf } from "../lockout.ts";
import { parseSelector, promptForSelector, type SelectorFlags, withSelector } from "../select/select_key.ts";
import { describeChanges } from "./describe_changes.ts";
import { type ChangeFlags, changesOf, type KeyChange, parseChange } from "./key_change.ts";

/** Registers the subcommand. */
export function registerUpdate(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withChanges = withSelector(
    command.description(
      "Change the name, description, rights, expiry or state of a key. Its id and secret stay the same, and so does " +
        "everything for which no flag is given.",
    ),
  )
    .optionsGroup("Changes:")
    .option("--rename <name>", "the new name: letters, digits and spaces")
    .option("--description <desc>", "the new description; an empty text removes it")
    .option("--roles <roles>", "replace all roles; comma-separated, repeatable", collect)
    .option("--add-roles <roles>", "add roles; comma-separated, repeatable", collect)
    .option("--remove-roles <roles>", "remove roles; comma-separated, repeatable", collect)
    .option("--permissions <perms>", "replace all permissions: RESOURCE:ACTION pairs; repeatable", collect)
    .option("--add-permissions <perms>", "add permissions; * stands for all; repeatable", collect)
    .option("--remove-permissions <perms>", "remove permissions; * stands for all; repeatable", collect)
    .option("--expires-in <duration>", "the new expiry: a number and s, m, h, d or w, for example 90d")
    .option("--expires-at <time>", "the expiry as a time, for example 2026-12-31T23:59:59Z")
    .option("--no-expiry", "remove the expiry")
    .option("--disable", "reject the key until it is enabled again")
    .option("--enable", "accept the key again");
  withServerFlags(withOutputFlags(withChanges))
    .addHelpText("after", NOTES)
    .action(async (name, flags) => setExitCode(await update(name, flags, host, withClient(flags, host, log))));
}

interface UpdateFlags extends SelectorFlags, OutputFlags, ChangeFlags {}

/**
 * Updates a key. Prompts for the key and for the changes if they are not given.
 *
 * @throws {Failure} with any code
 */
export async function update(
  name: string | undefined,
  flags: UpdateFlags,
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const given = parseSelector(name, flags, "update", host);
  const asksForChange = canPrompt(flags, host) && !isChangeGiven(flags);
  const parse = (known: KnownNames): KeyChange => parseChange(flags, known, host.now());
  const parsed = asksForChange ? undefined : parseKnownNames(parse);
  return await useClient(async (connect, interrupted, facts) => {
    const client = await connect();
    const dialog = { host, interrupted, target: facts.target };
    if (given === undefined || asksForChange) await (await import("#prompts")).requireRight("update", client);
    const change = parsed instanceof UnknownName ? await parseNamesOfServer(parse, parsed, client) : parsed;
    const alternative = asksForChange ? "Change an answer" : "Select another key";
    const asks = given === undefined || asksForChange ? alternative : undefined;
    const confirm = async (key: ApiKey, changes: KeyChanges): Promise<boolean> => {
      if (flags.yes) risks = await risksToWarnOf(() => findRisksToWarnOf(key, changes, client, host.now()));
      return await confirmChanges(key, changes, { ...flags, asks }, client, dialog);
    };
    const select = async (): Promise<KeySelector> => given ?? await promptForSelector("Key to update", client, dialog);
    const prepare = change === undefined
      ? (await import("#prompts")).updatePrompt(given, client, dialog)
      : async () => ({ selector: await select(), change });
    let risks: readonly Risk[] = [];
    let result: UpdateResult | undefined;
    while (result === undefined) {
      // deno-lint-ignore no-await-in-loop -- until the user confirms
      const { selector, change } = await prepare();
      // deno-lint-ignore no-await-in-loop -- until the user confirms
      result = await updateKey(selector, change, client, confirm);
    }
    await printResult(result.key, result.hasChanged, flags, host);
    if (result.hasChanged) await warnAboutLockout({ keys: [result.key], risks }, facts, host);
    return ExitCode.OK;
  });
}

async function printResult(key: ApiKey, hasChanged: boolean, { json }: UpdateFlags, host: Host): Promise<void> {
  try {
    if (json) await writeJson(host.stdout, toKeyJson(key));
    else await host.stdout.write(`${hasChanged ? "Updated" : "Nothing to change about"} API key ${quote(key.name)}\n`);
  } catch (error) {
    const event = hasChanged ? "was updated" : "is already as requested";
    const message = `The key ${quote(key.name)} (${key.id}) ${event}, but the result could not be printed: `;
    throw new Failure("FAILED", `${message}${reasonOf(error)}`, { cause: error });
  }
}

interface UpdateResult {
  readonly key: ApiKey;
  readonly hasChanged: boolean;
}

/** How often to repeat an update if other callers change the key at the same time. */
const MAX_ATTEMPTS = 5;

/**
 * Reads a key and updates it. If another caller changes the key in between, applies the change to the new state of the
 * key, so that neither change is lost.
 *
 * @param confirm asks for confirmation before each attempt; returns `false` if the user wants another change
 * @returns `undefined` if the user wants another change
 */
async function updateKey(
  selector: KeySelector,
  change: KeyChange,
  client: Client,
  confirm: (key: ApiKey, changes: KeyChanges) => Promise<boolean>,
): Promise<UpdateResult | undefined> {
  let key = await client.findKey(selector);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const changes = changesOf(key, change);
    if (Object.keys(changes).length === 0) return { key, hasChanged: false };
    // deno-lint-ignore no-await-in-loop -- one attempt after the other
    if (!await confirm(key, changes)) return undefined;
    // deno-lint-ignore no-await-in-loop -- one attempt after the other
    const result = await client.updateKey(key, changes);
    if (result.kind === "updated") return { key: result.key, hasChanged: true };
    key = result.current;
  }
  throw new Failure(
    "FAILED",
    `Other callers changed the key ${quote(key.name)} at the same time, ${MAX_ATTEMPTS} times in a row. This update ` +
      "changed nothing. Run the same command again.",
  );
}

/**
 * Shows the changes. Asks for confirmation if the command prompted for the key or the change, or if the update is a risk.
 *
 * @param flags `asks`: what the user can do instead of confirming; `undefined` if the command did not prompt
 * @returns `false` if the user wants another change
 */
async function confirmChanges(
  key: ApiKey,
  changes: KeyChanges,
  flags: UpdateFlags & { readonly asks: string | undefined },
  client: Client,
  dialog: Dialog,
): Promise<boolean> {
  const { host } = dialog;
  // The update does not depend on this note.
  const show = async (): Promise<void> =>
    flags.json ? undefined : await showChanges(key, changes, host).catch(() => {});
  const after = { ...key, ...changes };
  const risks = flags.yes ? [] : await findLockout(key, after, client, host.now());
  if (flags.yes || flags.asks === undefined || risks.length > 0) {
    await show();
    await confirmRisks(risks, "update", flags, dialog, client);
    return true;
  }
  const { confirmUpdate } = await import("#prompts");
  return await confirmUpdate(key, after, { alternative: flags.asks, showChanges: show }, client, dialog);
}

/** Whether a flag says what to change. Without one, the command prompts. */
function isChangeGiven({ expiry, ...flags }: ChangeFlags): boolean {
  return expiry === false || CHANGE_FLAGS.some((flag) => flags[flag] !== undefined);
}

const CHANGE_FLAGS = [
  "rename",
  "description",
  "roles",
  "addRoles",
  "removeRoles",
  "permissions",
  "addPermissions",
  "removePermissions",
  "expiresIn",
  "expiresAt",
  "enable",
  "disable",
] as const satisfies readonly (keyof ChangeFlags)[];

async function showChanges(key: ApiKey, changes: KeyChanges, host: Host): Promise<void> {
  const title = redactSecrets(`Changes to the key ${quote(key.name)} (${escapeInvisible(key.id)}):`);
  const lines = [await wrapFor(host.stderr, title), ...describeChanges(key, changes, host.stderr, host, 2), ""];
  await host.stderr.write(lines.join("\n"));
}

/** Asks the server only what the change makes necessary: which key is in use, and which other keys have the role ADMIN. */
async function findLockout(before: ApiKey, after: ApiKey, client: Client, now: Date): Promise<readonly Risk[]> {
  const possible = findRisks([before], [after], before.id, now);
  if (possible.length === 0) return [];
  const keyInUse = possible.some(({ isInUse }) => isInUse) ? await client.findKeyInUse() : undefined;
  const admins = possible.some(({ endsAdmin }) => endsAdmin) ? await listAdmins(client) : [];
  const others = admins.filter(({ id }) => id !== before.id);
  return findRisks([...others, before], [...others, after], keyInUse?.id, now);
}

/** Returns what to warn of after an update with `--yes`. */
async function findRisksToWarnOf(
  key: ApiKey,
  changes: KeyChanges,
  client: Client,
  now: Date,
): Promise<readonly Risk[]> {
  const risks = await knownRisks(await findLockout(key, { ...key, ...changes }, client, now), client);
  // A key that only loses rights still works.
  return risks.map((risk) => ({ ...risk, isInUse: risk.isInUse && changes.enabled === false }));
}

const NOTES = `
Updating:
  The command shows what changes, before and after, on standard error. If all
  values are already as requested, it says so and changes nothing.
  A key must keep at least one role or permission.
  --disable blocks the key at once. The key keeps its name and its rights.
  If another caller changes the key at the same time, the command reads the key
  again and applies the change to the new state.

Prompting:
  If the calling key or the last key with the role ADMIN would lose rights, the
  command asks for its name. If it cannot prompt, it needs --yes. With --yes, a
  warning on standard error says if no valid key has the role ADMIN any more.
  Without a name and an id, the command shows a list to select a key from, and
  asks for confirmation. Without a change, it asks what to change. Esc goes back
  to the list, and asks before it discards changes. --yes skips the
  confirmation.

Rights:
  On the embedded server, the calling key needs API_KEY:UPDATE_ANY and
  API_KEY:READ_ANY. API_KEY:UPDATE_OWN and API_KEY:READ_OWN are enough for the
  calling key itself and for the keys that it created. It also needs the rights
  that the change adds. To enable a key or extend its life, it needs all rights
  of that key; with API_KEY:UPDATE_OWN alone, it cannot do so for itself.

Other servers:
  Their keys cannot be disabled and do not expire. They replace the roles and
  permissions of a key as a whole, so the command sends all of them. If the
  response shows that another caller changed the key meanwhile, it fails.

Results:
  With --json, standard output has one line:
    updated, or nothing to change  the key, as with apikey show --json
    failure                        {"error":"...","code":"..."}

Examples:
  service-api apikey update "ci deploy" --add-permissions DOCKER:UPDATE_ANY
  service-api apikey update "ci deploy" --rename "ci release" --expires-in 90d
  service-api apikey update "ci deploy" --disable
${EXIT_STATUS}`;
