/** Deleting and reading keys through GraphQL, as the local caller, who has every right. */
import { expect } from "expect";
import { DELETE, keysIn, namesIn, post, READ, readKey, withServer } from "../graphql/graphql.ts";

Deno.test("The delete mutation deletes all of the given keys and returns true", () =>
  withServer(async ({ local, create, store }) => {
    const [a, , c] = await Promise.all(["a", "b", "c"].map((name) => create({ name, roles: ["GUEST"] })));
    expect((await post(local, DELETE, { ids: [a?.id, c?.id] })).data).toEqual({ apiKey: { delete: true } });
    expect(await namesIn(store)).toEqual(["b"]);
  }));

Deno.test("If one of the given keys does not exist, the delete mutation deletes no key and returns false", () =>
  withServer(async ({ local, create, store }) => {
    const { id } = await create({ name: "deploy", roles: ["GUEST"] });
    expect((await post(local, DELETE, { ids: [id, "key_nowhere"] })).data).toEqual({ apiKey: { delete: false } });
    expect(await keysIn(store)).toHaveLength(1);
  }));

Deno.test("apiKey returns null for a key that does not exist", () =>
  withServer(async ({ local }) => {
    expect(readKey(await post(local, READ, { id: "key_nowhere" }))).toBeNull();
  }));
