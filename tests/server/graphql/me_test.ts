/** `me`: what a key is told of itself. */
import { expect } from "expect";
import * as v from "valibot";
import { rightsByDesign, SPEC_ROLES } from "../../apikey/rights_by_design.ts";
import { asInput, ask, withServer } from "./graphql.ts";

const ME = `{ me {
  id name description roles permissions { resource actions } rights { resource actions }
} }`;

const groups = v.array(v.object({ resource: v.string(), actions: v.array(v.string()) }));
const answer = v.object({
  me: v.object({
    id: v.string(),
    name: v.string(),
    description: v.nullable(v.string()),
    roles: v.array(v.string()),
    permissions: groups,
    rights: groups,
  }),
});

function pairsOf(shown: v.InferOutput<typeof groups>): readonly string[] {
  return shown.flatMap(({ resource, actions }) => actions.map((action) => `${resource}:${action}`));
}

for (
  const [roles, permissions] of [
    ...SPEC_ROLES.map((role): readonly [readonly string[], readonly string[]] => [[role], []]),
    [["GUEST", "CONNECT"], ["DOCKER:READ_ANY", "DOCKER:UPDATE_OWN"]],
    [["VIEWER"], ["DOCKER:READ_OWN"]],
    [[], ["WELCOME:DELETE_ANY"]],
  ] as const
) {
  Deno.test(`a key of ${[...roles, ...permissions].join(", ")} is told its rights, spelled out`, () =>
    withServer(async ({ network, create }) => {
      const made = { name: "this one", description: "for tests", roles, permissions: asInput(permissions) };
      const { id, key } = await create(made);
      const { status, codes, data } = await ask(network, ME, {}, key);
      expect({ status, codes }).toEqual({ status: 200, codes: [] });
      const { me } = v.parse(answer, data);
      expect(me).toMatchObject({ id, name: "this one", description: "for tests", roles });
      expect(pairsOf(me.permissions)).toEqual(permissions);
      expect(pairsOf(me.rights)).toHaveLength(new Set(pairsOf(me.rights)).size);
      expect(new Set(pairsOf(me.rights))).toEqual(rightsByDesign(roles, permissions));
    }));
}

Deno.test("a key without a description is told so, and nobody is told a secret", () =>
  withServer(async ({ network, create }) => {
    const { key } = await create({ name: "this one", roles: ["GUEST"] });
    const { data, text } = await ask(network, ME, {}, key);
    expect(v.parse(answer, data).me.description).toBe(null);
    expect(text).not.toContain("sak_");
  }));

Deno.test("without a key me is answered with 401", () =>
  withServer(async ({ network }) => {
    expect(await ask(network, ME)).toMatchObject({ status: 401, codes: ["UNAUTHENTICATED"] });
  }));

Deno.test("the local caller without a key is told that there is none to tell about", () =>
  withServer(async ({ local, create }) => {
    const { codes, data, messages } = await ask(local, ME);
    expect({ codes, data }).toEqual({ codes: ["UNAUTHENTICATED"], data: null });
    expect(messages[0]).toContain("No key was shown");
    const { id, key } = await create({ name: "this one", roles: ["GUEST"] });
    expect((await ask(local, "{ me { id } }", {}, key)).data).toEqual({ me: { id } });
  }));
