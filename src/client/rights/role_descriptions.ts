/** Asks a server what its roles mean. */
import * as z from "zod/mini";
import type { Endpoint } from "../endpoint.ts";
import { execute, ifAnswered } from "../execute.ts";

export const DESCRIBE_ROLES = `query DescribeRoles { __type(name: "Role") { enumValues { name description } } }`;

/**
 * Returns the descriptions of the roles in the schema of the server. Returns none if the server does not describe its
 * schema.
 *
 * @throws {Failure} any failure of {@linkcode execute}, except FAILED, FORBIDDEN and BAD_RESPONSE
 */
export async function roleDescriptions(endpoint: Endpoint): Promise<ReadonlyMap<string, string>> {
  const answer = await ifAnswered(() =>
    execute(endpoint, DESCRIBE_ROLES, {}, () => {
      const value = z.object({ name: z.string(), description: z.nullable(z.string()) });
      return z.object({ __type: z.nullable(z.object({ enumValues: z.nullable(z.array(value)) })) });
    })
  );
  const values = answer?.__type?.enumValues ?? [];
  return new Map(values.map(({ name, description }) => [name, description ?? ""]));
}
