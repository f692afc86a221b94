/**
 * Prints a created key: the secret on standard output or in the file of `--secret-file`, the messages meant for a person
 * on standard error.
 */
import { escapeInvisible, Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import type { EffectivePermissions, IssuedKey, KeyReference } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { wrapFor } from "../../host/notes.ts";
import type { SecretFile } from "../../host/secret_file.ts";
import { showWaiting } from "../../host/show_waiting.ts";
import { writeJson } from "../../report.ts";

/** A key that the server has created. */
export interface Creation {
  readonly created: IssuedKey;
  /** Receives the secret instead of standard output. */
  readonly secretFile: SecretFile | undefined;
  /** The rights to show; `undefined` if `showsRights` returned false, or if prompts have shown them. */
  readonly rights: EffectivePermissions | undefined;
  /** Whether the command prompted. */
  readonly wasPrompted: boolean;
  /** Whether the command also stores the secret where the old one is. */
  readonly isStored: boolean;
}

interface DestinationFlags {
  readonly secretFile?: string | undefined;
  readonly overwrite?: boolean | undefined;
}

interface OutputFlags {
  readonly json?: boolean | undefined;
}

interface DestinationOptions {
  readonly host: Host;
  /** How long to wait for another process that changes the file, in milliseconds. */
  readonly timeout: number;
  readonly interrupted: AbortSignal;
  /** The sentence that nothing has happened yet. */
  readonly unchanged: string;
}

/**
 * Runs a task that issues a secret. Opens the file for the secret, if the flags name one, and locks it against other
 * processes of this program until the task ends. If the flags name none, checks that standard output can receive the
 * secret.
 *
 * @throws {Failure} `USAGE` if the directory of the file is missing or read-only; `FAILED` if standard output is closed;
 * any other failure of `lockSecretFile`
 */
export async function withDestination(
  { secretFile: path, overwrite = false }: DestinationFlags,
  { unchanged, host, timeout, interrupted }: DestinationOptions,
  task: (secretFile: SecretFile | undefined) => Promise<void>,
): Promise<void> {
  if (path !== undefined) {
    const { lockSecretFile, toFlagFailure } = await import("#secret-file");
    const { platform } = host;
    const locking = lockSecretFile(path, { overwrite }, { timeout, interrupted, platform }).catch((error) => {
      throw toFlagFailure(error);
    });
    const secretFile = await showWaiting(() => `another process that changes ${quote(path)}`, host, locking);
    return await task(secretFile).finally(() => secretFile.discard());
  }
  if (!await host.isOutputClosed()) return await task(undefined);
  throw new Failure(
    "FAILED",
    `Standard output is closed or is /dev/null, so the new secret would be lost. ${unchanged} ` +
      "Write standard output to a file or a pipe, for example with | cat.",
  );
}

/** Whether to show the rights of a key that is created without prompts. Scripts do not need them. */
export function showsRights({ json }: OutputFlags, host: Host): boolean {
  return !json && host.stdout.isTerminal() && host.stderr.isTerminal();
}

/**
 * Prints the secret (see {@linkcode printSecret}). If there are rights to show, also writes the rights and the next steps
 * to standard error. After prompts, always writes the next steps.
 *
 * @throws {Failure} `FAILED` if the secret or the result cannot be written
 */
export async function printCreatedKey(
  { created, secretFile, rights, wasPrompted, isStored }: Creation,
  flags: OutputFlags,
  host: Host,
): Promise<void> {
  if (rights !== undefined) await writeNote(formatRights(rights, host), host);
  await printSecret(created, secretFile, flags, host, {
    event: "was created",
    remedy: "Delete the key, or create it again with --overwrite.",
  });
  if (rights !== undefined || wasPrompted) {
    await printNextSteps(created, { secretFile, isStored, participle: "Created" }, host);
  }
}

/**
 * Prints only the secret on standard output, or `{"key","name","id"}` with `--json`. If there is a file for the secret,
 * writes the secret to this file, and prints nothing on standard output, or `{"name","id","secretFile"}` with `--json`.
 *
 * @param messages for a failure: what happened to the key, and what to do
 * @throws {Failure} `FAILED` if the secret or the result cannot be written
 */
export async function printSecret(
  { key, name, id }: IssuedKey,
  secretFile: SecretFile | undefined,
  { json }: OutputFlags,
  host: Host,
  { event, remedy }: { readonly event: string; readonly remedy: string },
): Promise<void> {
  try {
    await secretFile?.write(key);
  } catch (error) {
    const problem = `its secret could not be written: ${reasonOf(error)}`;
    throw new Failure("FAILED", `The key ${quote(name)} (${id}) ${event}, but ${problem} ${remedy}`, { cause: error });
  }
  try {
    if (json) await writeJson(host.stdout, secretFile ? { name, id, secretFile: secretFile.path } : { key, name, id });
    else if (secretFile === undefined) await host.stdout.write(`${key}\n`);
  } catch (error) {
    const problem = secretFile === undefined
      ? `its secret could not be printed: ${reasonOf(error)} ${remedy}`
      : `the result could not be printed: ${reasonOf(error)} The secret is in ${quote(secretFile.path)}.`;
    throw new Failure("FAILED", `The key ${quote(name)} (${id}) ${event}, but ${problem}`, { cause: error });
  }
}

interface Issuance extends Pick<Creation, "secretFile" | "isStored"> {
  /** What happened to the key. */
  readonly participle: "Created" | "Rotated";
}

/** Says on standard error where the secret is, unless another note says where it is stored. */
export async function printNextSteps(key: KeyReference, issuance: Issuance, host: Host): Promise<void> {
  await writeNote(formatNextSteps(key, issuance, host), host);
}

/** Writes a note to standard error. Ignores failures, because a lost note must not make the command fail. */
async function writeNote(text: Promise<string>, host: Host): Promise<void> {
  try {
    await host.stderr.write(await text);
  } catch {
    // The command succeeds without the note.
  }
}

async function formatRights(rights: EffectivePermissions, host: Host): Promise<string> {
  const { drawRights, styleFor } = await import("#terminal");
  return [...drawRights(rights, host.stderr.columns(), styleFor(host.stderr, host)), "", ""].join("\n");
}

async function formatNextSteps(
  { name, id }: KeyReference,
  { secretFile, isStored, participle }: Issuance,
  host: Host,
): Promise<string> {
  const where = host.stdout.isTerminal() ? "printed above" : "on standard output";
  const paragraphs = [
    `${participle} API key ${quote(name)} (${escapeInvisible(id)}).`,
    ...secretFile !== undefined
      ? [`The secret is in ${quote(secretFile.path)}, which only the owner of the file can read.`]
      : isStored
      ? []
      : [
        `The secret is ${where} and cannot be shown again. Store it in a secrets manager or in a file that only you ` +
        "can read.",
      ],
  ];
  const lines = await Promise.all(paragraphs.map((text) => wrapFor(host.stderr, text)));
  return [...lines, ""].join("\n");
}
