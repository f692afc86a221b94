/** `apikey --create` (spec section 4.1). */
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import { parseName } from "../apikey/name.ts";
import { parsePermissions } from "../apikey/permission.ts";
import { requireSomeRights } from "../apikey/rights.ts";
import { parseRoles } from "../apikey/role.ts";
import type { CreatedKey, NewKey } from "../client/client.ts";
import type { Ask } from "./connection.ts";
import { ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import { writeJson } from "./report.ts";

/** The flags of the command, as they were typed. */
export interface CreateFlags {
  readonly name?: string | undefined;
  readonly roles?: string | undefined;
  readonly permissions?: string | undefined;
  readonly description?: string | undefined;
  readonly overwrite?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Creates a key and prints its secret, alone on standard output.
 *
 * @throws {Failure} of any kind; no key was made, unless the message says otherwise
 */
export async function create(flags: CreateFlags, host: Host, ask: Ask): Promise<ExitCode> {
  const request = decideCreate(flags);
  await ask(async (connect) => print(await (await connect()).create(request), flags, host));
  return ExitCode.OK;
}

async function print(created: CreatedKey, flags: CreateFlags, host: Host): Promise<void> {
  try {
    if (flags.json) await writeJson(host.stdout, { key: created.key, name: created.name, id: created.id });
    else await host.stdout.write(`${created.key}\n`);
  } catch (error) {
    throw undelivered(created, error);
  }
  if (!flags.json && host.stdout.isTerminal() && host.stderr.isTerminal()) {
    await host.stderr.write(`Created API key ${quote(created.name)}. This is the only time its secret is shown.\n`);
  }
}

/**
 * Turns the flags into a request.
 *
 * @throws {Failure} `USAGE`, `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`, `NO_RIGHTS`
 */
function decideCreate(flags: CreateFlags): NewKey {
  if (flags.name === undefined) throw new Failure("USAGE", "Creating a key needs a name: give --name.");
  const name = parseName(flags.name);
  const roles = parseRoles(flags.roles ?? "");
  const permissions = parsePermissions(flags.permissions ?? "");
  requireSomeRights(roles, permissions);
  return { name, roles, permissions, description: flags.description, overwrite: flags.overwrite ?? false };
}

/** The key is there, but nobody has its secret: say so, since only the user can mend it. */
function undelivered({ name, id }: CreatedKey, cause: unknown): Failure {
  return new Failure(
    "FAILED",
    `The key ${quote(name)} (${id}) was created, but its secret is lost: ${reasonOf(cause)} ` +
      "Delete the key, or create it again with --overwrite.",
    { cause },
  );
}
