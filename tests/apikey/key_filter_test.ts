/** Which keys a filter selects. */
import { expect } from "expect";
import fc from "fast-check";
import { type FilteredKey, type KeyFilter, matchesFilter } from "../../src/apikey/key_filter.ts";

const NOW = new Date("2026-11-12T13:14:15.016Z");
const BEFORE = new Date(NOW.getTime() - 1);
const AFTER = new Date(NOW.getTime() + 1);

const KEY: FilteredKey = {
  name: "ci runner",
  roles: ["VIEWER"],
  permissions: ["DOCKER:DELETE_ANY", "DISK:UPDATE_OWN"],
  createdAt: BEFORE,
  lastUsedAt: null,
  enabled: true,
  expiresAt: null,
  managedBy: null,
};

/** Registers a test with filters that select a key and filters that do not. */
function test(
  rule: string,
  fields: Partial<FilteredKey>,
  selecting: readonly KeyFilter[],
  others: readonly KeyFilter[],
): void {
  Deno.test(rule, () => {
    const matches = (filter: KeyFilter): boolean => matchesFilter({ ...KEY, ...fields }, filter, NOW);
    expect(selecting.filter((filter) => !matches(filter))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });
}

function matching(...patterns: readonly string[]): readonly KeyFilter[] {
  return patterns.map((match) => ({ match }));
}

test(
  "a pattern matches the whole name; * stands for any characters, and ? for one",
  {},
  matching("ci runner", "*", "ci *", "*runner", "c*r", "ci?runner", "**ci**runner**", "?????????", "*n*n*r", "*?r"),
  matching("", "ci", "runner", "CI *", "ci runner?", "????????", "ci.runner", "*n*n*n*", "ci runner ?*", "c[i] *"),
);

test(
  "a pattern and a name that differ only in their Unicode normalization match, and ? stands for one code point",
  { name: "e\u0301t\u00e9 𝒳" },
  matching("\u00e9te\u0301 𝒳", "?t? ?", "*t\u00e9*"),
  matching("??t? ?", "?t? ??", "ete 𝒳"),
);

Deno.test("a pattern matches as a regular expression would, for every name", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", " "), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", " ", "*", "?"), maxLength: 8 });
  fc.assert(
    fc.property(word, pattern, (name, match) => {
      const expression = new RegExp(`^${match.replaceAll("*", ".*").replaceAll("?", ".")}$`);
      expect(matchesFilter({ ...KEY, name }, { match }, NOW)).toBe(expression.test(name));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("a pattern with many stars that does not match takes no longer than the product of both lengths", () => {
  const name = "a".repeat(255);
  const start = performance.now();
  expect(matchesFilter({ ...KEY, name }, { match: `${"*a".repeat(120)}*b` }, NOW)).toBe(false);
  expect(performance.now() - start).toBeLessThan(1000);
});

test("a role selects the keys that have it", {}, [{ role: "VIEWER" }], [{ role: "ADMIN" }, { role: "viewer" }]);

test(
  "a right selects the keys whose roles or permissions grant it",
  {},
  [{ can: "LOGS:READ_ANY" }, { can: "LOGS:READ_OWN" }, { can: "DOCKER:DELETE_OWN" }, { can: "DISK:UPDATE_OWN" }],
  [{ can: "DISK:UPDATE_ANY" }, { can: "LOGS:DELETE_OWN" }, { can: "ORDERS:DELETE_ANY" }],
);

test("ADMIN grants every right, also on a resource of another server", { roles: ["ADMIN"] }, [
  { can: "ORDERS:DELETE_OWN" },
], []);

test(
  "a key that does not expire is not expired, and expires before no time",
  {},
  [{ expired: false }],
  [{ expired: true }, { expiresBefore: new Date(8.64e15) }],
);

for (
  const [when, expiresAt, isExpired] of [["now", NOW, true], ["earlier", BEFORE, true], [
    "later",
    AFTER,
    false,
  ]] as const
) {
  test(
    `a key that expires ${when} is ${isExpired ? "" : "not "}expired`,
    { expiresAt },
    [{ expired: isExpired }],
    [{ expired: !isExpired }],
  );
}

test(
  "expiresBefore selects the keys that expire before a time, also the expired ones",
  { expiresAt: NOW },
  [{ expiresBefore: AFTER }],
  [{ expiresBefore: NOW }, { expiresBefore: BEFORE }],
);

test(
  "unusedSince selects a key by its last use",
  { lastUsedAt: NOW },
  [{ unusedSince: AFTER }],
  [{ unusedSince: NOW }, { unusedSince: BEFORE }],
);

test(
  "unusedSince selects a key that was never used by its creation",
  { createdAt: NOW },
  [{ unusedSince: AFTER }],
  [{ unusedSince: NOW }],
);

test("an enabled key is not disabled", {}, [{ disabled: false }], [{ disabled: true }]);
test("a disabled key is disabled", { enabled: false }, [{ disabled: true }], [{ disabled: false }]);

test(
  "managedBy selects the keys of one manifest",
  { managedBy: "infra" },
  [{ managedBy: "infra" }],
  [{ managedBy: "Infra" }, { managedBy: "" }],
);
test("a key that belongs to no manifest matches no managedBy", {}, [], [{ managedBy: "" }, { managedBy: "null" }]);

test(
  "a key matches a filter only if it matches every member; members that are not set select every key",
  {},
  [{}, { match: null, role: null, can: null, expired: null, disabled: undefined, managedBy: null }, {
    match: "ci*",
    role: "VIEWER",
  }],
  [{ match: "ci*", role: "GUEST" }, { match: "x*", role: "VIEWER" }],
);
