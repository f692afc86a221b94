/** The summary of many permissions in one line. */
import { expect } from "expect";
import { ACTIONS } from "../../../src/apikey/permission.ts";
import { summarizePermissions } from "../../../src/cli/terminal/permission_summary.ts";

const every = (resource: string): readonly string[] => ACTIONS.map((action) => `${resource}:${action}`);
const resources = Array.from({ length: 29 }, (_, index) => `R${index}`);

for (
  const [rule, permissions, summary] of [
    ["up to five permissions are listed", ["A:READ_ANY", "B:READ_OWN"], "A:READ_ANY, B:READ_OWN"],
    [
      "more permissions are counted by action",
      ["READ_ANY", "UPDATE_ANY"].flatMap((action) => resources.map((resource) => `${resource}:${action}`)),
      "29 resources: READ_ANY; 29: UPDATE_ANY",
    ],
    [
      "every action of a resource counts once, and a single resource is named",
      [...every("DOCKER"), ...resources.map((resource) => `${resource}:READ_ANY`)],
      "DOCKER: every action; 29 resources: READ_ANY",
    ],
    ["no permissions are an empty text", [], ""],
  ] as const
) {
  Deno.test(`in a summary, ${rule}`, () => expect(summarizePermissions(permissions)).toBe(summary));
}
