/** How messages repeat the errors of the system. */
import { expect } from "expect";
import { reasonOf } from "../../src/apikey/failure.ts";

for (
  const [system, message, reason] of [
    ["Linux", "No such file or directory (os error 2): open '/a: b'", "No such file or directory"],
    [
      "Windows",
      "The system cannot find the file specified. (os error 2): readfile 'C:\\a.key'",
      "The system cannot find the file specified",
    ],
    ["Windows", "Access is denied. (os error 5)", "Access is denied"],
    ["macOS", "Operation not permitted (os error 1): rename 'a' -> 'b'", "Operation not permitted"],
  ] as const
) {
  Deno.test(`The ${system} error "${message}" is repeated as "${reason}"`, () => {
    expect(reasonOf(new Error(message))).toBe(reason);
  });
}

Deno.test("Other errors are repeated unchanged", () => {
  expect(reasonOf(new Error("database is locked"))).toBe("database is locked");
  expect(reasonOf("text")).toBe("text");
});
