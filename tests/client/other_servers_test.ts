/** How commands work with servers that lack fields of the embedded server, or that send unexpected responses. */
import { expect } from "expect";
import { inProcess, withEnv } from "../program/program.ts";
import { startForeignServer, startServer } from "./foreign_server.ts";

const EXISTING = { id: "foreign:1", name: "taken", key: "the-secret-of-the-key-that-exists" };

Deno.test("create works with a server that has only the minimum schema", async () => {
  await using server = startForeignServer([EXISTING]);
  const outcome = await inProcess(
    ["apikey", "--create", "--name", "new", "--roles", "ADMIN", "--permissions", "DOCKER:READ_ANY", "--json"],
    { env: { SERVICE_API_URL: server.url } },
  );
  const made = server.keys.find(({ name }) => name === "new");
  expect(outcome).toEqual({
    code: 0,
    stdout: `${JSON.stringify({ key: made?.key, name: "new", id: made?.id })}\n`,
    stderr: "",
  });
});

Deno.test("create never prints the secret of an existing key, even if the server returns it", async () => {
  await using server = startForeignServer([EXISTING]);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const outcome = await program(["apikey", "--create", "--name", "taken", "--roles", "GUEST", "--json"]);
  expect(outcome.code).toBe(1);
  expect(JSON.parse(outcome.stdout)).toEqual({
    error: 'A key named "taken" already exists; add --overwrite or choose another name.',
    code: "ALREADY_EXISTS",
  });
  expect(server.keys).toEqual([expect.objectContaining(EXISTING)]);
});

Deno.test("create never prints the secret of an existing key, even if the server lists this key under another name", async () => {
  await using server = startForeignServer([{ ...EXISTING, name: "listed otherwise" }]);
  const existing = server.keys[0];
  if (existing !== undefined) Object.defineProperty(existing, "name", { get: firstThen("other", "taken") });
  const outcome = await inProcess(["apikey", "--create", "--name", "taken", "--roles", "GUEST", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(outcome.code).toBe(1);
  expect(outcome.stdout).not.toContain(EXISTING.key);
});

/** Returns a function that returns `first` for the first call and `then` for every later call. */
function firstThen(first: string, then: string): () => string {
  let calls = 0;
  return () => calls++ === 0 ? first : then;
}

Deno.test("delete by name deletes every key with the name and no other key", async () => {
  await using server = startForeignServer([EXISTING, { ...EXISTING, id: "foreign:2" }, {
    ...EXISTING,
    id: "foreign:3",
    name: "kept",
  }]);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const outcome = await program(["apikey", "--delete", "--name", "taken", "--json"]);
  expect(JSON.parse(outcome.stdout)).toEqual({
    deleted: 2,
    keys: [{ id: "foreign:1", name: "taken" }, { id: "foreign:2", name: "taken" }],
  });
  expect(server.keys.map(({ id }) => id)).toEqual(["foreign:3"]);
});

Deno.test("delete reports two deleted keys in the plural", async () => {
  await using server = startForeignServer([EXISTING, { ...EXISTING, id: "foreign:2" }]);
  const outcome = await inProcess(["apikey", "--delete", "--name", "taken"], { env: { SERVICE_API_URL: server.url } });
  expect(outcome).toEqual({ code: 0, stdout: "Successfully deleted 2 API keys\n", stderr: "" });
});

Deno.test("delete of an unknown name fails whether or not the server has other keys", async () => {
  await using server = startForeignServer([EXISTING]);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const unknown = await program(["apikey", "--delete", "--name", "X", "--json"]);
  expect({ code: unknown.code, ...JSON.parse(unknown.stdout) }).toEqual({
    code: 1,
    deleted: 0,
    error: "No API key found with name: X",
  });
  await program(["apikey", "--delete", "--name", "taken"]);
  const empty = await program(["apikey", "--delete", "--name", "X", "--json"]);
  expect({ code: empty.code, ...JSON.parse(empty.stdout) }).toEqual({
    code: 1,
    deleted: 0,
    error: "No API key found with name: X",
  });
});

Deno.test("create prints no secret if the response lacks the requested field refusesTakenNames", async () => {
  const create = { id: "foreign:1", name: "taken", key: EXISTING.key };
  await using server = startServer(() => Response.json({ data: { apiKey: { create } } }));
  const outcome = await inProcess(["apikey", "--create", "--name", "taken", "--roles", "GUEST", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(outcome.code).toBe(4);
  expect(JSON.parse(outcome.stdout)).toMatchObject({ code: "BAD_RESPONSE" });
  expect(outcome.stdout).not.toContain(EXISTING.key);
});

const REJECTIONS: readonly (readonly [string, object, number])[] = [
  ["without naming them", { errors: [{ message: "Bad request" }] }, 200],
  ["with status 400 and null data", { errors: [{ message: "Bad request" }], data: null }, 400],
];
for (const [how, rejection, status] of REJECTIONS) {
  Deno.test(`create works with a server that rejects unknown fields ${how}`, async () => {
    const answers: readonly (readonly [RegExp, unknown])[] = [
      [/query ListApiKeys/, { data: { apiKeys: [] } }],
      [/mutation/, { data: { apiKey: { create: { id: "1", name: "new", key: "fresh" } } } }],
    ];
    await using server = startServer(({ body }) =>
      body.includes("refusesTakenNames")
        ? Response.json(rejection, { status })
        : Response.json(answers.find(([query]) => query.test(body))?.[1])
    );
    const outcome = await inProcess(["apikey", "--create", "--name", "new", "--roles", "GUEST"], {
      env: { SERVICE_API_URL: server.url, SERVICE_API_TIMEOUT: "2s" },
    });
    expect(outcome).toEqual({ code: 0, stdout: "fresh\n", stderr: "" });
  });
}

Deno.test("if the server reports a deletion and an error, delete says so and how to check", async () => {
  await using server = startServer(({ body }) =>
    body.includes("mutation")
      ? Response.json({ data: { apiKey: { delete: true } }, errors: [{ message: "the disk is full" }] })
      : Response.json({ data: { apiKeysByName: [{ id: "key_1", name: "a" }] } })
  );
  const env = { SERVICE_API_URL: server.url };
  const { code, stdout } = await inProcess(["apikey", "--delete", "--name", "a", "--json"], { env });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    deleted: 0,
    error: "The server reported that it deleted the key, but also an error: the disk is full. To check what still " +
      "exists, run the same command again.",
    code: "FAILED",
  });
});

Deno.test("delete looks up the name again if the key was replaced in the meantime", async () => {
  let deletions = 0;
  await using server = startServer(({ body }) => {
    if (body.includes("mutation")) return Response.json({ data: { apiKey: { delete: ++deletions === 2 } } });
    return Response.json({ data: { apiKeysByName: [{ id: `key_${deletions}`, name: "a" }] } });
  });
  const outcome = await inProcess(["apikey", "--delete", "--name", "a", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(JSON.parse(outcome.stdout)).toEqual({ deleted: 1, keys: [{ id: "key_1", name: "a" }] });
});

Deno.test("delete fails if the server never confirms the deletion", async () => {
  await using server = startServer(({ body }) =>
    Response.json({
      data: body.includes("mutation") ? { apiKey: { delete: false } } : { apiKeysByName: [{ id: "key_1", name: "a" }] },
    })
  );
  const outcome = await inProcess(["apikey", "--delete", "--name", "a", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(outcome.code).toBe(1);
  expect(JSON.parse(outcome.stdout)).toMatchObject({ deleted: 0, code: "FAILED" });
});

Deno.test("login does not store a key if the server returns null for the field me and rejects the query for all keys", async () => {
  await using server = startServer(({ body }) =>
    Response.json(
      body.includes("me {")
        ? { data: { me: null } }
        : { errors: [{ message: "who are you?", extensions: { code: "UNAUTHENTICATED" } }] },
    )
  );
  const directory = await Deno.makeTempDir();
  try {
    const outcome = await inProcess(["login", "--base-url", server.url, "--key-file", "-"], {
      env: { HOME: directory },
      stdin: "not-a-key-there",
    });
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code: 3, stdout: "" });
    expect(await Array.fromAsync(Deno.readDir(directory))).toEqual([]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (const key of ["SECRET with space 123", "SECRET123\n", 123_456_789, null]) {
  Deno.test(`create does not print an invalid secret from the server: ${JSON.stringify(key)}`, async () => {
    const create = { id: "foreign:9", name: "new", key };
    await using server = startServer(() => Response.json({ data: { apiKey: { create, refusesTakenNames: true } } }));
    const env = { SERVICE_API_URL: server.url, LOG_LEVEL: "debug" };
    const { code, stdout, stderr } = await inProcess(
      ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--json"],
      { env },
    );
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ code: "BAD_RESPONSE", error: expect.stringContaining("create.key") });
    expect(stdout + stderr).not.toMatch(/SECRET|123456789/);
  });
}

for (const errors of [{ message: "no" }, ["no"], [{ msg: "no" }], "no"]) {
  Deno.test(`delete fails if "errors" in the response is not a list of GraphQL errors: ${JSON.stringify(errors)}`, async () => {
    const data = { apiKey: { delete: true }, apiKeysByName: [{ id: "foreign:1", name: "taken" }] };
    let requests = 0;
    await using server = startServer(() => Response.json(requests++ === 0 ? { data } : { data, errors }));
    const { code, stdout } = await inProcess(["apikey", "--delete", "--name", "taken", "--json"], {
      env: { SERVICE_API_URL: server.url },
    });
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: "BAD_RESPONSE", deleted: 0 });
    expect(code).toBe(4);
  });
}

Deno.test("on a server without expiry, a key that is to expire is not created, and the error names the missing field", async () => {
  await using server = startForeignServer([]);
  const create = ["apikey", "--create", "--name", "new", "--roles", "ADMIN", "--expires-in", "1d", "--json"];
  const { code, stdout } = await inProcess(create, { env: { SERVICE_API_URL: server.url } });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    code: "UNSUPPORTED",
    error: expect.stringMatching(/lacks CreateApiKeyInput\.expiresAt\. Its keys do not expire\./),
  });
  expect(server.keys).toEqual([]);
});
