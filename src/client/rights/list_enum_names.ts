/** Lists the roles and resources that a server knows. */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";

/** The members of the server's enums. */
export interface EnumNames {
  readonly roles: readonly string[];
  readonly resources: readonly string[];
}

export const ENUM_NAMES = `query ListEnumNames {
  roles: __type(name: "Role") { enumValues(includeDeprecated: true) { name } }
  resources: __type(name: "Resource") { enumValues(includeDeprecated: true) { name } }
}`;

/**
 * Asks the server for the members of its enums `Role` and `Resource`.
 *
 * @throws {Failure} `FAILED` if the server has no such enums, or any failure of {@linkcode execute}
 */
export async function listEnumNames(endpoint: Endpoint): Promise<EnumNames> {
  const { roles, resources } = await execute(endpoint, ENUM_NAMES, {}, () => {
    const name = z.string().check(z.regex(/^[_A-Za-z][_0-9A-Za-z]*$/));
    const type = z.nullable(z.object({ enumValues: z.nullable(z.array(z.object({ name }))) }));
    return z.object({ roles: type, resources: type });
  });
  if (!roles?.enumValues || !resources?.enumValues) {
    throw new Failure("FAILED", `${endpoint.label} does not describe the types Role and Resource.`);
  }
  return {
    roles: roles.enumValues.map(({ name }) => name),
    resources: resources.enumValues.map(({ name }) => name),
  };
}
