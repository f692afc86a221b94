/** How messages quote errors of the system. */
import { expect } from "expect";
import { reasonOf } from "../../src/apikey/failure.ts";

Deno.test("The reason of a system error has no error number, no path and no full stop", () => {
  const linux = new Error("No such file or directory (os error 2): open 'a.key'");
  expect(reasonOf(linux)).toBe("No such file or directory");
  const windows = new Error("The system cannot find the file specified. (os error 2): open 'a.key'");
  expect(reasonOf(windows)).toBe("The system cannot find the file specified");
});
