/** The prompts of `apikey --create`. */
import { escapeInvisible, Failure, quote } from "../../../../apikey/failure.ts";
import { expiryFrom } from "../../../../apikey/lifetime.ts";
import { hasName, type Name, nameTaken, parseName } from "../../../../apikey/name.ts";
import type { ApiKey, Client, NewKey, SchemaField } from "../../../../client/client.ts";
import type { PromptFlags } from "../../../host/can_prompt.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Host } from "../../../host/host.ts";
import { type Decision, GoBack } from "../../../prompts/options.ts";
import type { Prompts } from "../../../prompts/prompts.ts";
import { runSteps, type Step } from "../../../prompts/steps.ts";
import { summarizePermissions } from "../../../terminal/permission_summary.ts";
import { withRelativeTime } from "../../../terminal/relative_time.ts";
import { drawRights } from "../../../terminal/rights_matrix.ts";
import { styleFor } from "../../../terminal/style.ts";
import type { KeyDraft } from "../create.ts";
import { readMarkedKeys } from "../lockout.ts";
import { describeFullRights, describeKeys, describeReplaced, formatRows, type Marks } from "./key_details.ts";
import { type Answers, askDescription, askExpiry, askName, askPermissions, askRoles } from "./key_questions.ts";
import { openDialog } from "./open_dialog.ts";
import { requireRight } from "./require_right.ts";

const UNCHANGED = "Nothing was created.";

interface DraftFlags extends PromptFlags {
  readonly permissionsFor?: string | undefined;
}

/** An answer that the user can change. */
interface Question {
  readonly title: string;
  readonly answer: () => string;
  /** The field without which the server cannot store the answer. */
  readonly needs?: SchemaField;
  /** Asks for the answer, and then what the new answer makes necessary. */
  readonly steps: readonly [Step, Step?];
}

/**
 * Prompts for the missing values of the draft and shows a summary with the effective rights. Without `--yes`, asks for
 * confirmation. The user can go back to each question, and change each answer.
 *
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm; `ALREADY_EXISTS` if the draft's name is
 * taken and the user does not want to replace the key; other codes if the server cannot check the name
 */
export async function promptForKey(
  draft: KeyDraft,
  flags: DraftFlags,
  dialog: Dialog,
  connect: () => Promise<Client>,
): Promise<NewKey> {
  await requireRight("create", await connect());
  const prompts = await openDialog(dialog);
  const answers: Answers = {
    name: draft.name ?? "",
    description: draft.description ?? "",
    roles: draft.roles ?? [],
    permissions: draft.permissions ?? [],
  };
  let { overwrite, expiresAt } = draft;
  /** As typed. */
  let expiresIn = "";
  const toKey = (): NewKey => ({
    ...draft,
    ...answers,
    name: parseName(answers.name),
    description: answers.description.trim() === "" ? undefined : answers.description,
    expiresAt,
    overwrite,
  });
  const askForName: Step = (canGoBack) => askName({ answers, prompts, canGoBack });
  const askToReplace: Step = async (canGoBack) => {
    overwrite = draft.overwrite;
    const name = parseName(answers.name);
    if (overwrite || !await isTaken(name, await connect())) return false;
    overwrite = await confirmReplacement(name, canGoBack, prompts, await connect(), dialog);
    if (overwrite) return;
    throw canGoBack ? new GoBack() : nameTaken(name);
  };
  const askForDescription: Step = (canGoBack) => askDescription({ answers, prompts, canGoBack });
  const askForRoles: Step = async (canGoBack) => await askRoles({ answers, prompts, canGoBack }, await connect());
  const askForPermissions: Step = async (canGoBack) =>
    await askPermissions({ answers, prompts, canGoBack }, await connect());
  const askForMissingRights: Step = async (canGoBack) =>
    answers.roles.length + answers.permissions.length > 0 ? false : await askForPermissions(canGoBack);
  const askForExpiry: Step = async (canGoBack) => {
    const now = dialog.host.now();
    expiresIn = await askExpiry(expiresIn, { prompts, canGoBack }, now);
    expiresAt = expiresIn === "" ? undefined : expiryFrom({ expiresIn }, now);
  };

  const questions: readonly Question[] = [
    { title: "Name", answer: () => answers.name, steps: [askForName, askToReplace] },
    { title: "Description", answer: () => answers.description, steps: [askForDescription] },
    { title: "Roles", answer: () => answers.roles.join(", "), steps: [askForRoles, askForMissingRights] },
    { title: "Permissions", answer: () => summarizePermissions(answers.permissions), steps: [askForPermissions] },
    {
      title: "Expiry",
      answer: () => describeExpiry(expiresAt, dialog.host.now()),
      needs: "CreateApiKeyInput.expiresAt",
      steps: [askForExpiry],
    },
  ];
  await runSteps([
    draft.name === undefined ? askForName : askNothing,
    askToReplace,
    draft.description === undefined ? askForDescription : askNothing,
    draft.roles === undefined ? askForRoles : askNothing,
    draft.permissions === undefined ? askForPermissions : askNothing,
    async (canGoBack) => await confirmOrEdit(toKey, questions, flags, canGoBack, prompts, await connect(), dialog),
  ], { host: dialog.host, canGoBack: dialog.target.canGoBack });
  return toKey();
}

const askNothing: Step = () => Promise.resolve(false);

/** Shows the summary until the user confirms it. In between, the user can change answers. */
async function confirmOrEdit(
  toKey: () => NewKey,
  questions: readonly Question[],
  flags: DraftFlags,
  canGoBack: boolean,
  prompts: Prompts,
  client: Client,
  dialog: Dialog,
): Promise<void> {
  let decision: Decision | undefined;
  while (decision !== "yes") {
    // deno-lint-ignore no-await-in-loop -- until the user confirms
    await runSteps([
      async (canGoBack) => {
        const { label, initial } = await showSummary(toKey(), client, dialog);
        // With --permissions-for, the server decides which permissions the key gets.
        const suggestsYes = initial && flags.permissionsFor === undefined;
        decision = flags.yes ? "yes" : await prompts.confirm({ label, initial: suggestsYes, canEdit: true, canGoBack });
      },
      async () =>
        decision === "yes" ? false : await editOneAnswer(questions, decision === "no", prompts, client, dialog.host),
    ], { host: dialog.host, canGoBack });
  }
}

/**
 * Asks which answer to change, and asks for it again.
 *
 * @param suggestsToQuit whether to quit if the user only presses Enter
 * @throws {GoBack} if the user goes back from the menu
 * @throws {Failure} `INTERRUPTED` if the user quits
 */
async function editOneAnswer(
  questions: readonly Question[],
  suggestsToQuit: boolean,
  prompts: Prompts,
  client: Client,
  host: Host,
): Promise<void> {
  const fields = await client.serverFields();
  const changes = questions.filter(({ needs }) => needs === undefined || fields.has(needs)).map((question) => ({
    value: question,
    label: `Change ${question.title.toLowerCase()}`,
    hint: escapeInvisible(question.answer()),
  }));
  const quit = { value: null, label: "Quit" } as const;
  let question: Question | null | undefined = suggestsToQuit ? quit.value : undefined;
  await runSteps([
    async (canGoBack) => {
      question = await prompts.selectOne<Question | null>({
        label: `${UNCHANGED} What do you want to do?`,
        items: [...changes, quit],
        initial: question,
        canGoBack,
      });
      if (question === null) throw new Failure("INTERRUPTED", UNCHANGED);
    },
    async (canGoBack) => await question?.steps[0](canGoBack),
    async (canGoBack) => await question?.steps[1]?.(canGoBack) ?? false,
  ], { host, canGoBack: true });
}

/**
 * Shows a key with its effective rights. Without `--yes`, asks for confirmation. The user can change each answer.
 *
 * @throws {Failure} `INTERRUPTED` if the user cancels or does not confirm; what {@linkcode promptForKey} throws
 */
export async function confirmKey(
  key: NewKey,
  flags: DraftFlags,
  dialog: Dialog,
  connect: () => Promise<Client>,
): Promise<NewKey> {
  const { description = "", expiresAt } = key;
  if (!flags.yes) return await promptForKey({ ...key, description, expiresAt }, flags, dialog, connect);
  await showSummary(key, await connect(), dialog);
  return key;
}

/** @param replaced the keys that the new key replaces; `undefined` if they are unknown */
function labelFor(replaced: readonly ApiKey[] | undefined, replacesKeyInUse: boolean): string {
  if (replaced === undefined) return "Create this key and replace any key with the same name?";
  if (replacesKeyInUse) return "Create this key and replace the key in use?";
  return replaced.length === 0 ? "Create this key?" : "Create this key and replace the existing key?";
}

interface ReplacedKeys {
  readonly keys: readonly ApiKey[];
  readonly marks: Marks;
}

/** Returns the keys that the new key replaces; `undefined` if the user's key is not allowed to read keys. */
async function readReplaced(
  { name, overwrite }: Pick<NewKey, "name" | "overwrite">,
  client: Client,
  now: Date,
): Promise<ReplacedKeys | undefined> {
  if (!overwrite) return { keys: [], marks: new Map() };
  try {
    const { keys, marks } = await readMarkedKeys(client, now);
    return { keys: keys.filter((key) => hasName(key, name)), marks };
  } catch (error) {
    if (error instanceof Failure && error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}

/** Asks whether to replace the key that has the name. */
async function confirmReplacement(
  name: Name,
  canGoBack: boolean,
  prompts: Prompts,
  client: Client,
  dialog: Dialog,
): Promise<boolean> {
  const replaced = await readReplaced({ name, overwrite: true }, client, dialog.host.now());
  if (replaced !== undefined && replaced.keys.length > 0) await describeKeys(replaced.keys, replaced.marks, dialog);
  const label = `A key named ${quote(name)} already exists. Replace it and revoke its secret?`;
  return await prompts.confirm({ label, initial: false, canGoBack });
}

/**
 * Returns whether a key has this name, or `false` if the user's key is not allowed to read keys. If the name is taken
 * after all, the server rejects the new key.
 */
async function isTaken(name: Name, client: Client): Promise<boolean> {
  try {
    return (await client.findKeys(name)).length > 0;
  } catch (error) {
    if (error instanceof Failure && error.code === "FORBIDDEN") return false;
    throw error;
  }
}

function describeExpiry(expiresAt: Date | undefined, now: Date): string {
  return expiresAt === undefined ? "never" : withRelativeTime(expiresAt.toISOString(), now);
}

/**
 * Shows the rights of a key and then its values, so that the values are next to the confirmation even if the rights do
 * not fit on the screen.
 *
 * @returns the question, and whether Enter may confirm it: not if the key may do everything or replaces the key in use
 */
async function showSummary(
  key: NewKey,
  client: Client,
  { host, target }: Dialog,
): Promise<{ readonly label: string; readonly initial: boolean }> {
  const { name, description, roles, permissions, expiresAt } = key;
  const rights = await client.effectivePermissions(key);
  const style = styleFor(host.stderr, host);
  const warning = describeFullRights(rights);
  const replaced = await readReplaced(key, client, host.now());
  const rows = formatRows([
    ["Name", name],
    ["Description", escapeInvisible(description ?? "")],
    ["Roles", roles.join(", ")],
    ["Permissions", summarizePermissions(permissions)],
    ["Expires", describeExpiry(expiresAt, host.now())],
    ["Warning", warning ?? ""],
    ...replaced === undefined ? [] : describeReplaced(replaced.keys, replaced.marks, roles, host),
    ["Using", target.description],
  ], host);
  const matrix = drawRights(rights, host.stderr.columns(), style);
  await host.stderr.write(["", ...matrix, "", rows, ""].join("\n"));
  const replacesKeyInUse = replaced?.keys.some(({ id }) => replaced.marks.get(id)?.includes("in use")) ?? false;
  return { label: labelFor(replaced?.keys, replacesKeyInUse), initial: warning === undefined && !replacesKeyInUse };
}
