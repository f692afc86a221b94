/** `apikey rotate`: issues a new secret for a key. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../../apikey/failure.ts";
import { type ExpiryFlags, parseDuration } from "../../../apikey/lifetime.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Question } from "../../host/dialog.ts";
import type { Host } from "../../host/host.ts";
import { parseAt, parseExpiry } from "../../settings/parse_at.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { printNextSteps, printSecret, showsRights, withDestination } from "./create_output.ts";
import { type OutputFlags, withOutputFlags } from "./key_flags.ts";
import { parseSelector, promptForSelector, type SelectorFlags, withSelector } from "./select/select_key.ts";

/** Registers the subcommand. */
export function registerRotate(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withSecret = withSelector(
    command.description(
      "Issue a new secret for a key and print it once. The id, the name and the rights of the key stay the same.",
    ),
  )
    .optionsGroup("Secret:")
    .option("--grace <duration>", "how long the old secret stays valid, for example 2h; without it, not at all")
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

/**
 * Rotates a key. Prompts for the key if neither a name nor an id is given.
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
  const grace = parseAt("--grace", () => flags.grace === undefined ? 0 : parseDuration(flags.grace));
  const expiresAt = parseExpiry(flags, host.now());
  if (flags.overwrite && flags.secretFile === undefined) {
    throw new Failure("USAGE", "--overwrite works only with --secret-file.");
  }
  await useClient(async (connect, interrupted, { target, timeout }) => {
    const destination = { host, timeout, interrupted, unchanged: "Nothing was changed." };
    await withDestination(flags, destination, async (secretFile) => {
      const client = await connect();
      const question = flags.yes ? undefined : confirmationOf(grace, flags);
      const selector = given ??
        await promptForSelector("Key to rotate", client, { host, interrupted, target }, question);
      const rotated = await client.rotateKey({ selector, grace, expiresAt, now: host.now() });
      await printSecret(rotated, secretFile, flags, host, { event: "was rotated", remedy: remedyFor(grace) });
      if (given === undefined || showsRights(flags, host)) await printNextSteps(rotated, secretFile, "Rotated", host);
    });
  });
  return ExitCode.OK;
}

function confirmationOf(grace: number, flags: RotateFlags): Question {
  const oldSecret = grace === 0
    ? "Its old secret stops working immediately."
    : `Its old secret works for another ${quote(flags.grace ?? "")}.`;
  return {
    label: `Rotate this key? ${oldSecret}`,
    alternative: "Select another key",
    unchanged: "Nothing was changed.",
  };
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
  Another rotation ends the grace period at once.
  The expiry of the key does not change unless --expires-in or --expires-at is
  given. An expired key cannot be rotated without a new expiry.
  With --secret-file, the secret goes to a file with mode 0600, and nothing is
  printed. A file that exists is an error, unless --overwrite is given.

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
