/** The Makefile: a key for local development. */
import { expect } from "expect";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace } from "./workspace.ts";

testWith(["make", "sh"], "make creates a key once, uses it, and deletes it", async () => {
  await using workspace = await openWorkspace();
  expect(await workspace.run(["make"])).toMatchObject({ code: 0 });
  const [name = "", ...others] = await workspace.keyNames();
  expect([name, others]).toEqual([expect.stringMatching(/^dev [a-zA-Z0-9 ]+$/), []]);
  const secret = await workspace.read("api.key");
  expect(await workspace.nameOf(secret)).toBe(name);
  expect(await modeOf(`${workspace.directory}/api.key`)).toBe("600");

  const check = await workspace.run(["make", "check"]);
  expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining(`{"data":{"me":{"name":"${name}"}}}\n`) });
  expect(await workspace.read("api.key")).toBe(secret);

  expect(await workspace.run(["make", "clean"])).toMatchObject({ code: 0 });
  expect(await workspace.keyNames()).toEqual([]);
  await expect(workspace.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
  expect(await workspace.run(["make", "clean"])).toMatchObject({ code: 0 });
});

testWith(["make", "sh"], "make leaves no api.key if the key cannot be created", async () => {
  await using workspace = await openWorkspace();
  const env = { SERVICE_API_KEY_FILE: "", SERVICE_API_KEY: await workspace.createKey("weak", "--roles", "GUEST") };
  expect(await workspace.run(["make"], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("API_KEY:CREATE_ANY"),
  });
  await expect(workspace.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
});
