/** Prints a created key: the secret on standard output, the messages meant for a person on standard error. */
import { escapeInvisible, Failure, quote, reasonOf } from "../../../apikey/failure.ts";
import type { CreatedKey, NewKey } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { writeJson } from "../../report.ts";

/** A key that the server has created. */
export interface Creation {
  readonly created: CreatedKey;
  /** What was requested. */
  readonly key: NewKey;
  /** Whether prompts have already shown the rights. */
  readonly wasPrompted: boolean;
}

/**
 * Prints only the secret on standard output, or, with `--json`, `{"key","name","id"}`. Without `--json`, if standard
 * output and standard error are terminals, also writes the rights and the next steps to standard error. After prompts,
 * always writes the next steps, and omits the rights, because the prompts have shown them.
 *
 * @throws {Failure} `FAILED` if the secret cannot be written
 */
export async function printCreatedKey(
  { created, key, wasPrompted }: Creation,
  { json }: { readonly json?: boolean | undefined },
  host: Host,
): Promise<void> {
  const showsSecret = !json && host.stdout.isTerminal() && host.stderr.isTerminal();
  if (showsSecret && !wasPrompted) await writeNote(formatRights(key, host), host);
  try {
    if (json) await writeJson(host.stdout, { key: created.key, name: created.name, id: created.id });
    else await host.stdout.write(`${created.key}\n`);
  } catch (error) {
    throw secretNotPrinted(created, error);
  }
  if (showsSecret || wasPrompted) await writeNote(formatNextSteps(created, host), host);
}

/** Writes a note to standard error. Ignores failures, because a lost note must not make the command fail. */
async function writeNote(text: Promise<string>, host: Host): Promise<void> {
  try {
    await host.stderr.write(await text);
  } catch {
    // The command succeeds without the note.
  }
}

async function formatRights({ roles, permissions }: NewKey, host: Host): Promise<string> {
  const { drawRights, styleFor } = await import("#terminal");
  return [...drawRights(roles, permissions, host.stderr.columns(), styleFor(host.stderr, host)), "", ""].join("\n");
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
