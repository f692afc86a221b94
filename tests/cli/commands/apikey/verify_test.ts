/** `apikey verify`: keys that no server needs to see, expired keys, and servers that report less. */
import { expect } from "expect";
import { makeSecret } from "../../../../src/apikey/secret.ts";
import { run } from "../../../../src/cli/program.ts";
import { type ReceivedRequest, startForeignServer, startServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { FakeHost, inProcess } from "../../../program/program.ts";

const VERIFY = ["apikey", "verify"];
const SECRET = makeSecret(new Uint8Array(32));

Deno.test("verify without a key is a usage error that says how to pass the key", async () => {
  await using installation = await embedded(inProcess);
  const { code, stdout } = await installation.program([...VERIFY, "--json"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toEqual({
    code: "USAGE",
    error: "There is no key to verify. Pass its file with --key-file, pipe the key to --key-file -, or set " +
      "SERVICE_API_KEY.",
  });
});

Deno.test("an empty --can is a usage error, even if another --can is given", async () => {
  const env = { SERVICE_API_KEY: SECRET };
  const { code, stdout } = await inProcess([...VERIFY, "--can", "DOCKER:READ_ANY", "--can", " ", "--json"], { env });
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toEqual({
    code: "USAGE",
    error: "--can is empty. Pass a permission, for example DOCKER:READ_ANY.",
  });
});

Deno.test("a key of this program with the wrong checksum is mistyped, and no server is asked", async () => {
  await using server = startServer(() => Response.json({}));
  const swapped = SECRET.replace(/(.)(.)$/, "$2$1").replace(/0$/, "1");
  const { code, stdout, stderr } = await inProcess(VERIFY, {
    env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: swapped },
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 3,
    stdout: "The key is not valid. The key is mistyped: its checksum is wrong.\n",
    stderr: "",
  });
  expect(server.requests).toEqual([]);
});

Deno.test("from its expiry on, verify says that a key has expired", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const expiry = new Date(Date.now() + 3_600_000);
  const create = ["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--expires-at", expiry.toISOString()];
  const key = (await program(create)).stdout.trim();
  const verifyAt = async (time: Date): Promise<string> => {
    const host = new FakeHost(VERIFY, { env: { ...env, SERVICE_API_KEY: key } });
    host.now = () => time;
    await run(host);
    return host.stdout.text;
  };
  expect(await verifyAt(new Date(expiry.getTime() - 1))).toMatch(
    new RegExp(
      `^The key "ci" \\(key_\\w+\\) is valid until ${expiry.toISOString()}\\.\nRoles: GUEST\nPermissions: none\n$`,
    ),
  );
  expect(await verifyAt(expiry)).toMatch(/^The key is not valid\. The key has expired\. /);
});

Deno.test("at a terminal, verify shows the rights of the key as a table", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const key = (await program(["apikey", "--create", "--name", "ci", "--permissions", "DOCKER:READ_ANY"])).stdout.trim();
  const host = new FakeHost(VERIFY, { env: { ...env, SERVICE_API_KEY: key, NO_COLOR: "1" } });
  host.stdout.isTerminal = () => true;
  expect(await run(host)).toBe(0);
  expect(host.stdout.text).toMatch(
    /^The key "ci" [^]*\nPermissions: DOCKER:READ_ANY\n\n[^]*ANY OWN[^]*\n +DOCKER .*\n/,
  );
});

Deno.test("at a terminal, verify summarizes many permissions, as show does", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const key = (await program(["apikey", "--create", "--name", "ci", "--permissions", "DOCKER:*"])).stdout.trim();
  const host = new FakeHost(VERIFY, { env: { ...env, SERVICE_API_KEY: key, NO_COLOR: "1" } });
  host.stdout.isTerminal = () => true;
  expect(await run(host)).toBe(0);
  expect(host.stdout.text).toContain("\nRoles: none\nPermissions: DOCKER: every action\n");
});

Deno.test("on a server without me that lists the secrets of keys, verify finds the key by its secret", async () => {
  const permissions = [{ resource: "DOCKER", actions: ["READ_ANY"] }];
  await using server = startForeignServer([{ id: "1", name: "ci", key: "the secret-1" }, {
    id: "2",
    name: "cd",
    key: "secret-2",
    roles: [],
    permissions,
  }]);
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret-2" };
  const found = await inProcess([...VERIFY, "--can", "DOCKER:READ_ANY", "--json"], { env });
  expect({ code: found.code, ...JSON.parse(found.stdout) }).toEqual({
    code: 0,
    active: true,
    id: "2",
    name: "cd",
    roles: [],
    permissions: ["DOCKER:READ_ANY"],
    expiresAt: null,
  });
});

Deno.test("on a server that does not report the key, verify says only that it is valid, and --can is UNSUPPORTED", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci", key: "masked" }]);
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" };
  expect(await inProcess(VERIFY, { env })).toEqual({ code: 0, stdout: "The key is valid.\n", stderr: "" });
  const known = await inProcess([...VERIFY, "--json"], { env });
  expect(JSON.parse(known.stdout)).toEqual({
    active: true,
    id: null,
    name: null,
    roles: null,
    permissions: null,
    expiresAt: null,
  });
  const { code, stdout } = await inProcess([...VERIFY, "--can", "DOCKER:READ_ANY", "--json"], { env });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    code: "UNSUPPORTED",
    error: expect.stringMatching(
      /its schema lacks Query\.me\. The server accepts the key\. To verify only that, omit --can\.$/,
    ),
  });
});

/** Answers queries whose fields the server has; rejects the others, as a server that lacks the fields does. */
function answering(fields: RegExp, data: object): (request: ReceivedRequest) => Response {
  return ({ body }) =>
    fields.test(body) ? Response.json({ data }) : Response.json({ errors: [{ message: "Cannot query field." }] });
}

Deno.test("on a server whose me has no rights, verify --can asks what the roles grant", async () => {
  const docker = [{ resource: "DOCKER", actions: ["READ_ANY"] }];
  const me = { id: "1", name: "ci", roles: ["VIEWER"], permissions: [] };
  await using server = startServer((request) =>
    request.body.includes("rights")
      ? Response.json({ errors: [{ message: "Cannot query field." }] })
      : answering(/\bme \{|preview/, { me, byRoles: docker, byPermissions: [] })(request)
  );
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" };
  const { code, stdout } = await inProcess([...VERIFY, "--can", "DOCKER:READ_ANY,VMS:READ_ANY", "--json"], { env });
  expect({ code, missing: JSON.parse(stdout).missing }).toEqual({ code: 3, missing: ["VMS:READ_ANY"] });
});

Deno.test("if a proxy or a server answers with status 403 only, verify does not say that the key is valid", async () => {
  for (const body of [{ message: "Forbidden" }, { errors: [{ message: "Invalid API key" }] }]) {
    await using server = startServer(() => Response.json(body, { status: 403 }));
    // deno-lint-ignore no-await-in-loop -- one server after the other
    const { code, stdout } = await inProcess([...VERIFY, "--json"], {
      env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" },
    });
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toEqual({ code: "FORBIDDEN", error: expect.any(String) });
  }
});

Deno.test("verify masks a secret in the message of a server, and says what to try", async () => {
  const message = `Unknown key ${makeSecret(new Uint8Array(32).fill(1))}`;
  const body = { errors: [{ message, extensions: { code: "UNAUTHENTICATED" } }] };
  await using server = startServer(() => Response.json(body, { status: 401 }));
  const { stdout } = await inProcess(VERIFY, { env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" } });
  expect(stdout).toBe(
    "The key is not valid. Unknown key sak_…. If the server expects the bare key in another header, use --key-header " +
      "x-api-key.\n",
  );
});

for (
  const [rule, body, status, report] of [
    [
      "rejects the key without a reason",
      { errors: [{ message: "API key is revoked", extensions: { code: "UNAUTHENTICATED" } }] },
      401,
      { active: false, reason: "API key is revoked." },
    ],
    [
      "accepts the key, but allows it nothing",
      { errors: [{ message: "Forbidden", extensions: { code: "FORBIDDEN" } }] },
      200,
      { active: true, id: null, name: null, roles: null, permissions: null, expiresAt: null },
    ],
  ] as const
) {
  Deno.test(`if a server ${rule}, verify reports what the server says`, async () => {
    const headers = { "www-authenticate": "Bearer" };
    await using server = startServer(() => Response.json(body, { status, headers }));
    const { code, stdout } = await inProcess([...VERIFY, "--json"], {
      env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" },
    });
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: report.active ? 0 : 3, ...report });
  });
}

Deno.test("if the server limits the rate of requests, verify does not say that the key is not valid", async () => {
  await using server = startServer(() => new Response("", { status: 429, headers: { "retry-after": "7" } }));
  const { code, stdout } = await inProcess([...VERIFY, "--json"], {
    env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "secret" },
  });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ code: "RATE_LIMITED" });
});
