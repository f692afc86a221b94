/** `apikey rotate`: invalid command lines, other servers, lost responses, and the prompt for the key. */
import { expect } from "expect";
import { run } from "../../../../src/cli/program.ts";
import { KEY_FIELDS } from "../../../../src/client/keys/api_key.ts";
import { startForeignServer, startServer, type TestServer } from "../../../client/foreign_server.ts";
import { embedded } from "../../../program/installations.ts";
import { FakeHost, inProcess, type Surroundings } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { belowTarget, runAtTerminal, stabilize, TerminalHost } from "../../../program/terminal_host.ts";

const ROTATE = ["apikey", "rotate"];

for (
  const [rule, args, message] of [
    ["no name and no terminal", [], "apikey rotate needs a name or --id if it cannot prompt."],
    ["a name and an id", ["ci", "--id", "key_1"], "Use either a name or --id, not both."],
    ["two names", ["ci", "--name", "ci"], "The name was given twice. Use either the argument or --name."],
    ["--overwrite without --secret-file", ["ci", "--overwrite"], "--overwrite works only with --secret-file."],
    ["a malformed grace period", ["ci", "--grace", "soon"], expect.stringContaining('"soon" is not valid')],
    ["an expiry in the past", ["ci", "--expires-at", "2020-01-01T00:00:00Z"], expect.stringContaining("future")],
  ] as const
) {
  Deno.test(`apikey rotate with ${rule} is a usage error`, async () => {
    // An address without a server: a command that sends a request fails with UNREACHABLE.
    const outcome = await inProcess([...ROTATE, ...args, "--json"], { env: { SERVICE_API_URL: "http://127.0.0.1:1" } });
    expect(outcome.code).toBe(2);
    expect(JSON.parse(outcome.stdout)).toEqual({ code: "USAGE", error: message });
  });
}

Deno.test("on a server that cannot rotate keys, the message names the missing field and the command that replaces the key", async () => {
  await using server = startForeignServer([{ id: "1", name: "ci deploy", key: "old" }]);
  const { code, stdout } = await inProcess([...ROTATE, "ci deploy", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    code: "UNSUPPORTED",
    error: expect.stringMatching(
      /its schema lacks ApiKeyMutations\.rotate\. To replace "ci deploy" with a new key .* run: service-api apikey --create --name 'ci deploy' --roles GUEST --overwrite$/,
    ),
  });
  const unknown = await inProcess([...ROTATE, "ci", "--json"], { env: { SERVICE_API_URL: server.url } });
  expect(JSON.parse(unknown.stdout)).toMatchObject({ code: "NOT_FOUND" });
});

/** A server that loses the response to `rotate`, and then answers the look-up of the key. */
function loseRotation(answer: () => Response): TestServer {
  return startServer(({ body }) => body.includes("mutation") ? new Response("", { status: 502 }) : answer());
}

function keyUpdatedAt(updatedAt: string | null): Response {
  const key = Object.fromEntries(KEY_FIELDS.map((field) => [field, null]));
  return Response.json({
    data: {
      apiKeysByName: [{ ...key, id: "key_1", name: "ci", roles: ["GUEST"], permissions: [], revision: 1, updatedAt }],
    },
  });
}

for (
  const [rule, answer, message] of [
    [
      "and the server then reports a change",
      () => keyUpdatedAt(new Date().toISOString()),
      /so it has most likely rotated the key: the old secret is no longer valid, .* run the same command again\./,
    ],
    [
      "and the key was never changed",
      () => keyUpdatedAt(null),
      /has not changed the key, so the old secret is still valid, .* run the same command again\./,
    ],
    [
      "and the last change was earlier",
      () => keyUpdatedAt("2026-01-02T03:04:05.000Z"),
      /has not changed the key since 2026-01-02T03:04:05\.000Z, so the old secret is still valid/,
    ],
    [
      "and the server then rejects the key in use",
      () => new Response("", { status: 401 }),
      /no longer accepts the key in use\. .* run the same command with another key\./,
    ],
    [
      "and the server does not answer any more",
      () => new Response("", { status: 502 }),
      /If the server rotated the key, the old secret is no longer valid, .* service-api apikey verify --key-file FILE\. .* run the same command again\./,
    ],
  ] as const
) {
  Deno.test(`if the response to rotate is lost ${rule}, the message says what is known about the old secret`, async () => {
    await using server = loseRotation(answer);
    const { code, stderr } = await inProcess([...ROTATE, "ci"], { env: { SERVICE_API_URL: server.url } });
    expect(code).toBe(4);
    expect(stderr).toMatch(message);
  });
}

Deno.test("if the response to rotate is lost with a grace period, the message says that the old secret is valid", async () => {
  await using server = startServer(() => new Response("", { status: 502 }));
  const { code, stderr } = await inProcess([...ROTATE, "ci", "--grace", "1h"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(4);
  expect(stderr).toMatch(/The old secret is still valid\. .* run the same command again\./);
  expect(server.requests.at(-1)?.body).toContain("mutation");
});

for (const mayHaveExecuted of [true, false]) {
  const says = mayHaveExecuted ? "asks the server whether it rotated the key" : "does not guess what happened";
  Deno.test(`if the server says that it ${mayHaveExecuted ? "may have" : "has not"} executed rotate, the command ${says}`, async () => {
    const extensions = { code: "TIMEOUT", ...mayHaveExecuted && { mayHaveExecuted } };
    // The text of the message does not matter.
    const errors = [{ message: mayHaveExecuted ? "Zeit." : "It may have taken effect.", extensions }];
    await using server = startServer(({ body }) =>
      body.includes("mutation") ? Response.json({ errors }, { status: 503 }) : keyUpdatedAt(null)
    );
    const { code, stderr } = await inProcess([...ROTATE, "ci"], { env: { SERVICE_API_URL: server.url } });
    expect(code).toBe(4);
    expect(stderr.includes("has not changed the key, so the old secret is still valid")).toBe(mayHaveExecuted);
  });
}

Deno.test("if the server cannot be reached, the message does not say that the key may be rotated", async () => {
  const server = startServer(() => new Response());
  await server[Symbol.asyncDispose]();
  const { code, stderr } = await inProcess([...ROTATE, "ci"], { env: { SERVICE_API_URL: server.url } });
  expect(code).toBe(4);
  expect(stderr).not.toMatch(/secret/);
});

/** Runs the program at another time. */
async function runAt(time: Date, args: readonly string[], surroundings: Surroundings): Promise<FakeHost> {
  const host = new FakeHost(args, surroundings);
  host.now = () => time;
  await run(host);
  return host;
}

Deno.test("an expired key is rotated only with a new expiry", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--expires-in", "1d"]);
  const later = new Date(Date.now() + 2 * 86_400_000);
  const refused = await runAt(later, [...ROTATE, "ci", "--json"], { env });
  expect(JSON.parse(refused.stdout.text)).toEqual({
    code: "EXPIRED",
    error: expect.stringMatching(/expired at .*--expires-in/),
  });
  const rotated = await runAt(later, [...ROTATE, "ci", "--expires-in", "1d", "--json"], { env });
  expect(JSON.parse(rotated.stdout.text)).toMatchObject({ key: expect.stringMatching(/^sak_/), name: "ci" });
});

Deno.test("rotate --secret-file replaces the file only with --overwrite, and prints no secret", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  const directory = await Deno.makeTempDir({ prefix: "service-api-test-" });
  try {
    const path = `${directory}/ci.key`;
    await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--secret-file", path]);
    const old = await Deno.readTextFile(path);
    const refused = await program([...ROTATE, "ci", "--secret-file", path, "--json"]);
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: "USAGE" });
    expect(await Deno.readTextFile(path)).toBe(old);
    const rotated = await program([...ROTATE, "ci", "--secret-file", path, "--overwrite", "--json"]);
    expect(JSON.parse(rotated.stdout)).toEqual({ name: "ci", id: expect.stringMatching(/^key_/), secretFile: path });
    const me = await program(["request", "--query", "{ me { name } }", "--key-file", path]);
    expect(me.code).toBe(0);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("at a terminal, rotate without a name lists the keys to select from, and asks for confirmation", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  for (const name of ["ci build", "ci deploy", "backup"]) {
    // deno-lint-ignore no-await-in-loop -- the list is in the order of creation
    await program(["apikey", "--create", "--name", name, "--roles", "GUEST"]);
  }
  const { host, screen, code } = runAtTerminal(ROTATE, { env });
  await screen.until(/Key to rotate/);
  screen.press(..."deploy");
  expect(belowTarget(stabilize(await screen.until(/deploy█/)))).toBe(`\
? Key to rotate: deploy█ (1 of 3 shown)
❯ ci deploy  GUEST  never used  created 2026-01-02
  enter to select · type to filter · esc to clear · arrows to move · ? help`);
  screen.press(KEYS.enter);
  expect(belowTarget(await screen.until(/valid for: █/))).toBe(`\
✔ Key to rotate: ci deploy
? Keep the old secret valid for: █
  for example 2h; leave it empty to end it at once · esc to go back`);
  screen.press(KEYS.enter);
  await screen.until(/Expires in: █\n {2}for example 90d; leave it empty if the key does not expire/);
  screen.press(KEYS.enter);
  expect(belowTarget(await screen.until(/\(y\/N\/e\)/))).toBe(`\
✔ Key to rotate: ci deploy
✔ Keep the old secret valid for: not at all
✔ Expires in: unchanged

  Key          ci deploy
  Roles        GUEST
  Last used    never
  Warning      The old secret stops working immediately.

? Rotate the key "ci deploy"? (y/N/e)
  e to change an answer · y for yes · n for no · esc to go back · ? help`);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).toMatch(/^sak_\w{49}\n$/);
  expect(await screen.text()).toMatch(/Rotated API key "ci deploy" \(key_\w+\)\.\nThe secret is/);
  const { stdout } = await program(["request", "--query", "{ apiKeys { name revision } }"]);
  expect(JSON.parse(stdout).data.apiKeys.filter(({ revision }: { revision: number }) => revision > 1)).toEqual([
    { name: "ci deploy", revision: 2 },
  ]);
});

Deno.test("at a terminal, rotate asks for the grace period and the expiry, and says that a running grace period ends", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--expires-in", "30d"]);
  await program([...ROTATE, "ci", "--grace", "3h"]);
  const { host, screen, code } = runAtTerminal(ROTATE, { env });
  await screen.until(/Key to rotate/);
  screen.press(KEYS.enter);
  await screen.until(/valid for: █/);
  screen.press(..."2h", KEYS.enter);
  await screen.until(/leave it empty to keep the expiry, in \d+d/);
  screen.press(..."60d", KEYS.enter);
  const shown = await screen.until(/Rotate the key "ci"\?/);
  expect(shown).toMatch(/ {2}Expires {6}\S+Z \(in \d+d\)\n {2}Old secret {3}works until \S+Z \(in .+\)\n/);
  expect(shown).toMatch(/ {2}Warning {6}An older secret works until \S+Z[^?]*Rotating the\s+key ends that now\./);
  screen.press("y");
  expect(await code).toBe(0);
  const { stdout } = await program(["apikey", "show", "ci", "--json"]);
  const { graceUntil, expiresAt } = JSON.parse(stdout);
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(59 * 86_400_000);
  expect(Date.parse(graceUntil) - Date.now()).toBeLessThan(3 * 3_600_000 - 60_000);
  expect(host.stderr.text).toContain(`The old secret works until ${graceUntil} (in `);
});

Deno.test("at a terminal, rotate does not ask for what flags give, and an expired key needs a new expiry", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST", "--expires-in", "1d"]);
  const later = new Date(Date.now() + 2 * 86_400_000);
  const host = new TerminalHost([...ROTATE, "--grace", "0s", "--yes"], { env });
  host.now = () => later;
  const code = run(host);
  await host.screen.until(/Key to rotate/);
  host.screen.press(KEYS.enter);
  await host.screen.until(/Expires in: █\n {2}for example 90d; the key has expired/);
  host.screen.press(KEYS.enter);
  await host.screen.until(/The key has expired, so it needs a new expiry\./);
  host.screen.press(..."5d", KEYS.enter);
  expect(await code).toBe(0);
  expect(host.stderr.text).not.toContain("valid for");
});

Deno.test("rotate says whether the old secret still works only at a terminal, and the JSON stays the same", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  const { host, code } = runAtTerminal([...ROTATE, "ci", "--grace", "2h"], { env });
  expect(await code).toBe(0);
  expect(host.stderr.text).toMatch(/^The old secret works until \d{4}-\d\d-\d\dT\S+Z \(in .+\)\.\n$/);
  const ended = runAtTerminal([...ROTATE, "ci"], { env });
  expect(await ended.code).toBe(0);
  expect(ended.host.stderr.text).toMatch(/\nThe old secret no longer works\.\n$/);
  const { stdout, stderr } = await program([...ROTATE, "ci", "--grace", "2h", "--json"]);
  expect({ keys: Object.keys(JSON.parse(stdout)), stderr }).toEqual({ keys: ["key", "name", "id"], stderr: "" });
});

Deno.test("rotating a key again in its grace period warns that an older secret no longer works, but not with --json or after the grace period", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  expect((await program([...ROTATE, "ci", "--grace", "1h"])).stderr).toBe("");
  const { graceUntil } = JSON.parse((await program(["apikey", "show", "ci", "--json"])).stdout);
  const again = await program([...ROTATE, "ci", "--grace", "1h"]);
  expect(again.stderr).toBe(`Warning: An older secret that was valid until ${graceUntil} no longer works.\n`);
  expect((await program([...ROTATE, "ci", "--grace", "1h", "--json"])).stderr).toBe("");
  const later = await runAt(new Date(Date.now() + 2 * 3_600_000), [...ROTATE, "ci"], { env });
  expect(later.stderr.text).toBe("");
});
