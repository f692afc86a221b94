/** `apikey --create` without `--overwrite` on a server that lags, and answers that contain a key and an error. */
import { expect } from "expect";
import { inProcess, type Program, withEnv } from "../program/program.ts";
import { startServer } from "./foreign_server.ts";
import { ADMIN_SECRET, type LaggingKey, type LaggingServer, startLaggingServer } from "./lagging_server.ts";

const CREATE = ["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--json"] as const;

function programFor(server: Pick<LaggingServer, "url">): Program {
  return withEnv(inProcess, { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET, SERVICE_API_TIMEOUT: "5s" });
}

Deno.test("a key that create prints works at once, even on a server that sees changes later", async () => {
  await using server = startLaggingServer([], { lag: 100 });
  const { code, stdout } = await programFor(server)(CREATE);
  expect(code).toBe(0);
  expect(server.accepts(JSON.parse(stdout).key)).toBe(true);
});

Deno.test("if two callers create a key with the same name at the same time, only one succeeds", async () => {
  const bothCreate = Promise.withResolvers<void>();
  await using server = startLaggingServer([], {
    firstReload: bothCreate.promise,
    fault: (step, count) => step === "create" && count === 1 ? bothCreate.resolve() : undefined,
  });
  const outcomes = await Promise.all([programFor(server)(CREATE), programFor(server)(CREATE)]);
  expect(outcomes.map(({ code }) => code).toSorted()).toEqual([0, 1]);
  const [made, ...others] = server.keys;
  expect(others).toEqual([]);
  expect(outcomes.map(({ stdout }) => JSON.parse(stdout))).toEqual(expect.arrayContaining([
    { key: made?.key, name: "ci", id: made?.id },
    expect.objectContaining({ code: "ALREADY_EXISTS" }),
  ]));
});

Deno.test("create rejects a name that another caller took a moment ago, and deletes the second key", async () => {
  let existing: LaggingKey | undefined;
  await using server = startLaggingServer([], {
    // The other caller's key must not be visible before this caller creates its own.
    fault: (step, _count, server) => {
      if (step === "create") existing = server.add({ name: "ci", createdAt: "2000-01-02T03:04:05.000Z" });
    },
  });
  const { code, stdout } = await programFor(server)(CREATE);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ code: "ALREADY_EXISTS" });
  expect(server.keys).toEqual([existing]);
});

Deno.test("if the server returns a key and an error, create says that the key exists and how to replace and delete it", async () => {
  await using server = startLaggingServer([], {
    fault: (step) => step === "create" ? "answer with errors" : undefined,
  });
  const { code, stdout, stderr } = await programFor(server)(CREATE);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  const [made] = server.keys;
  expect(JSON.parse(stdout)).toEqual({
    error:
      `The key "ci" (${made?.id}) exists, but the server also reported an error: the disk is full. The secret was ` +
      "not printed. To replace the key, run the same command with --overwrite. To delete the key, run: " +
      `service-api apikey --delete --id ${made?.id}`,
    code: "FAILED",
  });
});

Deno.test("if the embedded server's answer has a key and an error, create says that the key exists", async () => {
  const create = { id: "key_1", name: "ci", key: "sak_secret" };
  await using server = startServer(() =>
    Response.json({
      data: { apiKey: { create, refusesTakenNames: true } },
      errors: [{ message: "sak_secret: Out of memory." }],
    })
  );
  const { code, stdout } = await programFor(server)(CREATE);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).error).toMatch(
    /^The key "ci" \(key_1\) exists, .* error: …: Out of memory\. The secret was/,
  );
  expect(stdout).not.toContain("sak_secret");
});

Deno.test("if the server returns a key and an error, --overwrite deletes this key and keeps the old key", async () => {
  const old = { id: "lag:1", name: "ci" };
  await using server = startLaggingServer([old], {
    fault: (step) => step === "create" ? "answer with errors" : undefined,
  });
  const { code, stdout } = await programFor(server)([...CREATE, "--overwrite"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).error).toBe("the disk is full. Nothing was changed.");
  expect(server.keys).toEqual([expect.objectContaining(old)]);
});

Deno.test("the command that deletes a key quotes an id with special characters for the shell", async () => {
  const create = { id: "a'; b", name: "ci", key: "sak_secret" };
  await using server = startServer(() =>
    Response.json({ data: { apiKey: { create, refusesTakenNames: true } }, errors: [{ message: "no" }] })
  );
  const { stdout } = await programFor(server)(CREATE);
  expect(JSON.parse(stdout).error).toMatch(/service-api apikey --delete --id 'a'\\''; b'$/);
});
