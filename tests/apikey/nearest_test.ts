/** Suggestions for mistyped words. */
import { expect } from "expect";
import { nearest } from "../../src/apikey/nearest.ts";

const WORDS = [
  "create",
  "delete",
  "list",
  "show",
  "update",
  "rotate",
  "verify",
  "READ_ANY",
  "ci deploy",
  "VMS",
  "OS",
  "APPLY_ANY",
];

for (
  const [typed, meant] of [
    ["creat", "create"],
    ["rotaet", "rotate"],
    ["upd", "update"],
    ["READ", "READ_ANY"],
    ["ci deplyo", "ci deploy"],
    ["VM", "VMS"],
    ["lsit", "list"],
    ["AP", "APPLY_ANY"],
    ["SO", undefined],
    ["zz", undefined],
    ["disable", undefined],
    ["nosuch", undefined],
    ["ls", undefined],
    ["x", undefined],
    ["", undefined],
  ] as const
) {
  Deno.test(`For ${JSON.stringify(typed)}, ${meant === undefined ? "no word is near" : `"${meant}" is near`}`, () => {
    expect(nearest(typed, WORDS)).toBe(meant);
  });
}
