/** The Makefile: a key for local development. */
import { expect } from "expect";
import { testWith } from "../tools.ts";
import { modeOf, openWorkspace } from "./workspace.ts";

testWith(["make", "sh"], "make creates a key once, uses it, and deletes it", async () => {
  await using here = await openWorkspace();
  expect(await here.run(["make"])).toMatchObject({ code: 0 });
  const [name = "", ...others] = await here.keyNames();
  expect([name, others]).toEqual([expect.stringMatching(/^dev [a-zA-Z0-9 ]+$/), []]);
  const secret = await here.read("api.key");
  expect(await here.nameOf(secret)).toBe(name);
  expect(await modeOf(`${here.directory}/api.key`)).toBe("600");

  const check = await here.run(["make", "check"]);
  expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining(`{"data":{"me":{"name":"${name}"}}}\n`) });
  expect(await here.read("api.key")).toBe(secret);

  expect(await here.run(["make", "clean"])).toMatchObject({ code: 0 });
  expect(await here.keyNames()).toEqual([]);
  await expect(here.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
  expect(await here.run(["make", "clean"])).toMatchObject({ code: 0 });
});

testWith(["make", "sh"], "make leaves no api.key if the key cannot be created", async () => {
  await using here = await openWorkspace();
  const env = { SERVICE_API_KEY_FILE: "", SERVICE_API_KEY: await here.createKey("weak", "--roles", "GUEST") };
  expect(await here.run(["make"], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("API_KEY:CREATE_ANY"),
  });
  await expect(here.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
});
