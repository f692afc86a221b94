/** `apikey --create --permissions-for`: the permissions come from the schema of the server, and are shown and confirmed. */
import { expect } from "expect";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import { inProcess, type Installation, type Program } from "../../../program/program.ts";
import { runAtTerminal, type Running } from "../../../program/terminal_host.ts";
import { SHOP_INTROSPECTION } from "../needs/shop.ts";

const DOCUMENT = "{ apiKeys { id } auditEvents { id } }";

const create = (...flags: readonly string[]): readonly string[] => ["apikey", "--create", "--name", "n", ...flags];

/** The roles and permissions of the key "n"; `undefined` if it does not exist. */
async function rightsOf(program: Program): Promise<unknown> {
  const query = "{ apiKeys { name roles permissions { resource actions } } }";
  const { stdout } = await program(["request", "--query", query]);
  const { data: { apiKeys } } = JSON.parse(stdout);
  const found = apiKeys.find(({ name }: { name: string }) => name === "n");
  return found && { roles: found.roles, permissions: found.permissions };
}

const NEEDED = [{ resource: "API_KEY", actions: ["READ_ANY"] }, { resource: "LOGS", actions: ["READ_ANY"] }];

for (
  const [how, install] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] satisfies readonly (
    readonly [string, () => Promise<Installation>]
  )[]
) {
  Deno.test(`${how}: --permissions-for creates a key that can send the document`, async () => {
    await using installation = await install();
    const { program } = installation;
    const { code, stdout, stderr } = await program(create("--permissions-for", DOCUMENT, "--yes"));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^sak_\w{49}\n$/);
    expect(stderr).toContain("Permissions  API_KEY:READ_ANY, LOGS:READ_ANY\n");
    expect(await rightsOf(program)).toEqual({ roles: [], permissions: NEEDED });
    const env = { SERVICE_API_KEY: stdout.trim() };
    expect((await program(["request", "--query", DOCUMENT], { env })).code).toBe(0);
  });
}

Deno.test("the permissions of --permissions-for add up with --roles and --permissions", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  const given = ["--roles", "GUEST", "--permissions", "DOCKER:READ_ANY,LOGS:READ_ANY"];
  const { code, stdout } = await program(create(...given, "--permissions-for", "-", "--yes", "--json"), {
    stdin: "{ apiKeys { id } }",
  });
  expect({ code, name: JSON.parse(stdout).name }).toEqual({ code: 0, name: "n" });
  expect(await rightsOf(program)).toEqual({
    roles: ["GUEST"],
    permissions: [
      { resource: "DOCKER", actions: ["READ_ANY"] },
      { resource: "LOGS", actions: ["READ_ANY"] },
      { resource: "API_KEY", actions: ["READ_ANY"] },
    ],
  });
});

function createAtTerminal({ env }: Pick<Installation, "env">, ...flags: readonly string[]): Running {
  return runAtTerminal([...create(...flags)], { env, rows: 40 });
}

Deno.test("at a terminal, --permissions-for shows the rights of the new key and asks for confirmation", async () => {
  await using installation = await embedded(inProcess);
  const { screen, code, host } = createAtTerminal(installation, "--permissions-for", DOCUMENT);
  const shown = await screen.until(/\? Create this key\? .*\(y\/N\/e\)/);
  expect(shown).toContain("Permissions  API_KEY:READ_ANY, LOGS:READ_ANY\n");
  expect(shown).toMatch(/ {2}LOGS +· +· +● +● /);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toMatch(/^sak_\w{49}\n$/);
  expect(await rightsOf(installation.program)).toEqual({ roles: [], permissions: NEEDED });
});

Deno.test("at a terminal, --permissions-for creates no key unless the user answers yes", async () => {
  await using installation = await embedded(inProcess);
  const { screen, code, host } = createAtTerminal(installation, "--permissions-for", DOCUMENT);
  await screen.until(/\? Create this key\?/);
  screen.press("\r");
  await screen.until(/\? Nothing was created\. What do you want to do\?/);
  screen.press("\r");
  expect(await code).toBe(130);
  expect(host.stderr.text).toContain("Nothing was created.");
  expect(await rightsOf(installation.program)).toBe(undefined);
});

Deno.test("at the confirmation of --permissions-for, e leads to a menu in which an answer can be changed", async () => {
  await using installation = await embedded(inProcess);
  const { screen, code } = createAtTerminal(installation, "--permissions-for", DOCUMENT);
  await screen.until(/\? Create this key\?/);
  screen.press("e");
  await screen.until(/❯ Change name/);
  screen.press("\x1b[B", "\x1b[B", "\r");
  await screen.until(/\? Roles/);
  screen.press(..."GUEST", "\t", "\r");
  await screen.until(/\? Create this key\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(await rightsOf(installation.program)).toEqual({ roles: ["GUEST"], permissions: NEEDED });
});

Deno.test("with prompts for other values, --permissions-for adds its permissions and asks only once", async () => {
  await using installation = await embedded(inProcess);
  const args = ["apikey", "--create", "--permissions-for", DOCUMENT, "--roles", "GUEST", "--description", ""];
  const { screen, code } = runAtTerminal(args, { env: installation.env, rows: 40 });
  await screen.until(/\? Name/);
  screen.press("n", "\r");
  const shown = await screen.until(/\? Create this key\?/);
  expect(shown).toContain("Permissions  API_KEY:READ_ANY, LOGS:READ_ANY\n");
  screen.press("y");
  expect(await code).toBe(0);
  expect(await rightsOf(installation.program)).toEqual({ roles: ["GUEST"], permissions: NEEDED });
});

for (
  const [rule, flags, code, exit, message] of [
    [
      "without a terminal and without --yes",
      ["--permissions-for", DOCUMENT],
      "USAGE",
      2,
      /add --yes.* service-api needs\.$/,
    ],
    [
      "with an unknown field",
      ["--permissions-for", "{ apiKyes { id } }", "--yes"],
      "USAGE",
      2,
      /^--permissions-for \(line 1, column 3\) is not valid: .* Did you mean apiKeys\?$/,
    ],
    [
      "with a document that needs nothing",
      ["--permissions-for", "{ __typename }", "--yes"],
      "NO_RIGHTS",
      2,
      /at least one/,
    ],
  ] as const
) {
  Deno.test(`--permissions-for ${rule} fails with ${code} and creates no key`, async () => {
    await using installation = await embedded(inProcess);
    const outcome = await installation.program(create(...flags, "--json"));
    expect({ exit: outcome.code, ...JSON.parse(outcome.stdout) }).toEqual({
      exit,
      code,
      error: expect.stringMatching(message),
    });
    expect(await rightsOf(installation.program)).toBe(undefined);
  });
}

Deno.test("--permissions-for without --name fails before it sends a request, unless it can prompt", async () => {
  const env = { SERVICE_API_URL: "http://127.0.0.1:1" };
  const { code, stderr } = await inProcess(["apikey", "--create", "--permissions-for", DOCUMENT, "--yes"], { env });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/cannot prompt for the name of the key\. Add --name\./),
  });
});

Deno.test("on another server, --permissions-for grants resources that only the server knows", async () => {
  await using server = startShopWithKeys();
  const args = create("--permissions-for", "{ orders { id } }", "--yes");
  expect(await inProcess(args, { env: { SERVICE_API_URL: server.url } })).toMatchObject({
    code: 0,
    stdout: "secret\n",
  });
  const [created] = server.requests.map(({ body }) => JSON.parse(body)).filter(({ query }) =>
    query.startsWith("mutation")
  );
  expect(created.variables.input.permissions).toEqual([{ resource: "ORDERS", actions: ["READ_ANY"] }]);
});

/** Answers introspection and creates a key, but has none of the queries that tell the rights of a key. */
function startShopWithKeys(): TestServer {
  return startServer(({ body }) => {
    const { query } = JSON.parse(body);
    if (query.includes("__schema")) return new Response(SHOP_INTROSPECTION);
    if (query.startsWith("query")) return Response.json({ errors: [{ message: "unknown field" }] }, { status: 400 });
    const create = { id: "1", key: "secret", name: "n" };
    return Response.json({ data: { apiKey: { refusesTakenNames: true, create } } });
  });
}
