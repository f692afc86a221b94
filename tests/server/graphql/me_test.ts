/** `me` describes the key of the request. */
import { expect } from "expect";
import * as z from "zod";
import { rightsByDesign } from "../../apikey/rights_by_design.ts";
import { post, toInput, withServer } from "./graphql.ts";

const ME = `{ me {
  id name description roles permissions { resource actions } rights { resource actions }
} }`;

const groups = z.array(z.object({ resource: z.string(), actions: z.array(z.string()) }));
const result = z.object({
  me: z.object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    roles: z.array(z.string()),
    permissions: groups,
    rights: groups,
  }),
});

function pairsOf(permissions: z.infer<typeof groups>): readonly string[] {
  return permissions.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}`));
}

Deno.test("me describes the key, and lists each right from its roles and permissions once", () =>
  withServer(async ({ network, create }) => {
    const [roles, permissions] = [["GUEST", "CONNECT"], ["DOCKER:READ_ANY", "DOCKER:UPDATE_OWN"]];
    const input = { name: "this one", description: "for tests", roles, permissions: toInput(permissions) };
    const { id, key } = await create(input);
    const { data } = await post(network, ME, {}, key);
    const { me } = result.parse(data);
    expect(me).toMatchObject({ id, name: "this one", description: "for tests", roles });
    expect(pairsOf(me.permissions)).toEqual(permissions);
    expect(pairsOf(me.rights).toSorted()).toEqual([...rightsByDesign(roles, permissions)].toSorted());
  }));

Deno.test("me returns null for a missing description, and never returns the secret", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "this one", roles: ["GUEST"] });
    const { data, text } = await post(network, ME, {}, key);
    expect(result.parse(data).me.description).toBe(null);
    expect(text).not.toContain("sak_");
  }));

Deno.test("me fails with UNAUTHENTICATED for the local caller, and works if the local caller sends a key", () =>
  withServer(async ({ local, create }) => {
    const { codes, data, messages } = await post(local, ME);
    expect({ codes, data }).toEqual({ codes: ["UNAUTHENTICATED"], data: null });
    expect(messages[0]).toContain("The request carries no key.");
    const { id, key } = await create({ name: "this one", roles: ["GUEST"] });
    expect((await post(local, "{ me { id } }", {}, key)).data).toEqual({ me: { id } });
  }));
