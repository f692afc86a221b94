/** `apikey rotate`: issues a new secret for a key. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure } from "../../../apikey/failure.ts";
import { type ExpiryFlags, parseDuration } from "../../../apikey/lifetime.ts";
import { hasName } from "../../../apikey/name.ts";
import type { ApiKey, Client, KeySelector, RotatedKey } from "../../../client/client.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import { canPrompt } from "../../host/can_prompt.ts";
import type { Dialog } from "../../host/dialog.ts";
import type { Host } from "../../host/host.ts";
import { parseAt, parseExpiry } from "../../settings/parse_at.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { printNextSteps, printSecret, showsRights, withDestination } from "./create_output.ts";
import { type OutputFlags, withOutputFlags } from "./key_flags.ts";
import { validityOf, withNewSecret } from "./key_in_use/new_secret.ts";
import { writeWarning } from "./key_in_use/warning.ts";
import { parseSelector, type SelectorFlags, withSelector } from "./select/select_key.ts";

/** Registers the subcommand. */
export function registerRotate(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withSecret = withSelector(
    command.description(
      "Issue a new secret for a key and print it once. The id, the name and the rights of the key stay the same.",
    ),
  )
    .optionsGroup("Secret:")
    .option("--grace <duration>", "how long the old secret works, by default not at all; for example 2h")
    .option("--expires-in <duration>", "the new expiry of the key: a number and s, m, h, d or w, for example 90d")
    .option("--expires-at <time>", "the expiry as a time, for example 2026-12-31T23:59:59Z")
    .option("--secret-file <file>", "write the secret to this file, not to standard output")
    .option("--overwrite", "replace the file of --secret-file if it exists");
  withServerFlags(withOutputFlags(withSecret))
    .addHelpText("after", NOTES)
    .action(async (name, flags) => setExitCode(await rotate(name, flags, host, withClient(flags, host, log))));
}

interface RotateFlags extends SelectorFlags, OutputFlags, ExpiryFlags {
  readonly grace?: string | undefined;
  readonly secretFile?: string | undefined;
  readonly overwrite?: true | undefined;
}

/** How to rotate a key. What is not set is what the server does by default. */
export interface RotationPlan {
  /** How long the old secret stays valid, in milliseconds. */
  readonly grace: number | undefined;
  /** The new expiry of the key. */
  readonly expiresAt: Date | undefined;
}

/**
 * Rotates a key. Prompts if neither a name nor an id is given. If the key in use gets a new secret, offers to store it, or
 * warns that the old one stops working.
 *
 * @throws {Failure} with any code
 */
export async function rotate(
  name: string | undefined,
  flags: RotateFlags,
  host: Host,
  useClient: UseClient,
): Promise<ExitCode> {
  const given = parseSelector(name, flags, "rotate", host);
  const plan: RotationPlan = {
    grace: parseAt("--grace", () => flags.grace === undefined ? undefined : parseDuration(flags.grace)),
    expiresAt: parseExpiry(flags, host.now()),
  };
  if (flags.overwrite && flags.secretFile === undefined) {
    throw new Failure("USAGE", "--overwrite works only with --secret-file.");
  }
  await useClient(async (connect, interrupted, { target, timeout, keySource }) => {
    const dialog = { host, interrupted, target };
    const destination = { host, timeout, interrupted, unchanged: "Nothing was changed." };
    await withDestination(flags, destination, async (secretFile) => {
      const client = await connect();
      const { selector, grace = 0, expiresAt } = given === undefined
        ? await promptForRotation(plan, flags, client, dialog)
        : { ...plan, selector: given };
      const [isInUse, before] = await Promise.all([
        isKeyInUse(selector, client),
        flags.json ? undefined : findBefore(selector, client),
      ]);
      const olderSecretEnd = given !== undefined || flags.yes ? graceEndOf(before, host.now()) : undefined;
      const issue = async (isStored: boolean): Promise<RotatedKey> => {
        const rotated = await client.rotateKey({ selector, grace, expiresAt, now: host.now() });
        await printSecret(rotated, secretFile, flags, host, { event: "was rotated", remedy: remedyFor(grace) });
        if (given === undefined || showsRights(flags, host)) {
          await printNextSteps(rotated, { secretFile, isStored, participle: "Rotated" }, host);
        }
        if (olderSecretEnd !== undefined) await warnAboutOlderSecret(olderSecretEnd, host);
        return rotated;
      };
      // The server refuses to rotate a key that is used with its old secret. The prompt would come before that.
      const offers = isInUse && canPrompt(flags, host) && !flags.yes && !flags.json &&
        !await usesOldSecret(before, client);
      const change = { source: keySource, secretFile, offers, dialog, timeout };
      const issued = isInUse ? await withNewSecret(change, issue) : await issue(false);
      if (issued !== undefined && !flags.json) await noteOldSecret(issued, host);
    });
  });
  return ExitCode.OK;
}

async function promptForRotation(
  plan: RotationPlan,
  flags: RotateFlags,
  client: Client,
  dialog: Dialog,
): Promise<RotationPlan & { readonly selector: KeySelector }> {
  const { promptForRotation } = await import("#prompts");
  const { key, ...asked } = await promptForRotation(plan, flags, client, dialog);
  return { ...asked, selector: { id: key.id } };
}

async function isKeyInUse(selector: KeySelector, client: Client): Promise<boolean> {
  const keyInUse = await client.findKeyInUse();
  if (keyInUse === undefined) return false;
  return "id" in selector ? keyInUse.id === selector.id : hasName(keyInUse, selector.name);
}

/** Returns the key before the rotation; `undefined` if the server does not show it. It is needed only for messages. */
async function findBefore(selector: KeySelector, client: Client): Promise<ApiKey | undefined> {
  try {
    return await client.findKey(selector);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Until when the secret from before the last rotation works, in RFC 3339; `undefined` if it no longer works. */
function graceEndOf(key: ApiKey | undefined, now: Date): string | undefined {
  const end = key?.graceUntil ?? undefined;
  return end !== undefined && new Date(end) > now ? end : undefined;
}

/** Whether the secret in use is known to be the one from before the last rotation of its key. */
async function usesOldSecret(key: ApiKey | undefined, client: Client): Promise<boolean> {
  // The server reports until when the secret of the request works. This does not help if both secrets end together.
  if (!key?.graceUntil || key.graceUntil === key.expiresAt) return false;
  const verification = await client.verifyKey();
  return verification.isActive && verification.key?.expiresAt === key.graceUntil;
}

async function warnAboutOlderSecret(end: string, host: Host): Promise<void> {
  await writeWarning({ text: escapeInvisible(`An older secret that was valid until ${end} no longer works.`) }, host);
}

/** At a terminal, says until when the old secret works, or that it no longer works. */
async function noteOldSecret(issued: Pick<RotatedKey, "graceUntil">, host: Host): Promise<void> {
  if (!host.stderr.isTerminal()) return;
  await host.stderr.write(escapeInvisible(`The old secret ${validityOf(issued, host)}.`) + "\n").catch(() => {});
}

/** What to do if the new secret is lost. */
function remedyFor(grace: number): string {
  return grace === 0
    ? "The old secret is no longer valid. To issue another secret, run the same command again. If this was the key in " +
      "use, use another key."
    : "The old secret is valid until the grace period ends. To issue another secret, run the same command again. The " +
      "old secret then stops working at once.";
}

const NOTES = `
Secret:
  By default, the old secret stops working as soon as the new one exists. With
  --grace, it works until the grace period ends, but never past its own expiry.
  Another rotation ends the grace period at once. Without --json, a warning on
  standard error then says that an older secret no longer works. Until the grace
  period ends, the access log of serve marks each request that carries the old
  secret.
  The expiry of the key does not change unless --expires-in or --expires-at is
  given. An expired key cannot be rotated without a new expiry.
  With --secret-file, the secret goes to a file with mode 0600, and nothing is
  printed. A file that exists is an error, unless --overwrite is given.

Prompting:
  Without a name and an id, the command shows a list to select a key from. It
  asks for the grace period and the expiry, unless flags give them, and for
  confirmation. --yes skips the confirmation.

The calling key:
  If you rotate the key that you use, its secret in your profile, key file or
  variable stops working. At a terminal, the command offers to store the new
  secret in the profile or the key file. Otherwise, and with --yes or --json, a
  warning on standard error says what to do. If --secret-file names the key file
  itself, no warning is needed.

Rights:
  On the embedded server, the calling key needs API_KEY:UPDATE_ANY and every
  right of the key. API_KEY:UPDATE_OWN is enough for the calling key itself and
  for the keys that it created. A secret in its grace period cannot rotate its
  own key.

Other servers:
  Only the embedded server can rotate keys. On another server, the command fails
  with UNSUPPORTED and prints the command that replaces the key.

Results:
  Standard output has only the new secret, or with --json one of these lines:
    rotated  {"key":"sak_...","name":"ci deploy","id":"key_..."}
             {"name":"ci deploy","id":"key_...","secretFile":"ci.key"} with
             --secret-file
    failure  {"error":"...","code":"..."}
  If the response is lost, the command asks the server whether it has changed
  the key, and says whether the old secret is still valid.

Examples:
  # Rotate a key. The old secret works for two more hours.
  KEY=$(service-api apikey rotate "ci deploy" --grace 2h)
  # Replace the secret in a file.
  service-api apikey rotate "ci deploy" --secret-file ci.key --overwrite
${EXIT_STATUS}`;
