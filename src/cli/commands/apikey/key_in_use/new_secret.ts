/**
 * What follows when the key in use gets a new secret: where the old secret is stored, it has to be replaced. At prompts,
 * the command offers to do this. Otherwise, it warns that the user has to.
 */
import { escapeInvisible, Failure, quote } from "../../../../apikey/failure.ts";
import { shellWord } from "../../../../apikey/shell_word.ts";
import type { IssuedKey } from "../../../../client/client.ts";
import type { Dialog, KeySource } from "../../../host/dialog.ts";
import { lockSecretFile, type SecretFile } from "../../../host/secret_file.ts";
import type { Host } from "../../../host/host.ts";
import { wrapFor } from "../../../host/notes.ts";
import { withRelativeTime } from "../../../terminal/relative_time.ts";
import { writeWarning } from "./warning.ts";

/** How the key in use gets its new secret. */
export interface SecretChange {
  readonly source: KeySource | undefined;
  /** The file of `--secret-file`; `undefined` if the secret goes to standard output. */
  readonly secretFile: SecretFile | undefined;
  /** Whether the command can offer to replace the secret where it is stored. */
  readonly offers: boolean;
  readonly dialog: Dialog;
  /** How long to wait for another process that changes the file of the key, in milliseconds. */
  readonly timeout: number;
}

/** A new secret for the key in use, already printed or written. */
export interface NewSecret extends IssuedKey {
  /** Until when the old secret works, in RFC 3339; `null` or not set if the server rejects it already. */
  readonly graceUntil?: string | null | undefined;
}

/**
 * Runs a task that issues and prints a new secret for the key in use. Before that, if the secret is in a file, offers to
 * replace it there. If the file is not replaced, then warns what no longer works and says how to store the secret.
 *
 * @param issue receives whether the user has accepted the offer
 * @returns what was issued, if `--secret-file` replaced the file, so that nothing was said about the old secret
 * @throws {Failure} `INTERRUPTED` at the prompt; a failure of the task; if the user accepts the offer but the file cannot
 * be replaced, `FAILED` before the task begins
 */
export async function withNewSecret(
  change: SecretChange,
  issue: (isStored: boolean) => Promise<NewSecret>,
): Promise<NewSecret | undefined> {
  const { dialog: { host }, source } = change;
  if (await isSameFile(source?.file, change.secretFile?.path)) return await issue(false);
  const keyFile = change.offers ? await offerToReplace(change) : undefined;
  try {
    const issued = await issue(keyFile !== undefined);
    const problem = keyFile === undefined ? undefined : await failureMessage(keyFile.write(issued.key));
    if (keyFile === undefined || problem !== undefined) {
      await warn(issued, change, problem);
      return undefined;
    }
    const note = `Stored the new secret in ${placeOf(source)}. The old secret ${validityOf(issued, host)}.`;
    const lines = await wrapFor(host.stderr, escapeInvisible(note));
    // The secret is where it belongs, even if this note cannot be written.
    await host.stderr.write(`${lines}\n`).catch(() => {});
    return undefined;
  } finally {
    await keyFile?.discard();
  }
}

/** Opens the file of the key before the secret is issued, so that a missing permission is found in time. */
async function offerToReplace({ source, dialog, timeout }: SecretChange): Promise<SecretFile | undefined> {
  if (source?.file === undefined) return undefined;
  const { openDialog } = await import("#prompts");
  const prompts = await openDialog(dialog);
  const label = `This is the key in use. Store the new secret in ${placeOf(source)}?`;
  const hint = "the key gets a new secret either way; ctrl-c cancels";
  if (!await prompts.confirm({ label, hint, initial: true })) return undefined;
  const { host: { platform }, interrupted } = dialog;
  // If the path is a symbolic link, replaces its target and keeps the link.
  const path = await Deno.realPath(source.file).catch(() => source.file ?? "");
  return await lockSecretFile(path, { overwrite: true }, { timeout, interrupted, platform });
}

/** Returns, for example, `profile "prod"` or `"/etc/ci.key" (SERVICE_API_KEY_FILE)`. */
function placeOf(source: KeySource | undefined): string {
  if (source?.file === undefined || source.loginCommand !== undefined) return source?.name ?? "";
  return `${quote(source.file)} (${source.name})`;
}

async function warn(
  issued: NewSecret,
  { source, secretFile, dialog: { host } }: SecretChange,
  problem: string | undefined,
): Promise<void> {
  const old = source === undefined ? "Its old secret" : `Its old secret in ${placeOf(source)}`;
  const facts = `${quote(issued.name)} is the key in use. ${old} ${validityOf(issued, host)}.`;
  const { advice, command } = adviceFor(source, secretFile, host);
  const text = [facts, ...problem === undefined ? [] : [problem], advice].join(" ");
  await writeWarning({ text: escapeInvisible(text), command }, host);
}

/** Returns until when the old secret works, as the end of a sentence. */
export function validityOf({ graceUntil }: Pick<NewSecret, "graceUntil">, host: Host): string {
  return graceUntil ? `works until ${withRelativeTime(graceUntil, host.now())}` : "no longer works";
}

/** How to store the new secret where the old one is. */
function adviceFor(
  source: KeySource | undefined,
  secretFile: SecretFile | undefined,
  { stdout }: Host,
): { readonly advice: string; readonly command?: string } {
  const path = secretFile && shellWord(secretFile.path);
  if (source?.loginCommand !== undefined) {
    if (path !== undefined) {
      return { advice: "To store the new secret, run:", command: `${source.loginCommand} --key-file ${path}` };
    }
    return stdout.isTerminal()
      ? { advice: "To store the new secret, run this command and paste it:", command: source.loginCommand }
      : { advice: "To store the new secret, pipe it to:", command: `${source.loginCommand} --key-file -` };
  }
  if (source?.file !== undefined) {
    const file = shellWord(source.file);
    return path === undefined
      ? { advice: `Write the new secret to this file. The next time, add --secret-file ${file} --overwrite.` }
      : { advice: "To store the new secret, run:", command: `cp ${path} ${file}` };
  }
  if (source === undefined) return { advice: "Replace it with the new secret where you have stored it." };
  return { advice: `Set ${source.name} to the new secret.` };
}

async function isSameFile(one: string | undefined, other: string | undefined): Promise<boolean> {
  if (one === undefined || other === undefined) return false;
  const [first, second] = await Promise.all([one, other].map((path) => Deno.realPath(path).catch(() => undefined)));
  return first !== undefined && first === second;
}

async function failureMessage(task: Promise<void>): Promise<string | undefined> {
  try {
    await task;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
