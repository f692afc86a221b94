/** Updating a key: what changes, what stays, and what the server refuses. */
import { expect } from "expect";
import {
  after,
  type ApiKey,
  changedKey,
  CREATE,
  LIST,
  NOW,
  post,
  type TestServer,
  toInput,
  UPDATE,
  withClock,
  withServer,
} from "../graphql/graphql.ts";

const ADD_ROLE = "mutation ($input: AddRoleForApiKeyInput!) { apiKey { addRole(input: $input) } }";
const REMOVE_ROLE = "mutation ($input: RemoveRoleFromApiKeyInput!) { apiKey { removeRole(input: $input) } }";
const EVENTS = "{ auditEvents { action outcome key { id name } changes { field before after } } }";

/** Runs a test with a key that has a value in every field that an update can change. */
function withKey(test: (key: ApiKey, server: TestServer) => Promise<void>): Promise<void> {
  return withClock(async (server) => {
    const key = await server.create({
      name: "ci",
      description: "of CI",
      roles: ["GUEST"],
      permissions: toInput(["DOCKER:READ_ANY"]),
      expiresAt: after(3600),
      managedBy: "fleet",
    });
    await test(key, server);
  });
}

/** Returns the events of a server after the first one, which records the creation of the key. */
async function laterEvents({ local }: TestServer): Promise<unknown> {
  const { data } = await post(local, EVENTS);
  return Object.values(Object(data)).flat().slice(1);
}

Deno.test("An update changes the given fields and leaves all others unchanged", () =>
  withKey(async (key, { local }) => {
    const before = changedKey(await post(local, UPDATE, { input: { id: key.id } }));
    expect(before).toMatchObject({ revision: 1, updatedAt: null, managedBy: "fleet", expiresAt: after(3600) });
    const changes: readonly Readonly<Record<string, unknown>>[] = [
      { name: "ci two" },
      { description: "of the fleet" },
      { description: null },
      { roles: ["VIEWER", "CONNECT"] },
      { permissions: [{ resource: "VMS", actions: ["READ_OWN", "UPDATE_OWN"] }] },
      { permissions: [] },
      { expiresAt: "2030-01-01T02:00:00.000+02:00" },
      { expiresAt: null },
      { enabled: false },
      { enabled: true },
      { managedBy: "other" },
      { managedBy: null },
    ];
    let expected = before;
    for (const change of changes) {
      const result = {
        ...change,
        ...change["expiresAt"] !== undefined && change["expiresAt"] !== null &&
          { expiresAt: "2030-01-01T00:00:00.000Z" },
      };
      expected = { ...expected, ...result, revision: expected.revision + 1, updatedAt: NOW.toISOString() };
      // deno-lint-ignore no-await-in-loop -- one change after the other
      expect(changedKey(await post(local, UPDATE, { input: { id: key.id, ...change } }))).toEqual(expected);
    }
  }));

Deno.test("The response to an update masks the secret, and the secret still works", () =>
  withKey(async ({ id, key }, { local, network }) => {
    const { text } = await post(local, UPDATE, { input: { id, description: "new" } });
    expect(text).not.toContain(key);
    expect((await post(network, "{ me { description } }", {}, key)).data).toEqual({ me: { description: "new" } });
  }));

Deno.test("An update that changes nothing keeps the revision and records no event", () =>
  withKey(async ({ id }, server) => {
    const input = {
      id,
      name: " ci ",
      roles: ["GUEST", "GUEST"],
      enabled: true,
      expiresAt: after(3600),
      managedBy: "fleet",
    };
    expect(changedKey(await post(server.local, UPDATE, { input }))).toMatchObject({ revision: 1, updatedAt: null });
    expect((await post(server.local, ADD_ROLE, { input: { apiKeyId: id, role: "GUEST" } })).codes).toEqual([]);
    expect((await post(server.local, REMOVE_ROLE, { input: { apiKeyId: id, role: "VIEWER" } })).codes).toEqual([]);
    expect(await laterEvents(server)).toEqual([]);
  }));

Deno.test("addRole adds a role and removeRole takes it away, and the key has the new rights on its next request", () =>
  withKey(async ({ id, key }, { local, network }) => {
    const input = { apiKeyId: id, role: "VIEWER" };
    expect((await post(network, LIST, {}, key)).codes).toEqual(["FORBIDDEN"]);
    expect((await post(local, ADD_ROLE, { input })).data).toEqual({ apiKey: { addRole: true } });
    expect((await post(network, LIST, {}, key)).codes).toEqual([]);
    expect((await post(local, REMOVE_ROLE, { input })).data).toEqual({ apiKey: { removeRole: true } });
    expect((await post(network, LIST, {}, key)).codes).toEqual(["FORBIDDEN"]);
  }));

Deno.test("A key always keeps at least one role or permission", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "ci", roles: ["GUEST"] });
    expect((await post(local, UPDATE, { input: { id, roles: [] } })).codes).toEqual(["NO_RIGHTS"]);
    expect((await post(local, REMOVE_ROLE, { input: { apiKeyId: id, role: "GUEST" } })).codes).toEqual(["NO_RIGHTS"]);
    const swap = { id, roles: [], permissions: toInput(["ME:READ_OWN"]) };
    expect((await post(local, UPDATE, { input: swap })).codes).toEqual([]);
    expect((await post(local, UPDATE, { input: { id, permissions: [] } })).codes).toEqual(["NO_RIGHTS"]);
  }));

Deno.test("A key cannot take the name of another key, and a key can be renamed in Unicode", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "ci", roles: ["GUEST"] });
    await create({ name: "Zürich", roles: ["GUEST"] });
    const taken = await post(local, UPDATE, { input: { id, name: "Zu\u0308rich" } });
    expect(taken.codes).toEqual(["ALREADY_EXISTS"]);
    expect(taken.messages[0]).toContain("already exists");
    expect(changedKey(await post(local, UPDATE, { input: { id, name: "Gene\u0300ve" } })).name).toBe("Gen\u00e8ve");
  }));

Deno.test("An update for another revision fails with FAILED, changes nothing, and says that the key was changed meanwhile", () =>
  withServer(async ({ local, create, errorLog }) => {
    const { id } = await create({ name: "ci", roles: ["GUEST"] });
    const update = (description: string): Promise<unknown> =>
      post(local, UPDATE, { input: { id, description, ifRevision: 1 } });
    expect(await update("first")).toMatchObject({ codes: [] });
    expect(await update("second")).toMatchObject({
      codes: ["FAILED"],
      messages: ["The key was changed meanwhile. Read it again, then repeat the update."],
    });
    expect((await post(local, LIST)).text).toContain('"description":"first"');
    expect(errorLog).toEqual([]);
  }));

Deno.test("Of two updates at once for the same revision, exactly one succeeds", () =>
  withServer(async ({ local, create }) => {
    const { id } = await create({ name: "ci", roles: ["GUEST"] });
    const results = await Promise.all(
      ["a", "b", "c", "d"].map((description) => post(local, UPDATE, { input: { id, description, ifRevision: 1 } })),
    );
    expect(results.map(({ codes }) => codes.join()).toSorted()).toEqual(["", "FAILED", "FAILED", "FAILED"]);
  }));

for (
  const [title, change, code, message] of [
    ["an unknown id", { id: "key_0123456789ABCDEFGHIJKL", name: "new" }, "NOT_FOUND", "No API key found with id"],
    ["an invalid name", { name: "a_b" }, "INVALID_NAME", "may contain only letters, digits and spaces"],
    ["a long name", { name: "a".repeat(256) }, "INVALID_NAME", "too long"],
    ["a long description", { description: "a".repeat(1025) }, "USAGE", "too long"],
    ["an expiry in the past", { expiresAt: after(0) }, "USAGE", "must be in the future"],
    ["an expiry without a time", { expiresAt: "2030-01-01" }, "USAGE", "RFC 3339"],
    ["an empty managedBy", { managedBy: "" }, "USAGE", "managedBy"],
    ["a managedBy that PostgreSQL cannot store", { managedBy: "a\0" }, "USAGE", "managedBy"],
  ] as const
) {
  Deno.test(`An update with ${title} is refused with ${code}`, () =>
    withKey(async ({ id }, server) => {
      const result = await post(server.local, UPDATE, { input: Object.assign({ id }, change) });
      expect(result.codes).toEqual([code]);
      expect(result.messages[0]).toContain(message);
      expect(await laterEvents(server)).toMatchObject([{ action: "UPDATE", outcome: code, changes: [] }]);
    }));
}

Deno.test("The audit trail records the values before and after an update, and the name before a renaming", () =>
  withKey(async ({ id }, server) => {
    const input = { id, name: "ci two", roles: ["VIEWER", "GUEST"], description: null };
    await post(server.local, UPDATE, { input });
    expect(await laterEvents(server)).toEqual([{
      action: "UPDATE",
      outcome: "DONE",
      key: { id, name: "ci" },
      changes: [
        { field: "name", before: "ci", after: "ci two" },
        { field: "description", before: "of CI", after: null },
        { field: "roles", before: "GUEST", after: "VIEWER,GUEST" },
      ],
    }]);
  }));

Deno.test("A disabled key gets 401, keeps its name, and works again after it is enabled", () =>
  withKey(async ({ id, key }, { local, network }) => {
    await post(local, UPDATE, { input: { id, enabled: false } });
    const { status, codes, messages } = await post(network, "{ me { id } }", {}, key);
    expect({ status, codes }).toEqual({ status: 401, codes: ["UNAUTHENTICATED"] });
    expect(messages[0]).toContain("disabled");
    expect((await post(local, CREATE, { input: { name: "ci", roles: ["GUEST"] } })).codes).toEqual(["ALREADY_EXISTS"]);
    await post(local, UPDATE, { input: { id, enabled: true } });
    expect((await post(network, "{ me { id } }", {}, key)).data).toEqual({ me: { id } });
  }));
