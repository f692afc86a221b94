/** Creating and deleting keys through GraphQL, as the local caller, who has every right. */
import { expect } from "expect";
import { isWellFormedSecret } from "../../../src/apikey/secret.ts";
import { ask, CREATE, DELETE, LIST, listedKeys, READ, readKey, withServer } from "../graphql/graphql.ts";

Deno.test("A created key comes back with its secret and everything it was given", () =>
  withServer(async ({ create }) => {
    const input = {
      name: "  CI runner 7 ",
      description: "for the nightly build 🚀\nsecond line",
      roles: ["VIEWER"],
      permissions: [{ resource: "DOCKER", actions: ["READ_ANY", "DELETE_OWN"] }, {
        resource: "VMS",
        actions: ["UPDATE_ANY"],
      }],
    };
    const { id, key, ...rest } = await create(input);
    expect(id).toMatch(/^key_[0-9A-Za-z]{22}$/);
    expect(isWellFormedSecret(key)).toBe(true);
    expect(rest).toEqual({ ...input, name: "CI runner 7", createdAt: "2026-02-03T04:05:06.789Z" });
  }));

Deno.test("The secret is in the answer to create only; ever after there is a mask of its last four characters", () =>
  withServer(async ({ local, create }) => {
    const { id, key } = await create({ name: "deploy", roles: ["ADMIN"] });
    const mask = `sak_…${key.slice(-4)}`;
    const byName = await ask(local, '{ apiKeysByName(name: "deploy") { key } }');
    const [list, read] = await Promise.all([ask(local, LIST), ask(local, READ, { id })]);
    expect(listedKeys(list).map((listed) => listed.key)).toEqual([mask]);
    expect(readKey(read)?.key).toBe(mask);
    expect(byName.data).toEqual({ apiKeysByName: [{ key: mask }] });
    for (const { text } of [list, read, byName]) expect(text).not.toContain(key.slice(4, 12));
  }));

Deno.test("Every created key has a secret and an id of its own", () =>
  withServer(async ({ create }) => {
    const keys = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create({ name: `key ${i}`, roles: ["GUEST"] })),
    );
    expect(new Set(keys.map(({ key }) => key)).size).toBe(20);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(20);
  }));

Deno.test("A name of 255 code points is accepted, in letters outside the basic plane too", () =>
  withServer(async ({ create }) => {
    const names = ["x".repeat(255), "\u{20000}".repeat(255), ` ${"y".repeat(255)} `];
    const keys = await Promise.all(names.map((name) => create({ name, roles: ["GUEST"] })));
    expect(keys.map(({ name }) => name)).toEqual(names.map((name) => name.trim()));
  }));

Deno.test("A name of more than 255 code points is refused as INVALID_NAME", () =>
  withServer(async ({ local, store }) => {
    const names = ["x".repeat(256), "\u{20000}".repeat(256), "z".repeat(100_000)];
    const answers = await Promise.all(names.map((name) => ask(local, CREATE, { input: { name, roles: ["GUEST"] } })));
    for (const { codes, messages } of answers) {
      expect(codes).toEqual(["INVALID_NAME"]);
      expect(messages.join()).toContain("255");
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A name of 255 letters in composed form is accepted however it is sent", () =>
  withServer(async ({ create }) => {
    expect((await create({ name: "e\u0301".repeat(255), roles: ["GUEST"] })).name).toBe("\u00e9".repeat(255));
  }));

Deno.test("A name with other symbols in it is refused as INVALID_NAME", () =>
  withServer(async ({ local, store }) => {
    const names = ["my-key", "my_key", "", "   ", "🚀", "a\u202eb"];
    const answers = await Promise.all(names.map((name) => ask(local, CREATE, { input: { name, roles: ["GUEST"] } })));
    for (const { codes, messages } of answers) {
      expect(codes).toEqual(["INVALID_NAME"]);
      expect(messages.join()).toContain("may contain only letters, digits and spaces");
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A key without any role or permission is refused as NO_RIGHTS", () =>
  withServer(async ({ local, store }) => {
    const inputs = [
      { name: "a" },
      { name: "b", roles: [], permissions: [] },
      { name: "c", roles: null, permissions: null },
      { name: "d", permissions: [{ resource: "DOCKER", actions: [] }] },
    ];
    for (const answer of await Promise.all(inputs.map((input) => ask(local, CREATE, { input })))) {
      expect(answer.codes).toEqual(["NO_RIGHTS"]);
      expect(answer.messages.join()).toContain("at least one role or permission");
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("Roles, resources and actions given twice count once", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({
      name: "deploy",
      roles: ["GUEST", "VIEWER", "GUEST"],
      permissions: [
        { resource: "DOCKER", actions: ["READ_ANY", "READ_ANY"] },
        { resource: "VMS", actions: ["READ_OWN"] },
        { resource: "DOCKER", actions: ["DELETE_ANY", "READ_ANY"] },
      ],
    });
    const key = readKey(await ask(local, READ, { id }));
    expect(key?.roles).toEqual(["GUEST", "VIEWER"]);
    expect(key?.permissions).toEqual([
      { resource: "DOCKER", actions: ["READ_ANY", "DELETE_ANY"] },
      { resource: "VMS", actions: ["READ_OWN"] },
    ]);
  }));

Deno.test("An unknown role, resource or action is refused as USAGE and nothing is made", () =>
  withServer(async ({ local, store }) => {
    const inputs = [
      { name: "a", roles: ["KING"] },
      { name: "b", roles: ["ADMIN", "admin"] },
      { name: "c", permissions: [{ resource: "DOCKR", actions: ["READ_ANY"] }] },
      { name: "d", permissions: [{ resource: "DOCKER", actions: ["FLY"] }] },
    ];
    const answers = await Promise.all(inputs.map((input) => ask(local, CREATE, { input })));
    for (const { codes, data } of answers) expect([new Set(codes), data]).toEqual([new Set(["USAGE"]), undefined]);
    expect(answers.map(({ messages }) => /KING|admin|DOCKR|FLY/.exec(messages.join())?.[0])).toEqual([
      "KING",
      "admin",
      "DOCKR",
      "FLY",
    ]);
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A name in use is refused as ALREADY_EXISTS and the key that has it is not shown", () =>
  withServer(async ({ local, create }) => {
    const first = await create({ name: "Zo\u00eb", roles: ["ADMIN"] });
    const answer = await ask(local, CREATE, { input: { name: " Zoe\u0308 ", roles: ["GUEST"] } });
    expect(answer.codes).toEqual(["ALREADY_EXISTS"]);
    expect(answer.text).not.toContain("sak_");
    expect(answer.text).not.toContain(first.id);
    expect(listedKeys(await ask(local, LIST)).map(({ id, roles }) => [id, roles])).toEqual([[first.id, ["ADMIN"]]]);
  }));

Deno.test("Of twenty requests that race for one name exactly one wins", () =>
  withServer(async ({ local }) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask(local, CREATE, { input: { name: "deploy", roles: ["GUEST"] } })),
    );
    expect(answers.map(({ codes }) => codes.join() || "done").toSorted()).toEqual([
      ...Array.from({ length: 19 }, () => "ALREADY_EXISTS"),
      "done",
    ]);
  }));

Deno.test("Deleting answers true and removes all that were named", () =>
  withServer(async ({ local, create }) => {
    const [a, b, c] = await Promise.all(["a", "b", "c"].map((name) => create({ name, roles: ["GUEST"] })));
    const answer = await ask(local, DELETE, { ids: [a?.id, c?.id] });
    expect(answer.data).toEqual({ apiKey: { delete: true } });
    expect(listedKeys(await ask(local, LIST)).map(({ id }) => id)).toEqual([b?.id]);
  }));

Deno.test("Deleting answers false and removes nothing when one of the keys is not there", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "deploy", roles: ["GUEST"] });
    const answer = await ask(local, DELETE, { ids: [id, "key_nowhere"] });
    expect(answer.data).toEqual({ apiKey: { delete: false } });
    expect(listedKeys(await ask(local, LIST)).map((key) => key.id)).toEqual([id]);
  }));

Deno.test("A key that is not there reads as null", () =>
  withServer(async ({ local }) => {
    expect(readKey(await ask(local, READ, { id: "key_nowhere" }))).toBeNull();
  }));

for (const [what, description] of [["a NUL", "a\0b"], ["half a surrogate pair", "a\ud800b"]]) {
  Deno.test(`A description with ${what} in it, which no store could keep, is refused as USAGE`, () =>
    withServer(async ({ local, store }) => {
      const answer = await ask(local, CREATE, { input: { name: "a", roles: ["GUEST"], description } });
      expect(answer.codes).toEqual(["USAGE"]);
      expect(await store.isEmpty()).toBe(true);
    }));
}
