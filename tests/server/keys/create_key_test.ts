/** Creating keys through GraphQL, as the local caller, who has every right. */
import { expect } from "expect";
import { isWellFormedSecret } from "../../../src/apikey/secret.ts";
import { CREATE, keysIn, LIST, post, READ, readKey, withServer } from "../graphql/graphql.ts";

/** Returns input with a role, for tests that are about other fields. */
function guest(name: string): Readonly<Record<string, unknown>> {
  return { name, roles: ["GUEST"] };
}

Deno.test("create returns the secret, an id and all input, with the name trimmed", () =>
  withServer(async ({ create }) => {
    const input = {
      name: "  CI runner 7 ",
      description: "for the nightly build 🚀\nsecond line",
      roles: ["VIEWER"],
      permissions: [
        { resource: "DOCKER", actions: ["READ_ANY", "DELETE_OWN"] },
        { resource: "VMS", actions: ["UPDATE_ANY"] },
      ],
    };
    const { id, key, ...rest } = await create(input);
    expect(id).toMatch(/^key_[0-9A-Za-z]{22}$/);
    expect(isWellFormedSecret(key)).toBe(true);
    expect(rest).toEqual({ ...input, name: "CI runner 7", createdAt: "2026-02-03T04:05:06.789Z" });
  }));

Deno.test("Only the response to create contains the secret; all other responses show its last four characters", () =>
  withServer(async ({ local, create }) => {
    const { id, key } = await create({ name: "deploy", roles: ["ADMIN"] });
    const results = await Promise.all([
      post(local, LIST),
      post(local, READ, { id }),
      post(local, '{ apiKeysByName(name: "deploy") { key } }'),
    ]);
    for (const { text } of results) {
      expect(text).toContain(`"sak_…${key.slice(-4)}"`);
      expect(text).not.toContain(key.slice(4, 12));
    }
  }));

Deno.test("Every key has a unique secret and a unique id", () =>
  withServer(async ({ create }) => {
    const keys = await Promise.all(Array.from({ length: 20 }, (_, i) => create(guest(`key ${i}`))));
    expect(new Set(keys.map(({ key }) => key)).size).toBe(20);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(20);
  }));

Deno.test("A name that has 255 code points after trimming and Unicode composition is accepted", () =>
  withServer(async ({ create }) => {
    const names = ["\u{20000}".repeat(255), ` ${"y".repeat(255)} `, "e\u0301".repeat(255)];
    const keys = await Promise.all(names.map((name) => create(guest(name))));
    expect(keys.map(({ name }) => name)).toEqual(["\u{20000}".repeat(255), "y".repeat(255), "\u00e9".repeat(255)]);
  }));

Deno.test("A name of 256 code points is rejected with INVALID_NAME", () =>
  withServer(async ({ local, store }) => {
    for (const name of ["x".repeat(256), "\u{20000}".repeat(256)]) {
      // deno-lint-ignore no-await-in-loop -- only two names
      const { codes, messages } = await post(local, CREATE, { input: guest(name) });
      expect(codes).toEqual(["INVALID_NAME"]);
      expect(messages[0]).toMatch(/^The name is too long: it has 256 characters\. .*, and at most 255 of them\.$/);
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A name with characters other than letters, digits and spaces is rejected with INVALID_NAME", () =>
  withServer(async ({ local, store }) => {
    const { codes, messages } = await post(local, CREATE, { input: guest("my-key") });
    expect(codes).toEqual(["INVALID_NAME"]);
    expect(messages[0]).toContain("may contain only letters, digits and spaces");
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A key without a role or permission is rejected with NO_RIGHTS", () =>
  withServer(async ({ local, store }) => {
    const inputs = [
      { name: "a" },
      { name: "b", roles: [], permissions: [] },
      { name: "c", roles: null, permissions: null },
      { name: "d", permissions: [{ resource: "DOCKER", actions: [] }] },
    ];
    for (const { codes, messages } of await Promise.all(inputs.map((input) => post(local, CREATE, { input })))) {
      expect(codes).toEqual(["NO_RIGHTS"]);
      expect(messages[0]).toContain("at least one role or permission");
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("Duplicate roles, resources and actions are stored once", () =>
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
    expect(readKey(await post(local, READ, { id }))).toMatchObject({
      roles: ["GUEST", "VIEWER"],
      permissions: [
        { resource: "DOCKER", actions: ["READ_ANY", "DELETE_ANY"] },
        { resource: "VMS", actions: ["READ_OWN"] },
      ],
    });
  }));

Deno.test("An unknown role, resource or action is rejected with USAGE, and the message names it", () =>
  withServer(async ({ local, store }) => {
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
      ["admin", { roles: ["ADMIN", "admin"] }],
      ["DOCKR", { permissions: [{ resource: "DOCKR", actions: ["READ_ANY"] }] }],
      ["FLY", { permissions: [{ resource: "DOCKER", actions: ["FLY"] }] }],
    ];
    await Promise.all(cases.map(async ([unknown, rights]) => {
      const { codes, data, messages } = await post(local, CREATE, { input: { name: "a", ...rights } });
      expect({ codes, data }).toEqual({ codes: ["USAGE"], data: undefined });
      expect(messages[0]).toContain(unknown);
    }));
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A name in use, in any Unicode form, is rejected with ALREADY_EXISTS, and the response does not show the existing key", () =>
  withServer(async ({ local, create, store }) => {
    const { id } = await create({ name: "Zo\u00eb", roles: ["ADMIN"] });
    const { codes, text } = await post(local, CREATE, { input: guest(" Zoe\u0308 ") });
    expect(codes).toEqual(["ALREADY_EXISTS"]);
    expect(text).not.toContain("sak_");
    expect(text).not.toContain(id);
    expect((await keysIn(store)).map((key) => [key.id, key.roles])).toEqual([[id, ["ADMIN"]]]);
  }));

Deno.test("A description with U+0000 or a lone surrogate, which a store cannot hold, is rejected with USAGE", () =>
  withServer(async ({ local, store }) => {
    for (const description of ["a\0b", "a\ud800b"]) {
      // deno-lint-ignore no-await-in-loop -- only two descriptions
      expect((await post(local, CREATE, { input: { ...guest("a"), description } })).codes).toEqual(["USAGE"]);
    }
    expect(await store.isEmpty()).toBe(true);
  }));

Deno.test("A description of 1,024 code points is accepted, and a longer description is rejected with USAGE", () =>
  withServer(async ({ local, create }) => {
    expect((await create({ ...guest("a"), description: "🚀".repeat(1024) })).description).toHaveLength(2048);
    for (const description of ["🚀".repeat(1025), "x".repeat(1025), "x".repeat(500_000)]) {
      // deno-lint-ignore no-await-in-loop -- only three descriptions
      const { codes, messages } = await post(local, CREATE, { input: { ...guest("b"), description } });
      expect(codes).toEqual(["USAGE"]);
      expect(messages).toEqual([
        "The description is too long. A description may have at most 1024 characters.",
      ]);
    }
  }));
