/** `apikey ensure`: makes sure that a file holds a valid secret of a key with exactly these rights. */
import type { Command } from "@commander-js/extra-typings";
import { parseDescription } from "../../../../apikey/description.ts";
import { Failure, quote, toSentence } from "../../../../apikey/failure.ts";
import { type ExpiryFlags, parseDuration } from "../../../../apikey/lifetime.ts";
import { parseName } from "../../../../apikey/name.ts";
import { parsePermissionsOf } from "../../../../apikey/permission.ts";
import { requireSomeRights } from "../../../../apikey/rights.ts";
import { parseRolesOf } from "../../../../apikey/role.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import type { CommandContext } from "../../../command.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import { parseAt, parseExpiry } from "../../../settings/parse_at.ts";
import { collect, type ServerFlags, withServerFlags } from "../../../settings/server_flags.ts";
import { type KnownNames, parseKnownNames, parseNamesOfServer } from "../known_names.ts";
import { chooseName } from "../select/choose_name.ts";
import { applyKeys } from "./apply_keys.ts";
import { printReport } from "./output.ts";
import { requireRotatable, type WantedKey } from "./plan.ts";
import { withSession } from "./session.ts";
import type { FailedKey } from "./settle.ts";

/** The flags as typed. */
interface EnsureFlags extends ServerFlags, ExpiryFlags {
  readonly name?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly secretFile?: string | undefined;
  readonly rotateBefore?: string | undefined;
  readonly grace?: string | undefined;
  readonly json?: true | undefined;
}

/** Registers the subcommand. */
export function registerEnsure(command: Command, context: CommandContext): void {
  const withFlags = command
    .description(
      "Make sure that a file holds a valid secret of a key with exactly these rights.\n" +
        "Creates, updates or rotates the key only if that is needed.",
    )
    .usage("<name> --secret-file <file> [options]")
    .argument("[name]", "letters, digits and spaces; unique among keys")
    .optionsGroup("Key:")
    .option("--name <name>", "the same as the argument")
    .option("--roles <roles>", "comma-separated roles; repeatable", collect)
    .option("--permissions <perms>", "comma-separated RESOURCE:ACTION pairs; * stands for all; repeatable", collect)
    .option("--description <desc>", "what the key is for; by default, an existing description stays")
    .option("--secret-file <file>", "the file for the secret; required")
    .optionsGroup("Lifetime:")
    .option("--expires-in <duration>", "how long each secret is valid: a number and s, m, h, d or w, for example 90d")
    .option("--expires-at <time>", "when the key expires, for example 2026-12-31T23:59:59Z")
    .option("--rotate-before <duration>", "issue a new secret this long before the expiry; needs --expires-in")
    .option("--grace <duration>", "how long the old secret stays valid after a new one is issued")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withFlags)
    .addHelpText("after", NOTES)
    .action(async (name, flags) => {
      context.setExitCode(await ensure({ ...flags, name: chooseName(name, flags) }, context));
    });
}

async function ensure(flags: EnsureFlags, context: CommandContext): Promise<ExitCode> {
  const { host } = context;
  const parse = (known: KnownNames): WantedKey => parseWanted(flags, known, host.now());
  const parsed = parseKnownNames(parse);
  await withSession(flags, context, async (session) => {
    const wanted = parsed instanceof UnknownName ? await parseNamesOfServer(parse, parsed, session.client) : parsed;
    const report = await applyKeys([wanted], { dryRun: false, prunes: undefined }, session);
    const [failed] = report.failed;
    if (failed !== undefined) throw withName(failed);
    await printReport(report, flags, host);
  });
  return ExitCode.OK;
}

/** Adds the key and the remedy if the server only names the missing right. */
function withName({ name, failure }: FailedKey): Failure {
  if (failure.code !== "FORBIDDEN") return failure;
  return new Failure(
    "FORBIDDEN",
    `Cannot bring the key ${quote(name)} in order: ${
      toSentence(failure.message)
    } Use a key with this right, or choose ` +
      "another name.",
    { cause: failure },
  );
}

function parseDurationAt(flag: `--${string}`, duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : parseAt(flag, () => parseDuration(duration));
}

/** @throws {Failure} `USAGE`, `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`, `NO_RIGHTS` */
function parseWanted(flags: EnsureFlags, { roles: known, resources }: KnownNames, now: Date): WantedKey {
  const { name, secretFile, description, expiresIn, expiresAt } = flags;
  if (name === undefined) throw new Failure("USAGE", "apikey ensure needs the name of the key.");
  if (secretFile === undefined || secretFile === "" || secretFile === "-") {
    throw new Failure("USAGE", "apikey ensure needs --secret-file, the path of the file that holds the secret.");
  }
  const roles = parseAt("--roles", () => parseRolesOf(known, flags.roles ?? []));
  const permissions = parseAt("--permissions", () => parsePermissionsOf(resources, flags.permissions ?? []));
  requireSomeRights(roles, permissions);
  const wanted = {
    name: parseName(name),
    description: description === undefined ? undefined : parseDescription(description),
    roles,
    permissions,
    expiresIn: parseDurationAt("--expires-in", expiresIn),
    expiresAt: expiresAt === undefined ? undefined : parseExpiry({ expiresIn, expiresAt }, now),
    rotateBefore: parseDurationAt("--rotate-before", flags.rotateBefore),
    grace: parseDurationAt("--grace", flags.grace),
    managedBy: undefined,
    secretFile,
  };
  requireRotatable(wanted, { expiresIn: "--expires-in", rotateBefore: "--rotate-before" });
  return wanted;
}

const NOTES = `
What it does:
  create     if no key has the name
  update     if the roles, permissions or description differ, if the key is
             disabled, or if it expires later than --expires-in allows
  rotate     if the file does not hold the current secret of the key, if the key
             has expired, or if it expires within --rotate-before
  unchanged  otherwise

  Run it as often as you like, for example every night. If it is interrupted or
  killed, run it again: it finishes the job. Commands that issue a secret for
  the same file wait for each other, up to --timeout: ensure, apply, and create
  and rotate with --secret-file. The lock is the file FILE.lock.

File:
  The file has mode 0600 and holds only the secret. A new secret replaces the
  file in one step, so no program reads a part of it. A symbolic link, a device,
  a file with several lines and a file of more than 4,096 bytes are refused,
  because they cannot be a secret file. The secret is never printed. It is never
  sent either: the server gets its SHA-256 hash.

Rotation:
  A new secret is valid for --expires-in. Without --grace, the server rejects
  the old secret as soon as the new one exists. With --grace, programs that have
  read the old secret have that long to read the file again. A second rotation
  within that time ends it: the oldest secret then stops working at once.

Rights on the embedded server:
  API_KEY:CREATE_ANY, API_KEY:READ_OWN, API_KEY:UPDATE_OWN and every right of
  the key are enough for the keys that the calling key created. Other keys need
  API_KEY:READ_ANY and API_KEY:UPDATE_ANY.

Other servers:
  A server without apiKeysBySecretHash must show the secrets of its keys. There,
  a new secret means a new key, as with --create --overwrite. --expires-in,
  --expires-at and --grace are not supported there.

Results:
  Standard output says what the command did, and never contains the secret. In a
  crontab, add > /dev/null, so that cron sends mail only about errors. With
  --json, standard output has one line:
  {"created":1,"updated":0,"rotated":0,"deleted":0,"unchanged":0,
  "keys":[{"name":"ci deploy","id":"key_...","action":"create",
  "secretFile":"deploy.key"}]}
  action is create, update, rotate or unchanged.
  A failure is {"error":"...","code":"..."}.

Examples:
  service-api apikey ensure "nightly backup" --roles VIEWER \\
    --secret-file backup.key
  # Rotate the key two weeks before it expires.
  service-api apikey ensure "ci deploy" --roles VIEWER \\
    --secret-file /etc/deploy/api.key \\
    --expires-in 90d --rotate-before 14d --grace 1d
${EXIT_STATUS}`;
