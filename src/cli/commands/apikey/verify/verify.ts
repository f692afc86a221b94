/** `apikey verify`: reports whether the key in use is valid, whose it is, what it may do and until when. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible, Failure, quote } from "../../../../apikey/failure.ts";
import { parsePermissionsOf } from "../../../../apikey/permission.ts";
import { isMistypedSecret, redactSecrets } from "../../../../apikey/secret.ts";
import { UnknownName } from "../../../../apikey/unknown_name.ts";
import type { Client, EffectivePermissions, Verification } from "../../../../client/client.ts";
import type { CommandContext } from "../../../command.ts";
import { EXIT_STATUS, ExitCode } from "../../../exit_code.ts";
import type { Host } from "../../../host/host.ts";
import { wrapFor } from "../../../host/notes.ts";
import { writeJson } from "../../../report.ts";
import { parseAt } from "../../../settings/parse_at.ts";
import { collect, type ServerFlags, withServerFlags } from "../../../settings/server_flags.ts";
import { summarizePermissions } from "../../../terminal/permission_summary.ts";
import { escapeRights } from "../show/show_output.ts";
import { type KnownNames, parseKnownNames, parseNamesOfServer } from "../known_names.ts";

/** Registers the subcommand. */
export function registerVerify(command: Command, context: CommandContext): void {
  const withOwnFlags = command
    .description("Report whether your key is valid, whose key it is, what it may do and until when.")
    .usage("[--key-file <file>] [options]")
    .optionsGroup("Key:")
    .option("--can <permission>", "also require this RESOURCE:ACTION; * stands for all; repeatable", collect)
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => context.setExitCode(await verify(flags, context)));
}

interface VerifyFlags extends ServerFlags {
  readonly can?: readonly string[] | undefined;
  readonly json?: true | undefined;
}

interface Report {
  /** The answer of the server. */
  readonly verification: Verification;
  /** The required permissions that the key lacks. */
  readonly missing: readonly string[];
  /** The rights to draw, at a terminal; `undefined` if they are unknown. */
  readonly drawn: EffectivePermissions | undefined;
}

async function verify(flags: VerifyFlags, { host, log }: CommandContext): Promise<ExitCode> {
  // Without this check, a script with an empty variable would succeed with any valid key.
  if (flags.can?.some((list) => list.trim() === "")) {
    throw new Failure("USAGE", "--can is empty. Pass a permission, for example DOCKER:READ_ANY.");
  }
  const parse = ({ resources }: KnownNames): readonly string[] =>
    parseAt("--can", () => parsePermissionsOf(resources, flags.can ?? []));
  const parsed = parseKnownNames(parse);
  const { readSettings, withClientFor } = await import("#connection");
  const settings = await readSettings(flags, host, log);
  const secrets = [...settings.headers.values()].map((value) => value.replace(/^Bearer /, ""));
  if (secrets.length === 0) {
    throw new Failure(
      "USAGE",
      "There is no key to verify. Pass its file with --key-file, pipe the key to --key-file -, or set SERVICE_API_KEY.",
    );
  }
  const report = secrets.some(isMistypedSecret)
    ? MISTYPED
    : await withClientFor(settings, host, log)(async (connect) => {
      const client = await connect();
      const verification = await client.verifyKey();
      if (!verification.isActive) return { verification, missing: [], drawn: undefined };
      const drawn = !flags.json && host.stdout.isTerminal() ? await effectiveRightsOf(verification, client) : undefined;
      if (flags.can === undefined) return { verification, missing: [], drawn };
      const required = parsed instanceof UnknownName ? await parseNamesOfServer(parse, parsed, client) : parsed;
      const rights = await rightsOf(verification, required, client);
      return { verification, missing: required.filter((permission) => !rights.has(permission)), drawn };
    });
  await print(report, flags, host);
  return report.verification.isActive && report.missing.length === 0 ? ExitCode.OK : ExitCode.DENIED;
}

/** The report about a key with the wrong checksum. No server needs to be asked. */
const MISTYPED: Report = {
  verification: { isActive: false, reason: "mistyped", message: "The key is mistyped: its checksum is wrong." },
  missing: [],
  drawn: undefined,
};

type Valid = Extract<Verification, { isActive: true }>;

/** Asks what the roles and permissions of a key grant together; `undefined` if the server does not report them. */
async function effectiveRightsOf({ key }: Valid, client: Client): Promise<EffectivePermissions | undefined> {
  if (!key?.roles || !key.permissions) return undefined;
  return await client.effectivePermissions({ roles: key.roles, permissions: key.permissions });
}

/**
 * Returns the rights of the key. If the server does not report them, asks what the roles grant.
 *
 * @throws {Failure} `UNSUPPORTED` if the server does not say whether the key has one of the required permissions
 */
async function rightsOf(
  verification: Valid,
  required: readonly string[],
  client: Client,
): Promise<ReadonlySet<string>> {
  if (verification.rights !== undefined) return verification.rights;
  const accepted = "The server accepts the key. To verify only that, omit --can.";
  const effective = await effectiveRightsOf(verification, client);
  if (effective === undefined) throw client.unsupported("Query.me", accepted);
  const { byRoles, byPermissions } = effective;
  if (byRoles !== undefined) return byRoles.union(byPermissions);
  if (required.every((permission) => byPermissions.has(permission))) return byPermissions;
  throw client.unsupported("Query.getPermissionsForRoles", accepted);
}

async function print({ verification, missing, drawn }: Report, { json }: VerifyFlags, host: Host): Promise<void> {
  if (!verification.isActive) {
    const { reason, message } = verification;
    if (json) await writeJson(host.stdout, { active: false, reason: redactSecrets(reason) });
    const text = `The key is not valid. ${escapeInvisible(redactSecrets(message))}`;
    if (!json) await host.stdout.write(`${await wrapFor(host.stdout, text)}\n`);
    return;
  }
  const { key, rights } = verification;
  const { id = null, name = null, roles = null, permissions = null, expiresAt = null } = key ?? {};
  if (json) {
    const members = { active: true, id, name, roles, permissions, expiresAt };
    return await writeJson(host.stdout, missing.length === 0 ? members : { ...members, missing });
  }
  const subject = name === null ? "The key" : `The key ${quote(name)} (${id})`;
  // A server that reports rights also reports the expiry.
  const validity = expiresAt === null ? rights && " and does not expire" : ` until ${expiresAt}`;
  const show = (list: readonly string[]): string =>
    host.stdout.isTerminal() ? summarizePermissions(list) : list.join(", ");
  const lines = [
    `${subject} is valid${validity ?? ""}.`,
    ...(roles === null ? [] : [`Roles: ${roles.join(", ") || "none"}`]),
    ...(permissions === null ? [] : [`Permissions: ${show(permissions) || "none"}`]),
    ...(missing.length === 0 ? [] : [`The key lacks ${missing.join(", ")}.`]),
  ];
  const text = lines.map(escapeInvisible);
  const shown = host.stdout.isTerminal() ? await formatForTerminal(text, drawn, host) : text;
  await host.stdout.write([...shown, ""].join("\n"));
}

/** Breaks long lines between words, and draws the rights. */
async function formatForTerminal(
  lines: readonly string[],
  rights: EffectivePermissions | undefined,
  host: Host,
): Promise<readonly string[]> {
  const { drawRights, styleFor, wrapText } = await import("#terminal");
  const columns = host.stdout.columns();
  const matrix = rights && ["", ...drawRights(escapeRights(rights), columns, styleFor(host.stdout, host))];
  return [...lines.flatMap((line) => wrapText(line, columns - 1)), ...matrix ?? []];
}

const NOTES = `
Verifying:
  The key comes from --key-file, SERVICE_API_KEY_FILE, SERVICE_API_KEY or the
  profile. --key-file - reads it from standard input. The command needs no right
  except a valid key.
  A key of the embedded server has a checksum. If it is wrong, the command says
  so without asking the server.
  With --can, the key must also have each of these permissions.

Other servers:
  Many do not report whose key it is or when it expires. The command then
  reports only whether the server accepts the key, and --can may be UNSUPPORTED.

Results:
  Standard output says whether the key is valid. At a terminal, it also shows
  the rights of the key as a table.
  With --json, standard output has exactly one line, which is one of these:
    valid      {"active":true,"id","name","roles":["VIEWER"],
               "permissions":["DOCKER:READ_ANY"],"expiresAt"}
               A member is null if the server does not report it. expiresAt is
               also null if the key does not expire. For an old secret in its
               grace period, it is the end of that period.
    not valid  {"active":false,"reason":"expired"} (exit status 3)
               The reason is mistyped, unknown, disabled, expired or rotated. If
               a server gives none of these, it is the message of the server.
    lacks      {"active":true,...,"missing":["DOCKER:UPDATE_ANY"]} if the key
               lacks a permission of --can (exit status 3)
    failure    {"error":"...","code":"..."}, for example if the server cannot be
               reached (exit status 4)

Examples:
  service-api apikey verify --key-file ci.key
  # Fail unless the key may update containers.
  service-api apikey verify --key-file ci.key --can DOCKER:UPDATE_ANY
${EXIT_STATUS}`;
