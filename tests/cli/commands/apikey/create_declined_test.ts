/** `apikey --create` at a terminal, and the answer is no: a name that is taken, Ctrl-C, nobody to ask. */
import { expect } from "expect";
import { startServer } from "../../../client/foreign_server.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { KEYS } from "../../../program/screen.ts";
import { runAtTerminal } from "../../../program/terminal_host.ts";
import { answerAll, createAt, namesIn } from "./creating.ts";

Deno.test("a no at the end creates nothing: 130", async () => {
  await using installation = await embedded(inProcess);
  const running = createAt(installation);
  await answerAll(running);
  running.screen.press("n");
  expect(await running.code).toBe(130);
  expect(await running.screen.text()).toMatch(/✔ Create this key\? no\nservice-api: Nothing was created\.$/);
  expect(running.host.stdout.text).toBe("");
  expect(await namesIn(installation)).toEqual([]);
});

const CREATE = ["apikey", "--create", "--name", "taken", "--roles", "GUEST"] as const;

/** What leaves one question to ask, the last one, once there is a name. */
const RIGHTS = ["--description", "", "--roles", "GUEST", "--permissions", "ME:READ_ANY"] as const;

Deno.test("a name that is taken is asked about at once, and a no asks for another one", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const { screen, code } = createAt(installation, RIGHTS);
  await screen.until(/\? Name/);
  screen.press(..." taken ", KEYS.enter);
  expect(await screen.until(/Replace it/)).toBe(`\
✔ Name: taken
? A key named "taken" exists. Replace it? Its secret fails at once. (y/N)`);
  screen.press(KEYS.enter);
  await screen.until(/\? Name/);
  screen.press(..."free", KEYS.enter);
  await screen.until(/\? Create this key\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(await namesIn(installation)).toEqual(["taken", "free"]);
});

Deno.test("a yes replaces the key when everything is confirmed: there is one of the name, with another secret", async () => {
  await using installation = await embedded(inProcess);
  const before = await installation.program(CREATE);
  const { screen, code, host } = createAt(installation, RIGHTS);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it/);
  screen.press("y");
  await screen.until(/\? Create this key in place of any other of that name\?/);
  screen.press("y");
  expect(await code).toBe(0);
  expect(host.stdout.text).not.toBe(before.stdout);
  expect(await namesIn(installation)).toEqual(["taken"]);
});

Deno.test("a no after a yes to replace keeps the key that there is", async () => {
  await using installation = await embedded(inProcess);
  const before = await installation.program(CREATE);
  const { screen, code } = createAt(installation, RIGHTS);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it/);
  screen.press("y");
  await screen.until(/in place of/);
  screen.press("n");
  expect(await code).toBe(130);
  const env = { SERVICE_API_KEY: before.stdout.trim() };
  expect((await installation.program(["request", "--query", "{ me { name } }"], { env })).code).toBe(0);
});

Deno.test("--yes does not answer whether a key is to be replaced", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const { screen, code } = createAt(installation, ["--yes", ...RIGHTS]);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  await screen.until(/Replace it\?/);
  screen.press("y");
  expect(await code).toBe(0);
});

Deno.test("with --overwrite nobody is asked whether a key is to be replaced, only at the end", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const { screen, code } = createAt(installation, ["--overwrite", ...RIGHTS]);
  await screen.until(/\? Name/);
  screen.press(..."taken", KEYS.enter);
  expect(await screen.until(/in place of/)).not.toContain("exists");
  screen.press("y");
  expect(await code).toBe(0);
});

Deno.test("a given name that is taken and is not to be replaced ends it: 1", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const { screen, code, host } = createAt(installation, ["--name", "taken"]);
  await screen.until(/Replace it/);
  screen.press("n");
  expect(await code).toBe(1);
  expect(host.stderr.text).toMatch(/A key named "taken" already exists; add --overwrite or choose another name\.\n$/);
});

Deno.test("who may create but not read keys is told that a name is taken when the key is created", async () => {
  await using installation = await overHttp();
  const creator = await installation.program(
    ["apikey", "--create", "--name", "creator", "--permissions", "API_KEY:CREATE_ANY"],
  );
  const given = ["--description", "", "--permissions", "API_KEY:CREATE_OWN"];
  const { screen, code } = createAt(installation, given, {
    env: { SERVICE_API_KEY: creator.stdout.trim() },
  });
  await screen.until(/\? Name/);
  screen.press(..."admin", KEYS.enter);
  await screen.until(/\? Roles/);
  screen.press(KEYS.enter);
  expect(await screen.until(/\? Create/)).not.toContain("exists");
  screen.press("y");
  expect(await code).toBe(1);
  expect(await screen.text()).toContain('A key named "admin" already exists');
  expect(await namesIn(installation)).toEqual(["admin", "creator"]);
});

const QUESTIONS = [
  ["Name", []],
  ["Description", ["n", KEYS.enter]],
  ["Roles", [KEYS.enter]],
  ["Permissions", [KEYS.space, KEYS.enter]],
  ["Create", [KEYS.enter]],
] as const;

for (const [index, [last]] of QUESTIONS.entries()) {
  for (const ending of ["Ctrl-C", "SIGINT", "SIGTERM", "the end of the input"] as const) {
    Deno.test(`${ending} at ${last}: 130, nothing is created, and the terminal is as it was`, async () => {
      await using installation = await embedded(inProcess);
      const { screen, code, host } = createAt(installation);
      for (const [question, keys] of QUESTIONS.slice(0, index + 1)) {
        screen.press(...keys);
        // deno-lint-ignore no-await-in-loop -- one question after the other
        await screen.until(new RegExp(`\\? ${question}`));
      }
      if (ending === "Ctrl-C") screen.press(KEYS.ctrlC);
      else if (ending === "the end of the input") screen.input.end();
      else host.handlers.get(ending)?.();
      expect(await code).toBe(130);
      expect(await screen.text()).toMatch(/\nservice-api: Interrupted\. Nothing was changed\.$/);
      expect(screen.isRestored).toBe(true);
      expect(host.stdout.text).toBe("");
      expect([...host.handlers]).toEqual([]);
      expect(await namesIn(installation)).toEqual([]);
    });
  }
}

Deno.test("Ctrl-C while the server is asked whether a name is taken: 130", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  await using server = startServer(() => {
    asked.resolve();
    return answer.promise;
  });
  const { screen, code, host } = runAtTerminal(["apikey", "--create"], { env: { SERVICE_API_URL: server.url } });
  await screen.until(/\? Name/);
  screen.press("n", KEYS.enter);
  await asked.promise;
  expect(await screen.until(/Waiting/)).toMatch(/^✔ Name: n\n[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Waiting for 127\.0\.0\.1:\d+$/);
  host.handlers.get("SIGINT")?.();
  expect(await code).toBe(130);
  expect(screen.isRestored).toBe(true);
  answer.resolve(new Response());
});

for (
  const [args, flag] of [
    [["--create"], "--name"],
    [["--create", "--name", "n"], "--roles"],
    [["--create", "--roles", "GUEST"], "--name"],
    [[], "--create"],
  ] as const
) {
  Deno.test(`apikey ${args.join(" ")} with nobody to ask is a usage error that names ${flag}`, async () => {
    const noInput = runAtTerminal(["apikey", ...args, "--no-input"]);
    expect(await noInput.code).toBe(2);
    const piped = runAtTerminal(["apikey", ...args]);
    piped.host.stdin.isTerminal = () => false;
    expect(await piped.code).toBe(2);
    const logged = runAtTerminal(["apikey", ...args]);
    logged.host.stderr.isTerminal = () => false;
    expect(await logged.code).toBe(2);
    for (const { host } of [noInput, piped, logged]) expect(host.stderr.text).toContain(flag);
  });
}
