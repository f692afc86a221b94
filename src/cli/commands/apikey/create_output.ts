/** Prints a created key: the secret on standard output, the messages meant for a person on standard error. */
import { escapeInvisible, Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import type { CreatedKey, EffectivePermissions } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { writeJson } from "../../report.ts";

/** A key that the server has created. */
export interface Creation {
  readonly created: CreatedKey;
  /** The rights to show; `undefined` if `showsRights` returned false, or if prompts have shown them. */
  readonly rights: EffectivePermissions | undefined;
  /** Whether the command prompted. */
  readonly wasPrompted: boolean;
}

interface OutputFlags {
  readonly json?: boolean | undefined;
}

/** Whether to show the rights of a key that is created without prompts. Scripts do not need them. */
export function showsRights({ json }: OutputFlags, host: Host): boolean {
  return !json && host.stdout.isTerminal() && host.stderr.isTerminal();
}

/**
 * Prints only the secret on standard output, or, with `--json`, `{"key","name","id"}`. If there are rights to show, also
 * writes the rights and the next steps to standard error. After prompts, always writes the next steps.
 *
 * @throws {Failure} `FAILED` if the secret cannot be written
 */
export async function printCreatedKey(
  { created, rights, wasPrompted }: Creation,
  { json }: OutputFlags,
  host: Host,
): Promise<void> {
  if (rights !== undefined) await writeNote(formatRights(rights, host), host);
  try {
    if (json) await writeJson(host.stdout, { key: created.key, name: created.name, id: created.id });
    else await host.stdout.write(`${created.key}\n`);
  } catch (error) {
    throw secretNotPrinted(created, error);
  }
  if (rights !== undefined || wasPrompted) await writeNote(formatNextSteps(created, host), host);
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

async function formatNextSteps({ name, id }: CreatedKey, host: Host): Promise<string> {
  const { wrapText } = await import("#terminal");
  const where = host.stdout.isTerminal() ? "printed above" : "on standard output";
  const paragraphs = [
    `Created API key ${quote(name)} (${escapeInvisible(id)}).`,
    `The secret is ${where} and cannot be shown again. Store it in a secrets manager or in a file that only you can ` +
    "read.",
  ];
  const lines = paragraphs.flatMap((text) => wrapText(text, host.stderr.columns() - 1));
  return [...lines, ""].join("\n");
}

function secretNotPrinted({ name, id }: CreatedKey, cause: unknown): Failure {
  return new Failure(
    "FAILED",
    `The key ${quote(name)} (${id}) was created, but its secret could not be printed: ${reasonOf(cause)} ` +
      "Delete the key, or create it again with --overwrite.",
    { cause },
  );
}
