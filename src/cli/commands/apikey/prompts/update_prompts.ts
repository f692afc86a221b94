/** The prompts of `apikey update`. */
import { escapeInvisible, Failure, quote } from "../../../../apikey/failure.ts";
import { parseDuration } from "../../../../apikey/lifetime.ts";
import { parseName } from "../../../../apikey/name.ts";
import type { ApiKey, Client, KeySelector } from "../../../../client/client.ts";
import type { Dialog } from "../../../host/dialog.ts";
import { GoBack } from "../../../prompts/options.ts";
import { runSteps, type Step } from "../../../prompts/steps.ts";
import { transcriptOf } from "../../../prompts/transcript.ts";
import { summarizePermissions } from "../../../terminal/permission_summary.ts";
import { relativeTime } from "../../../terminal/relative_time.ts";
import { isPlain } from "../../../terminal/style.ts";
import { readMarkedKeys } from "../lockout.ts";
import { changesOf, haveSameItems, type KeyChange } from "../update/key_change.ts";
import { describeFullRights, describeKeys, formatRows } from "./key_details.ts";
import {
  type Answers,
  askDescription,
  askExpiry,
  askName,
  askPermissions,
  askRoles,
  knownPermissions,
} from "./key_questions.ts";
import { promptForOneKey } from "./one_key_prompt.ts";
import { confirmOrChange, openDialog } from "./open_dialog.ts";

/** What the user can choose in the menu of changes. */
interface Choice {
  readonly label: string;
  readonly hint: string;
  readonly step: Step;
}

/** A key, and what to change about it. */
interface PlannedChange {
  readonly selector: KeySelector;
  readonly change: KeyChange;
}

/**
 * Returns a function that asks for the key, unless it is given, and what to change about it until the user is done. If
 * the function is called again, it begins with the earlier answers.
 *
 * @throws {GoBack} from the first question, if the user chose the command at a prompt
 * @throws {Failure} `INTERRUPTED`; `NOT_FOUND`; any failure of the client
 */
export function updatePrompt(
  given: KeySelector | undefined,
  client: Client,
  dialog: Dialog,
): () => Promise<PlannedChange> {
  const canGoBack = given === undefined || (dialog.target.canGoBack ?? false);
  let selector = given;
  let askForChange: (() => Promise<KeyChange>) | undefined;
  /** Erases the answered list from the screen. */
  let erase = (): void => {};
  const selectKey = async (): Promise<KeySelector> => {
    await openDialog(dialog);
    if (!isPlain(dialog.host)) erase = transcriptOf(await dialog.host.openTerminal()).mark();
    return { id: (await promptForOneKey("Key to update", client, dialog)).id };
  };
  return async () => {
    for (;;) {
      // deno-lint-ignore no-await-in-loop -- until the user has selected a key
      selector ??= await selectKey();
      // deno-lint-ignore no-await-in-loop -- one key at a time
      askForChange ??= changePrompt(await client.findKey(selector), canGoBack, client, dialog);
      try {
        // deno-lint-ignore no-await-in-loop -- until the user has answered
        return { selector, change: await askForChange() };
      } catch (error) {
        if (!(error instanceof GoBack) || given !== undefined) throw error;
        erase();
        selector = undefined;
        askForChange = undefined;
      }
    }
  };
}

/** @throws {GoBack} if `canGoBack` is true and the user goes back from the menu of changes */
function changePrompt(
  key: ApiKey,
  canGoBack: boolean,
  client: Client,
  dialog: Dialog,
): () => Promise<KeyChange> {
  const known = knownPermissions(key.permissions ?? []);
  const others = (key.permissions ?? []).filter((permission) => !known.some((one) => one === permission));
  const answers: Answers = {
    name: key.name,
    description: key.description ?? "",
    roles: key.roles ?? [],
    permissions: known,
  };
  let { enabled } = key;
  let expiresIn: string | undefined;

  const toChange = (): KeyChange => {
    const { name, description, roles } = answers;
    const permissions = [...answers.permissions, ...others];
    const isChanged = (list: readonly string[], before: readonly string[] | null): boolean =>
      !haveSameItems(list, before ?? []);
    return {
      name: name === key.name ? undefined : parseName(name),
      description: description === (key.description ?? "") ? undefined : description || null,
      roles: isChanged(roles, key.roles) ? { set: roles, add: [], remove: [] } : undefined,
      permissions: isChanged(permissions, key.permissions) ? { set: permissions, add: [], remove: [] } : undefined,
      expiresAt: expiresIn === undefined
        ? undefined
        : expiresIn === ""
        ? null
        : new Date(dialog.host.now().getTime() + parseDuration(expiresIn)),
      enabled: enabled === key.enabled ? undefined : enabled ?? undefined,
    };
  };

  return async () => {
    const prompts = await openDialog(dialog);
    const askForPermissions: Step = (canGoBack) => askPermissions({ answers, prompts, canGoBack }, client);
    const askForRoles: Step = async (canGoBack) => {
      await askRoles({ answers, prompts, canGoBack }, client);
      if (answers.roles.length + answers.permissions.length + others.length === 0) await askForPermissions(canGoBack);
    };
    const askForExpiry: Step = async (canGoBack) => {
      expiresIn = await askExpiry(expiresIn ?? "", { prompts, canGoBack }, dialog.host.now());
    };
    const toggleState: Step = () => {
      enabled = !enabled;
      return Promise.resolve(false);
    };
    for (;;) {
      const isChanged = Object.keys(changesOf(key, toChange())).length > 0;
      // Only servers that report the state of keys can change it.
      const lifecycle: readonly Choice[] = key.enabled === null ? [] : [
        {
          label: "Expiry",
          hint: expiresIn === undefined
            ? describeExpiry(key, dialog.host.now())
            : expiresIn === ""
            ? "never"
            : `in ${expiresIn}`,
          step: askForExpiry,
        },
        enabled
          ? { label: "Disable", hint: "until you enable it", step: toggleState }
          : { label: "Enable", hint: "accept the key again", step: toggleState },
      ];
      const changes: readonly Choice[] = [
        { label: "Name", hint: answers.name, step: (canGoBack) => askName({ answers, prompts, canGoBack }) },
        {
          label: "Description",
          hint: answers.description,
          step: (canGoBack) => askDescription({ answers, prompts, canGoBack }),
        },
        { label: "Roles", hint: answers.roles.join(", "), step: askForRoles },
        { label: "Permissions", hint: summarizePermissions(answers.permissions), step: askForPermissions },
        ...lifecycle,
      ];
      const done = { value: undefined, label: "Done", hint: "review the changes" } as const;
      let choice: Choice | undefined;
      const steps: readonly Step[] = [
        async (canGoBack) => {
          choice = await prompts.selectOne<Choice | undefined>({
            label: `What do you want to change about ${quote(key.name)}?`,
            items: [
              ...(isChanged ? [done] : []),
              ...changes.map((value) => ({ value, label: value.label, hint: escapeInvisible(value.hint) })),
            ],
            canGoBack,
          });
        },
        async (canGoBack) => await choice?.step(canGoBack),
      ];
      try {
        // deno-lint-ignore no-await-in-loop -- one question at a time
        await runSteps(steps, { host: dialog.host, canGoBack: canGoBack || isChanged });
      } catch (error) {
        if (!(error instanceof GoBack)) throw error;
        const label = `Discard the changes to the key ${quote(key.name)}?`;
        // deno-lint-ignore no-await-in-loop -- one question at a time
        if (isChanged && !await prompts.confirm({ label, initial: false })) continue;
        throw canGoBack ? error : new Failure("INTERRUPTED", "Nothing was changed.");
      }
      if (choice === undefined) return toChange();
    }
  };
}

/** Returns, for example, `in 30d (2026-12-31)`, `expired 3d ago (2026-11-28)` or `never`. */
function describeExpiry({ expiresAt }: ApiKey, now: Date): string {
  if (expiresAt === null) return "never";
  const expired = new Date(expiresAt) <= now ? "expired " : "";
  return `${expired}${relativeTime(expiresAt, now)} (${expiresAt.slice(0, "2026-12-31".length)})`;
}

/**
 * Describes the key and its changes, and asks for confirmation.
 *
 * @param alternative what the user can do instead of confirming
 * @param showChanges shows the values before and after
 * @returns `false` if the user wants the alternative
 * @throws {Failure} `INTERRUPTED` if the user quits
 */
export async function confirmUpdate(
  before: ApiKey,
  after: ApiKey,
  { alternative, showChanges }: { readonly alternative: string; readonly showChanges: () => Promise<void> },
  client: Client,
  dialog: Dialog,
): Promise<boolean> {
  const prompts = await openDialog(dialog);
  const { marks } = await readMarkedKeys(client, dialog.host.now());
  await describeKeys([before], marks, dialog, { showsTarget: false });
  await showChanges();
  const warning = await newFullRights(before, after, client);
  await dialog.host.stderr.write(
    `${formatRows([["Warning", warning ?? ""], ["Using", dialog.target.description]], dialog.host)}\n`,
  );
  const question = { label: "Update this key?", alternative, unchanged: "Nothing was changed." };
  return await confirmOrChange(question, warning === undefined, prompts);
}

/** Says what the key may do if the update lets it do everything. */
async function newFullRights(before: ApiKey, after: ApiKey, client: Client): Promise<string | undefined> {
  const fullRights = async ({ roles, permissions }: ApiKey): Promise<string | undefined> =>
    describeFullRights(await client.effectivePermissions({ roles: roles ?? [], permissions: permissions ?? [] }));
  if (before.roles === after.roles && before.permissions === after.permissions) return undefined;
  const warning = await fullRights(after);
  return warning === undefined || await fullRights(before) !== undefined ? undefined : warning;
}
