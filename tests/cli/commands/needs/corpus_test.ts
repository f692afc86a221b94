/** `needs` on the embedded server: what it finds is enough, and nothing of it is too much. */
import { expect } from "expect";
import fc from "fast-check";
import { parse } from "graphql";
import { findNeeds } from "../../../../src/cli/commands/needs/find_needs.ts";
import { fetchSchema } from "../../../../src/cli/commands/needs/schema.ts";
import { clientOver } from "../../../client/client_over.ts";
import {
  ADD_RESOURCE,
  DELETE,
  GRAPHQL_URL,
  keysIn,
  post,
  REMOVE_RESOURCE,
  send,
  type TestServer,
  withServer,
} from "../../../server/graphql/graphql.ts";
import { anyDocument, type GeneratedDocument, GRANTED } from "./documents.ts";

/** A key needs at least one permission. No field needs this one. */
const UNUSED = "WELCOME:READ_OWN";

/** Sends all operations of a document with a key that has only these permissions, and returns the codes of all errors. */
async function codesWith(
  permissions: readonly string[],
  { text, operations, targets }: GeneratedDocument,
  { create, keyWith, local, network, store }: TestServer,
): Promise<readonly (string | undefined)[]> {
  const rights = { roles: ["GUEST"], permissions: [{ resource: "ME", actions: ["READ_OWN"] }] };
  const [{ key }, ...created] = await Promise.all([
    keyWith(...permissions),
    ...Array.from({ length: targets }, (_, index) => create({ name: `target ${index}`, ...rights })),
  ]);
  for (const [name] of text.matchAll(/OLD_\d+/g)) {
    // deno-lint-ignore no-await-in-loop -- few documents remove a resource
    await post(local, ADD_RESOURCE, { input: { name } });
  }
  const query = text.replaceAll(/TARGET_(\d+)/g, (_, index) => created[index]?.id ?? "");
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const codes: (string | undefined)[] = [];
  for (const operationName of operations) {
    const body = JSON.stringify({ query, operationName });
    // deno-lint-ignore no-await-in-loop -- one operation after the other
    const result = await send(network, new Request(GRAPHQL_URL, { method: "POST", headers, body }));
    codes.push(...result.codes);
  }
  const remaining = await keysIn(store);
  await post(local, DELETE, { ids: remaining.map(({ id }) => id) });
  for (const { name } of (await store.listResources()).resources) {
    // deno-lint-ignore no-await-in-loop -- few documents leave a resource
    await post(local, REMOVE_RESOURCE, { name });
  }
  return codes;
}

Deno.test("a key with just the permissions that needs finds gets no error, and without any one of them gets FORBIDDEN", async () => {
  const found = new Set<string>();
  let withSeveral = 0;
  await withServer(async (server) => {
    const schema = await fetchSchema(clientOver(server.local));
    await fc.assert(
      fc.asyncProperty(anyDocument, async (document) => {
        const { permissions, grants } = findNeeds(parse(document.text), schema, {});
        const others = [UNUSED, ...grants.length > 0 ? [GRANTED] : []];
        permissions.forEach((permission) => found.add(permission));
        if (permissions.length > 1) withSeveral++;
        expect(await codesWith([...permissions, ...others], document, server)).toEqual([]);
        for (const permission of permissions) {
          const rest = permissions.filter((other) => other !== permission);
          // deno-lint-ignore no-await-in-loop -- all attempts use the same names of keys
          const codes = await codesWith([...rest, ...others], document, server);
          expect({ without: permission, codes }).toEqual({
            without: permission,
            codes: expect.arrayContaining(["FORBIDDEN"]),
          });
        }
      }),
      { numRuns: 100 },
    );
  });
  expect([...found].toSorted()).toEqual([
    "API_KEY:CREATE_ANY",
    "API_KEY:DELETE_ANY",
    "API_KEY:READ_ANY",
    "API_KEY:UPDATE_ANY",
    "LOGS:READ_ANY",
    "PERMISSION:CREATE_ANY",
    "PERMISSION:DELETE_ANY",
  ]);
  expect(withSeveral).toBeGreaterThan(10);
});
