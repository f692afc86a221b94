/** Reading keys again by their ids. */
import { expect } from "expect";
import { buildSchema, graphql, GraphQLError } from "graphql";
import type { Client } from "../../src/client/client.ts";
import { contractSdl } from "../contract.ts";
import { clientOver } from "./client_over.ts";

const SCHEMA = buildSchema(contractSdl({ roles: ["GUEST"], resources: ["DOCKER"], actions: ["READ_ANY"] }));

const KEYS = ["1", "2", "3"].map((id) => ({
  id,
  name: `key ${id}`,
  key: "secret",
  description: null,
  roles: [],
  permissions: [],
  createdAt: "2026-01-02T03:04:05Z",
}));

/** A client of a server with three keys, and the requests so far. */
function clientWith(apiKey: (given: { readonly id: string }) => unknown): [Client, string[]] {
  const sent: string[] = [];
  const client = clientOver(async (request) => {
    const { query, variables } = await request.json();
    sent.push(query);
    const rootValue = { apiKeys: KEYS, apiKey };
    return Response.json(await graphql({ schema: SCHEMA, source: query, variableValues: variables, rootValue }));
  });
  return [client, sent];
}

const namesOf = (keys: readonly { readonly name: string }[]): readonly string[] => keys.map(({ name }) => name);

Deno.test("keys are read again in one request, without those that no longer exist", async () => {
  const [client, sent] = clientWith(({ id }) => KEYS.find((key) => key.id === id));
  expect(namesOf(await client.readAgain(["3", "gone", "1"], ["id", "name"]))).toEqual(["key 3", "key 1"]);
  expect(sent).toHaveLength(1);
});

for (const [description, extensions] of [["no code", {}], ["the code NOT_FOUND", { code: "NOT_FOUND" }]] as const) {
  Deno.test(`if the server reports an error with ${description} for a key that does not exist, all keys are listed instead`, async () => {
    const [client] = clientWith(({ id }) => {
      const found = KEYS.find((key) => key.id === id);
      if (found === undefined) throw new GraphQLError("not found", { extensions });
      return found;
    });
    expect(namesOf(await client.readAgain(["3", "gone", "1"], ["id", "name"]))).toEqual(["key 1", "key 3"]);
  });
}
