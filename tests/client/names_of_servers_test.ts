/** Roles, resources and names of keys that other servers have and this program does not know. */
import { expect } from "expect";
import { ACTIONS } from "../../src/apikey/permission.ts";
import { overHttp } from "../program/installations.ts";
import { inProcess, type Program, withEnv } from "../program/program.ts";
import { ADMIN_SECRET, type LaggingServer, startLaggingServer } from "./lagging_server.ts";

function programFor(server: LaggingServer): Program {
  return withEnv(inProcess, { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET });
}

const UNKNOWN = ["apikey", "--create", "--name", "ci", "--json", "--roles"] as const;

Deno.test("create accepts roles and resources that only the server knows, and asks for them once", async () => {
  const options = { roles: ["ADMIN", "GUEST", "AUDITOR"], resources: ["DOCKER", "BACKUPS"] };
  await using server = startLaggingServer([], options);
  const args = [...UNKNOWN, "auditor,guest", "--permissions", "backups:read_any,DOCKER:READ_ANY,BACKUPS:DELETE_ANY"];
  expect((await programFor(server)(args)).code).toBe(0);
  expect(server.keys).toEqual([expect.objectContaining({
    roles: ["AUDITOR", "GUEST"],
    permissions: [
      { resource: "BACKUPS", actions: ["READ_ANY", "DELETE_ANY"] },
      { resource: "DOCKER", actions: ["READ_ANY"] },
    ],
  })]);
  expect(server.requests.filter(({ body }) => body.includes("__type"))).toHaveLength(1);
});

Deno.test("create expands *:READ_ANY to the resources of the server, not to those that only this program knows", async () => {
  await using server = startLaggingServer([], { resources: ["DOCKER", "BACKUPS"] });
  const args = ["apikey", "--create", "--name", "ci", "--permissions", "*:READ_ANY", "--permissions", "docker:*"];
  expect((await programFor(server)(args)).code).toBe(0);
  expect(server.keys).toEqual([expect.objectContaining({
    permissions: [
      { resource: "DOCKER", actions: ["READ_ANY", ...ACTIONS.filter((action) => action !== "READ_ANY")] },
      { resource: "BACKUPS", actions: ["READ_ANY"] },
    ],
  })]);
});

Deno.test("create rejects *:READ_ANY if the server does not list its resources", async () => {
  await using server = startLaggingServer([], { answersIntrospection: false });
  const { code, stdout } = await programFor(server)([...UNKNOWN, "GUEST", "--permissions", "*:READ_ANY"]);
  expect({ code, ...JSON.parse(stdout) }).toEqual({
    code: "INVALID_PERMISSION",
    error:
      '--permissions: only the server can list the resources for "*:READ_ANY". The server could not be asked for its roles and ' +
      "resources: GraphQL introspection is not allowed.",
  });
  expect(code).toBe(2);
  expect(server.keys).toEqual([]);
});

Deno.test("create does not ask the server for roles and resources if it knows all names", async () => {
  await using server = startLaggingServer([], { answersIntrospection: false });
  expect((await programFor(server)([...UNKNOWN, "VIEWER", "--permissions", "DOCKER:*"])).code).toBe(0);
  expect(server.requests.some(({ body }) => body.includes("__type"))).toBe(false);
});

Deno.test("create does not ask the server for a word that cannot be the name of a role or resource", async () => {
  await using server = startLaggingServer([]);
  const program = programFor(server);
  expect((await program([...UNKNOWN, "a-b"])).code).toBe(2);
  expect((await program([...UNKNOWN, "GUEST", "--permissions", "BACKUPS:REED_ANY"])).code).toBe(2);
  expect(server.requests).toEqual([]);
});

Deno.test("if the server does not know a role or resource either, create names the nearest one of the server", async () => {
  await using server = startLaggingServer([], { roles: ["ADMIN", "AUDITOR"], resources: ["DOCKER", "BACKUPS"] });
  const role = await programFor(server)([...UNKNOWN, "AUDITR"]);
  expect({ code: role.code, ...JSON.parse(role.stdout) }).toMatchObject({
    code: "INVALID_ROLE",
    error: expect.stringMatching(
      /^--roles: "AUDITR" is not a role\. Did you mean AUDITOR\? The roles are .*, AUDITOR\.$/,
    ),
  });
  const resource = await programFor(server)([...UNKNOWN, "ADMIN", "--permissions", "BACKUP:READ_ANY"]);
  expect([role.code, resource.code]).toEqual([2, 2]);
  expect(JSON.parse(resource.stdout)).toMatchObject({
    code: "INVALID_PERMISSION",
    error: expect.stringMatching(/Did you mean BACKUPS\?/),
  });
  expect(server.keys).toEqual([]);
});

Deno.test("if the server does not answer introspection, create says that it could not be asked", async () => {
  await using server = startLaggingServer([], { roles: ["ADMIN", "AUDITOR"], answersIntrospection: false });
  const { code, stdout } = await programFor(server)([...UNKNOWN, "AUDITOR"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toEqual({
    code: "INVALID_ROLE",
    error: '--roles: "AUDITOR" is not a role. The roles are ADMIN, CONNECT, VIEWER, GUEST. The server could not ' +
      "be asked for its roles and resources: GraphQL introspection is not allowed.",
  });
});

Deno.test("on the embedded server, an unknown role or resource is rejected with the nearest one", async () => {
  await using installation = await overHttp();
  const role = await installation.program([...UNKNOWN, "VIEWR"]);
  expect(JSON.parse(role.stdout)).toEqual({
    code: "INVALID_ROLE",
    error: '--roles: "VIEWR" is not a role. Did you mean VIEWER? The roles are ADMIN, CONNECT, VIEWER, GUEST.',
  });
  const resource = await installation.program([...UNKNOWN, "GUEST", "--permissions", "DOKER:READ_ANY"]);
  expect(JSON.parse(resource.stdout)).toMatchObject({
    code: "INVALID_PERMISSION",
    error: expect.stringMatching(/Did you mean DOCKER\?/),
  });
});

Deno.test("delete finds a key of another server whose name contains numbers that are not decimal digits", async () => {
  await using server = startLaggingServer([{ name: "Phase Ⅷ ½" }]);
  const outcome = await programFor(server)(["apikey", "--delete", "--name", "Phase Ⅷ ½"]);
  expect(outcome).toEqual({ code: 0, stdout: "Successfully deleted 1 API key\n", stderr: "" });
});
