/**
 * Parses the roles and permissions that a user typed. Asks the server only if this program does not know a name, or if a
 * permission stands for all resources of the server.
 */
import { Failure } from "../../../apikey/failure.ts";
import { type KnownResources, OWN_RESOURCES, RESOURCES } from "../../../apikey/permission.ts";
import { ROLES } from "../../../apikey/role.ts";
import { UnknownName } from "../../../apikey/unknown_name.ts";
import type { Client } from "../../../client/client.ts";

/** The roles and resources that a user may name. */
export interface KnownNames {
  readonly roles: readonly [string, ...string[]];
  readonly resources: KnownResources;
}

/**
 * Parses with the names that this program knows.
 *
 * @returns the failure if the server must be asked, because it may know a name that this program does not know
 * @throws {Failure} any other failure of `parse`
 */
export function parseKnownNames<Parsed>(parse: (known: KnownNames) => Parsed): Parsed | UnknownName {
  try {
    return parse({ roles: ROLES, resources: OWN_RESOURCES });
  } catch (error) {
    if (error instanceof UnknownName) return error;
    throw error;
  }
}

/**
 * Parses with the names that the server knows.
 *
 * @param unknown what {@linkcode parseKnownNames} returned
 * @throws {Failure} `unknown`, with the reason why the server could not be asked; any failure of `parse`
 */
export async function parseNamesOfServer<Parsed>(
  parse: (known: KnownNames) => Parsed,
  unknown: UnknownName,
  client: Client,
): Promise<Parsed> {
  return parse(await fetchKnownNames(unknown, client));
}

async function fetchKnownNames(unknown: UnknownName, client: Client): Promise<KnownNames> {
  try {
    const { roles, resources } = await client.listEnumNames();
    return {
      roles: withOthers(ROLES, roles),
      resources: { names: withOthers(RESOURCES, resources), every: resources },
    };
  } catch (cause) {
    if (!(cause instanceof Failure) || cause.code === "INTERRUPTED") throw cause;
    throw new Failure(
      unknown.code,
      `${unknown.message} The server could not be asked for its roles and resources: ${cause.message}`,
      { cause },
    );
  }
}

function withOthers(
  [first, ...known]: readonly [string, ...string[]],
  names: readonly string[],
): readonly [string, ...string[]] {
  return [first, ...new Set([...known, ...names.filter((name) => name !== first)])];
}
