/** `apikey --create` (spec section 4.1). */
import { escapeInvisible, Failure, quote, reasonOf } from "../apikey/failure.ts";
import { parseName } from "../apikey/name.ts";
import { parsePermissions } from "../apikey/permission.ts";
import { requireSomeRights } from "../apikey/rights.ts";
import { parseRoles } from "../apikey/role.ts";
import type { CreatedKey, NewKey } from "../client/client.ts";
import { type AskingFlags, mayAsk } from "./asking.ts";
import type { Ask } from "./connection.ts";
import type { GivenKey } from "./create_questions.ts";
import { ExitCode } from "./exit_code.ts";
import type { Host } from "./host.ts";
import { writeJson } from "./report.ts";
import { wrapWords } from "./wrap.ts";

/** The flags of the command, as they were typed. */
export interface CreateFlags extends AskingFlags {
  readonly name?: string | undefined;
  readonly roles?: string | undefined;
  readonly permissions?: string | undefined;
  readonly description?: string | undefined;
  readonly overwrite?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Creates a key and prints its secret, alone on standard output. A person at a terminal is asked for what is missing:
 * with a name and a role or permission given, nothing is.
 *
 * @throws {Failure} of any kind; no key was made, unless the message says otherwise
 */
export async function create(flags: CreateFlags, host: Host, ask: Ask): Promise<ExitCode> {
  const given = decideCreate(flags);
  const isComplete = given.name !== undefined && (given.roles ?? given.permissions) !== undefined;
  if (isComplete || !mayAsk(flags, host)) {
    const key = requireComplete(given);
    await ask(async (connect) => print(await (await connect()).create(key), key, "not asked", flags, host));
  } else {
    const { askForKey } = await import("#questions");
    await ask(async (connect) => {
      const key = await askForKey(given, flags, host, connect);
      await print(await (await connect()).create(key), key, "asked", flags, host);
    });
  }
  return ExitCode.OK;
}

/**
 * Turns the flags into what they say of the key.
 *
 * @throws {Failure} `INVALID_NAME`, `INVALID_ROLE`, `INVALID_PERMISSION`
 */
function decideCreate(flags: CreateFlags): GivenKey {
  return {
    name: flags.name === undefined ? undefined : parseName(flags.name),
    description: flags.description,
    roles: flags.roles === undefined ? undefined : parseRoles(flags.roles),
    permissions: flags.permissions === undefined ? undefined : parsePermissions(flags.permissions),
    overwrite: flags.overwrite ?? false,
  };
}

/**
 * Sees that nothing is missing that nobody can be asked for.
 *
 * @throws {Failure} `USAGE`, `NO_RIGHTS`
 */
function requireComplete({ name, roles = [], permissions = [], ...rest }: GivenKey): NewKey {
  if (name === undefined) throw new Failure("USAGE", "Creating a key needs a name: give --name.");
  requireSomeRights(roles, permissions);
  return { ...rest, name, roles, permissions };
}

async function print(
  created: CreatedKey,
  key: NewKey,
  person: "asked" | "not asked",
  flags: CreateFlags,
  host: Host,
): Promise<void> {
  const isSeen = host.stdout.isTerminal() && host.stderr.isTerminal();
  // A picture that cannot be shown is no reason to lose the secret.
  if (isSeen && !flags.json && person === "not asked") {
    await host.stderr.write(await picture(key, host)).catch(() => {});
  }
  try {
    if (flags.json) await writeJson(host.stdout, { key: created.key, name: created.name, id: created.id });
    else await host.stdout.write(`${created.key}\n`);
  } catch (error) {
    throw undelivered(created, error);
  }
  if (isSeen || person === "asked") await host.stderr.write(advice(created, host));
}

async function picture({ roles, permissions }: NewKey, host: Host): Promise<string> {
  const { drawRights, styleFor } = await import("#terminal");
  return [...drawRights(roles, permissions, host.stderr.columns(), styleFor(host.stderr, host)), "", ""].join("\n");
}

/** What to do with the secret. */
function advice({ name, id }: CreatedKey, host: Host): string {
  const where = host.stdout.isTerminal() ? "above" : "on standard output";
  const words = `Its secret is ${where} and is not shown again: keep it in a secrets manager, or in a file that only ` +
    "you can read.";
  const said = [`Created API key ${quote(name)} (${escapeInvisible(id)}).`, words];
  const lines = said.flatMap((text) => wrapWords(text.split(" "), host.stderr.columns() - 1, " "));
  return [...lines, ""].join("\n");
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
