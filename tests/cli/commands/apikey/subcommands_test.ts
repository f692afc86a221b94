/** The subcommands `create` and `delete` of `apikey`. */
import { expect } from "expect";
import { embedded } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";

Deno.test("apikey create and apikey delete take names as arguments and do the same as the flags", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  const created = await program(["apikey", "create", "ci deploy", "--roles", "VIEWER", "--json"]);
  expect(JSON.parse(created.stdout)).toEqual({
    key: expect.stringMatching(/^sak_/),
    name: "ci deploy",
    id: expect.stringMatching(/^key_/),
  });
  await program(["apikey", "create", "--name", "ci build", "--roles", "VIEWER"]);
  const { code, stdout } = await program(["apikey", "delete", "ci deploy", "--name", "ci build"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Successfully deleted 2 API keys\n" });
});

Deno.test("apikey create rejects two names", async () => {
  const { code, stderr } = await inProcess(["apikey", "create", "a", "--name", "b", "--roles", "VIEWER"]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("The name was given twice.") });
});
