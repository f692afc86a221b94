/** What `ensure` and `apply` decide to do with one key. */
import { expect } from "expect";
import { parseName } from "../../../../../src/apikey/name.ts";
import {
  type KeyState,
  planKey,
  requireRotatable,
  type WantedKey,
} from "../../../../../src/cli/commands/apikey/reconcile/plan.ts";
import type { ApiKey } from "../../../../../src/client/client.ts";
import { failureOf } from "../../../../apikey/failure_of.ts";
import { PLAIN_KEY } from "../../../../client/api_key.ts";

const NOW = new Date("2026-03-01T12:00:00.000Z");
const DAY = 86_400_000;

function inDays(days: number): string {
  return new Date(NOW.getTime() + days * DAY).toISOString();
}

const WANTED: WantedKey = {
  name: parseName("ci"),
  description: undefined,
  roles: ["VIEWER"],
  permissions: ["DOCKER:READ_ANY", "DOCKER:UPDATE_ANY"],
  expiresIn: undefined,
  expiresAt: undefined,
  rotateBefore: undefined,
  grace: undefined,
  managedBy: undefined,
  secretFile: "ci.key",
};

const KEY: ApiKey = {
  ...PLAIN_KEY,
  description: "for ci",
  roles: ["VIEWER"],
  permissions: ["DOCKER:UPDATE_ANY", "DOCKER:READ_ANY"],
};

/** Plans for a key that is in order, except for what the arguments change. */
function plan(
  wanted: Partial<WantedKey>,
  key: Partial<ApiKey> = {},
  file: KeyState["file"] = "current",
): ReturnType<typeof planKey> {
  return planKey({ ...WANTED, ...wanted }, { key: { ...KEY, ...key }, file }, NOW);
}

Deno.test("a key that does not exist is created, and --expires-in counts from now", () => {
  const { action, expiresAt } = planKey({ ...WANTED, expiresIn: DAY }, { key: undefined, file: "other" }, NOW);
  expect({ action, expiresAt }).toEqual({ action: "create", expiresAt: new Date(inDays(1)) });
});

Deno.test("a key with the same rights in another order, and with the current secret in the file, stays unchanged", () => {
  expect(plan({}).action).toBe("unchanged");
});

const UPDATES: readonly (readonly [string, Partial<WantedKey>, Partial<ApiKey>, object])[] = [
  ["other roles", { roles: ["GUEST"] }, {}, { roles: ["GUEST"] }],
  ["one permission too many", {}, { permissions: [...KEY.permissions ?? [], "DISK:READ_ANY"] }, {
    permissions: WANTED.permissions,
  }],
  ["another description", { description: "new" }, {}, { description: "new" }],
  ["a disabled key", {}, { enabled: false }, { enabled: true }],
  ["no managedBy", { managedBy: "team" }, {}, { managedBy: "team" }],
  ["no expiry", { expiresIn: DAY }, {}, { expiresAt: inDays(1) }],
  ["an expiry that is too late", { expiresIn: DAY }, { expiresAt: inDays(2) }, { expiresAt: inDays(1) }],
  ["another time than --expires-at", { expiresAt: new Date(inDays(3)) }, { expiresAt: inDays(2) }, {
    expiresAt: inDays(3),
  }],
];

for (const [difference, wanted, key, changes] of UPDATES) {
  Deno.test(`${difference}: the key is updated, and only that changes`, () => {
    expect(plan(wanted, key)).toMatchObject({ action: "update", changes });
    expect(Object.keys(plan(wanted, key).changes)).toEqual(Object.keys(changes));
  });
}

const UNCHANGED: readonly (readonly [string, Partial<WantedKey>, Partial<ApiKey>])[] = [
  ["an empty description for a key without one", { description: "" }, { description: null }],
  ["an earlier expiry than --expires-in", { expiresIn: 90 * DAY }, { expiresAt: inDays(60) }],
  ["an expiry that is a minute too late, because clocks differ", { expiresIn: DAY }, {
    expiresAt: new Date(NOW.getTime() + DAY + 60_000).toISOString(),
  }],
  ["an expiry, if none is wanted", {}, { expiresAt: inDays(1) }],
  ["managedBy, if none is wanted", {}, { managedBy: "team" }],
  ["an expiry after --rotate-before", { expiresIn: 90 * DAY, rotateBefore: 14 * DAY }, { expiresAt: inDays(15) }],
];

for (const [state, wanted, key] of UNCHANGED) {
  Deno.test(`the key stays unchanged: ${state}`, () => expect(plan(wanted, key).action).toBe("unchanged"));
}

for (const file of ["missing", "other"] as const) {
  Deno.test(`if the secret in the file is ${file}, the key gets a new secret, and other rights at the same time`, () => {
    const rotated = plan({ expiresIn: DAY, roles: ["GUEST"] }, {}, file);
    expect(rotated).toMatchObject({
      action: "rotate",
      changes: { roles: ["GUEST"] },
      expiresAt: new Date(inDays(1)),
      reason: expect.stringContaining('"ci.key" does not hold'),
    });
  });
}

Deno.test("within --rotate-before of its expiry, a key gets a new secret with a new expiry", () => {
  const rotated = plan({ expiresIn: 90 * DAY, rotateBefore: 14 * DAY }, { expiresAt: inDays(14) });
  expect(rotated).toMatchObject({ action: "rotate", changes: {}, expiresAt: new Date(inDays(90)) });
});

Deno.test("an expired key gets a new secret if --expires-in is given, and otherwise fails with EXPIRED", () => {
  expect(plan({ expiresIn: DAY }, { expiresAt: NOW.toISOString() }).action).toBe("rotate");
  const failure = failureOf(() => plan({}, { expiresAt: inDays(-1) }, "missing"));
  expect({ code: failure.code, message: failure.message }).toEqual({
    code: "EXPIRED",
    message: expect.stringMatching(/"ci" expired at 2026-02-28T12:00:00.000Z\. .*--expires-in/),
  });
});

Deno.test("a key of another manifest is not taken over", () => {
  const failure = failureOf(() => plan({ managedBy: "team" }, { managedBy: "others" }));
  expect(failure.message).toContain('belongs to the manifest "others"');
});

Deno.test("--rotate-before needs a longer --expires-in", () => {
  const check = (expiresIn: number | undefined, rotateBefore: number | undefined): string =>
    failureOf(() => requireRotatable({ expiresIn, rotateBefore }, { expiresIn: "A", rotateBefore: "B" })).message;
  expect(check(undefined, DAY)).toBe("B needs A, which says how long each secret is valid.");
  expect(check(DAY, DAY)).toBe("B must be shorter than A.");
  expect(check(0, undefined)).toBe("A must be longer than 0.");
  requireRotatable({ expiresIn: DAY, rotateBefore: DAY - 1 }, { expiresIn: "A", rotateBefore: "B" });
});
