/** The request that renames a key. Only other servers get it: the embedded server replaces a key in one transaction. */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";
import { groupByResource } from "../../apikey/permission.ts";
import type { Endpoint } from "../endpoint.ts";
import { execute } from "../execute.ts";
import { keyReference } from "../key.ts";
import type { NewKey } from "./create_request.ts";

export const RENAME = `mutation RenameApiKey($input: UpdateApiKeyInput!) {
  apiKey { update(input: $input) { id name } }
}`;

/**
 * Gives a key the name of `key`. Also sends the roles and permissions, because some servers require them.
 *
 * @throws {Failure} `FAILED` if the server does not rename the key, or any failure of {@linkcode execute}
 */
export async function requestRename(endpoint: Endpoint, id: string, key: NewKey): Promise<void> {
  const { name, roles, permissions } = key;
  const input = { id, name, roles, permissions: groupByResource(permissions) };
  const { apiKey } = await execute(
    endpoint,
    RENAME,
    { input },
    () => z.object({ apiKey: z.object({ update: keyReference() }) }),
  );
  if (apiKey.update.name !== name) throw new Failure("FAILED", `${endpoint.label} did not rename the new key.`);
}
