/**
 * Which changes a key may make to which keys, as the design defines them: `_OWN` covers the key itself and the keys that
 * it created, and a change grants rights that the caller must have.
 */
import { expect } from "expect";
import {
  after,
  type ApiKey,
  CREATE,
  createdKey,
  LOCAL_ORIGIN,
  post,
  type Result,
  ROTATE,
  type TestServer,
  toInput,
  UPDATE,
  withClock,
} from "../graphql/graphql.ts";

const ADD_ROLE = "mutation ($input: AddRoleForApiKeyInput!) { apiKey { addRole(input: $input) } }";

/** The right that some keys of the matrix have and others lack. */
const RIGHT = "DOCKER:READ_ANY";

const CALLERS = {
  "UPDATE_ANY and the right": ["API_KEY:UPDATE_ANY", RIGHT],
  "UPDATE_ANY without the right": ["API_KEY:UPDATE_ANY"],
  "UPDATE_OWN and the right": ["API_KEY:UPDATE_OWN", RIGHT],
  "the right alone": ["API_KEY:READ_ANY", RIGHT],
} as const;

const TARGETS = ["itself", "a key that it created", "another key"] as const;

type Caller = keyof typeof CALLERS;
type Target = typeof TARGETS[number];

type Change = (server: TestServer, target: ApiKey, caller: ApiKey) => Promise<Result>;

function update(input: Readonly<Record<string, unknown>>): Change {
  return ({ network }, { id }, { key }) => post(network, UPDATE, { input: { id, ...input } }, key);
}

/** The changes, on a key that has only the right. It expires after 100 s. */
const CHANGES: Readonly<Record<string, Change>> = {
  "change the description": update({ description: "new" }),
  "disable": update({ enabled: false }),
  "let it expire earlier": update({ expiresAt: after(50) }),
  "let it expire later": update({ expiresAt: after(200) }),
  "let it live forever": update({ expiresAt: null }),
  "rotate": ({ network }, { id }, { key }) => post(network, ROTATE, { input: { id } }, key),
  "rotate with a later expiry": ({ network }, { id }, { key }) =>
    post(network, ROTATE, { input: { id, expiresAt: after(200) } }, key),
};

const EVERY_CHANGE = Object.keys(CHANGES);
const WITHOUT_GRANT = ["change the description", "disable", "let it expire earlier"];

/** The changes that the design allows. */
function allowedChanges(caller: Caller, target: Target): readonly string[] {
  if (caller === "the right alone") return [];
  if (caller === "UPDATE_OWN and the right") {
    if (target === "another key") return [];
    return target === "itself" ? [...WITHOUT_GRANT, "rotate"] : EVERY_CHANGE;
  }
  // A caller has all of its own rights.
  return caller === "UPDATE_ANY and the right" || target === "itself" ? EVERY_CHANGE : WITHOUT_GRANT;
}

for (const caller of Object.keys(CALLERS)) {
  for (const target of TARGETS) {
    const name = caller satisfies string as Caller;
    const allowed = allowedChanges(name, target);
    Deno.test(`A key with ${caller} can do this with ${target}: ${allowed.join(", ") || "nothing"}`, async () => {
      const done = await Promise.all(EVERY_CHANGE.map((change) => isAllowed(CALLERS[name], target, change)));
      expect(EVERY_CHANGE.filter((_, i) => done[i])).toEqual(EVERY_CHANGE.filter((change) => allowed.includes(change)));
    });
  }
}

/** Makes one change on a new server. Returns whether the server made it; any refusal must be FORBIDDEN. */
async function isAllowed(permissions: readonly string[], target: Target, change: string): Promise<boolean> {
  let isDone = false;
  await withClock(async (server) => {
    const expiring = { expiresAt: after(100) };
    const caller = await server.create({ name: "caller", permissions: toInput(permissions), ...expiring });
    const other = await server.create({ name: "other", permissions: toInput([RIGHT]), ...expiring });
    if (target === "a key that it created") await setCreator(server, other, caller);
    const { codes } = await CHANGES[change]?.(server, target === "itself" ? caller : other, caller) ?? { codes: [] };
    if (codes.length > 0) expect([change, codes]).toEqual([change, ["FORBIDDEN"]]);
    isDone = codes.length === 0;
  });
  return isDone;
}

/** Makes a key the creator of another key, although it may lack the rights of that key. */
async function setCreator({ store }: TestServer, key: ApiKey, creator: ApiKey): Promise<void> {
  const stored = await store.findById(key.id);
  if (stored === undefined) throw new Error("no key");
  await store.add({ ...stored, createdBy: creator.id }, LOCAL_ORIGIN, () => {});
}

/** Runs a test with a key that may update every key, and with a key that it would give rights to. */
function withUpdater(test: (server: TestServer, updater: ApiKey, other: ApiKey) => Promise<void>): Promise<void> {
  return withClock(async (server) => {
    const updater = await server.create({ name: "updater", permissions: toInput(["API_KEY:UPDATE_ANY", RIGHT]) });
    await test(server, updater, await server.create({ name: "other", permissions: toInput(["VMS:READ_OWN"]) }));
  });
}

Deno.test("An update can add rights that the caller has to a key with rights that the caller lacks, and cannot add others", () =>
  withUpdater(async ({ network }, { key }, { id }) => {
    const give = async (...permissions: readonly string[]): Promise<string> => {
      const input = { id, permissions: toInput(["VMS:READ_OWN", ...permissions]) };
      const { codes, messages } = await post(network, UPDATE, { input }, key);
      return [...codes, ...messages].join(" ");
    };
    expect(await give(RIGHT)).toBe("");
    expect(await give(RIGHT, "DOCKER:UPDATE_OWN")).toContain("FORBIDDEN A key can grant only rights that it has.");
    expect(await give(RIGHT, "DOCKER:UPDATE_OWN")).toContain("DOCKER:UPDATE_OWN");
    expect(await give()).toBe("");
  }));

Deno.test("Adding a role needs every right of the role that the key does not have yet", () =>
  withUpdater(async ({ network, create }, { key }, { id }) => {
    const add = async (apiKeyId: string, role: string): Promise<readonly unknown[]> =>
      (await post(network, ADD_ROLE, { input: { apiKeyId, role } }, key)).codes;
    expect(await add(id, "GUEST")).toEqual(["FORBIDDEN"]);
    const me = await create({ name: "me", permissions: toInput(["ME:READ_OWN"]) });
    expect(await add(me.id, "GUEST")).toEqual([]);
  }));

Deno.test("Enabling a key needs every right of the key", () =>
  withUpdater(async ({ network, local, create }, { key }, { id }) => {
    const enable = async (secret: string): Promise<readonly unknown[]> =>
      (await post(network, UPDATE, { input: { id, enabled: true } }, secret)).codes;
    await post(local, UPDATE, { input: { id, enabled: false } });
    expect(await enable(key)).toEqual(["FORBIDDEN"]);
    const able = await create({ name: "able", permissions: toInput(["API_KEY:UPDATE_ANY", "VMS:READ_OWN"]) });
    expect(await enable(able.key)).toEqual([]);
  }));

Deno.test("Changing managedBy needs the right to delete the key; setting it on create does not", () =>
  withClock(async ({ network, create }) => {
    const updater = await create({
      name: "updater",
      permissions: toInput(["API_KEY:UPDATE_ANY", "API_KEY:CREATE_ANY"]),
    });
    const deleter = await create({
      name: "deleter",
      permissions: toInput(["API_KEY:UPDATE_ANY", "API_KEY:DELETE_OWN", "API_KEY:CREATE_ANY"]),
    });
    const permissions = toInput(["API_KEY:CREATE_OWN"]);
    const results = await Promise.all([updater, deleter].map(async ({ key, name }) => {
      const input = { name: `of ${name}`, permissions, managedBy: "fleet" };
      const own = createdKey(await post(network, CREATE, { input }, key));
      const changes = [own, updater].map(({ id }) => post(network, UPDATE, { input: { id, managedBy: "other" } }, key));
      return (await Promise.all(changes)).map(({ codes, messages }) => [...codes, ...messages].join(" "));
    }));
    expect(results).toEqual([
      [
        expect.stringContaining("FORBIDDEN Changing managedBy needs API_KEY:DELETE_ANY"),
        expect.stringContaining("FORBIDDEN Changing managedBy needs API_KEY:DELETE_ANY"),
      ],
      ["", expect.stringContaining("FORBIDDEN Changing managedBy needs API_KEY:DELETE_ANY")],
    ]);
  }));

Deno.test("With UPDATE_OWN alone, a key of another creator and a key that does not exist get the same answer", () =>
  withClock(async ({ network, create }) => {
    const { key } = await create({ name: "caller", permissions: toInput(["API_KEY:UPDATE_OWN"]) });
    const { id } = await create({ name: "stranger", roles: ["GUEST"] });
    const texts = await Promise.all(
      [id, "key_0123456789ABCDEFGHIJKL"].flatMap((id) => [
        post(network, UPDATE, { input: { id, name: "new" } }, key),
        post(network, ROTATE, { input: { id } }, key),
        post(network, ADD_ROLE, { input: { apiKeyId: id, role: "GUEST" } }, key),
      ]),
    );
    const [update, rotate, addRole, ...missing] = texts.map(({ text }) => text);
    expect(missing).toEqual([update, rotate, addRole]);
    expect(update).toContain("API_KEY:UPDATE_OWN covers only your own key and the keys that it created.");
  }));
