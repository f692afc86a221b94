/** `apikey --create` on a server whose roles grant other rights than those of the embedded server. */
import { expect } from "expect";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";
import { startServerWithOtherRoles } from "../../../client/other_roles.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { type AtTerminal, belowTarget, runAtTerminal, type Running } from "../../../program/terminal_host.ts";

function createAtTerminal({ url }: TestServer, flags: readonly string[], at: AtTerminal = {}): Running {
  return runAtTerminal(["apikey", "--create", ...flags], { rows: 60, ...at, env: { SERVICE_API_URL: url } });
}

/** The requests that ask which rights a key would have. */
function questions({ requests }: TestServer): readonly string[] {
  return requests.map(({ body }) => JSON.parse(body).query).filter((query: string) => /Permissions/.test(query));
}

const PREVIEW = ["previewEffectivePermissions"] as const;

Deno.test("the prompts do not describe roles, and show the rights that the server reports", async () => {
  await using server = startServerWithOtherRoles(PREVIEW);
  const { screen, code } = createAtTerminal(server, ["--name", "n", "--description", ""]);
  expect(belowTarget(await screen.until(/\? Roles/))).toBe(`\
? Roles: █ (optional, 0 of 4 selected)
❯ ◯ ADMIN
  ◯ CONNECT
  ◯ VIEWER
  ◯ GUEST
  space to select · enter to confirm · type to filter · ? help`);
  screen.press(..."connect", KEYS.tab, KEYS.enter);
  expect(await screen.until(/\? Permissions/)).toContain(`
❯ ACTIVATION_CODE         [·]  ·    ◆   ·    ·   ·    ·   ·
  API_KEY                  ·   ·    ·   ·    ·   ·    ·   ·
  ARRAY                    ·   ·    ◆   ·    ·   ·    ·   ·
`);
  screen.press(..."docker:up", KEYS.tab);
  expect(await screen.until(/\(1 of \d+ selected/)).toContain(`
❯ DOCKER                   ·   ·    ◆   ·   [●]  ·    ·   ·
`);
  screen.press(KEYS.enter);
  const summary = await screen.until(/\? Create/);
  expect(summary).toContain(`
  API_KEY                  ·   ·    ·   ·    ·   ·    ·   ·
  CONNECT__REMOTE_ACCESS   ·   ·    ◆   ·    ◆   ·    ·   ·
  DOCKER                   ·   ·    ◆   ·    ●   ·    ·   ·
  the other 27             ·   ·    ◆   ·    ·   ·    ·   ·
`);
  screen.press("y");
  expect(await code).toBe(0);
});

Deno.test("without prompts, the rights that the server reports are shown above the secret", async () => {
  await using server = startServerWithOtherRoles(PREVIEW);
  const { screen, code } = createAtTerminal(server, ["--name", "n", "--roles", "GUEST"], { showsOutput: true });
  expect(await code).toBe(0);
  expect(await screen.text()).toBe(`\
        CREATE   READ     UPDATE   DELETE
        ANY OWN  ANY OWN  ANY OWN  ANY OWN
  ME     ·   ·    ◆   ·    ·   ·    ·   ·

  ◆ by role

fresh
Created API key "n" (1).
The secret is printed above and cannot be shown again. Store it in a secrets
manager or in a file that only you can read.`);
  expect(JSON.parse(server.requests[0]?.body ?? "").query).toBe(questions(server)[0]);
});

Deno.test("if the server does not report rights, only the permissions are drawn, and the roles are named", async () => {
  await using server = startServerWithOtherRoles([]);
  const { screen, code } = createAtTerminal(server, ["--roles", "VIEWER", "--description", ""]);
  await screen.until(/\? Name/);
  screen.press("n", KEYS.enter);
  expect(await screen.until(/\? Permissions/)).toContain("\n  ● selected  ◐ some  rights by role not reported\n");
  screen.press(..."docker:up", KEYS.tab, KEYS.enter);
  expect(await screen.until(/\? Create/)).toContain(`
          CREATE   READ     UPDATE   DELETE
          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER   ·   ·    ·   ·    ●   ·    ·   ·

  ● by permission
  The server does not report which rights the role VIEWER grants.
`);
  screen.press("y");
  expect(await code).toBe(0);
});

for (
  const [stream, flags, showsOutput] of [
    ["standard output is not a terminal", [], false],
    ["--json is given", ["--json"], true],
  ] as const
) {
  Deno.test(`without prompts, the server is not asked about rights if ${stream}`, async () => {
    await using server = startServerWithOtherRoles(PREVIEW);
    const args = ["--name", "n", "--roles", "GUEST", ...flags];
    expect(await createAtTerminal(server, args, { showsOutput }).code).toBe(0);
    expect(questions(server)).toEqual([]);
  });
}

Deno.test("in a script, the server is not asked about rights", async () => {
  await using server = startServerWithOtherRoles(PREVIEW);
  const args = ["apikey", "--create", "--name", "n", "--roles", "GUEST"];
  expect((await inProcess(args, { env: { SERVICE_API_URL: server.url } })).stdout).toBe("fresh\n");
  expect(questions(server)).toEqual([]);
});

Deno.test("if the question about rights fails because the server is unavailable, no key is created", async () => {
  await using server = startServer(() => new Response(null, { status: 503 }));
  const { code } = createAtTerminal(server, ["--name", "n", "--roles", "GUEST"], { showsOutput: true });
  expect(await code).toBe(4);
  expect(server.requests.filter(({ body }) => body.includes("mutation"))).toEqual([]);
});
