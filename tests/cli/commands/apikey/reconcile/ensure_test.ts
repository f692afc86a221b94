/** `apikey ensure`. */
import { expect } from "expect";
import { hashSecret } from "../../../../../src/apikey/secret.ts";
import { lockFile } from "../../../../../src/cli/host/lock_file.ts";
import { startServer } from "../../../../client/foreign_server.ts";
import { ADMIN_SECRET, startLaggingServer } from "../../../../client/lagging_server.ts";
import type { Outcome } from "../../../../execute.ts";
import { onPosix } from "../../../../posix.ts";
import { embedded, overHttp } from "../../../../program/installations.ts";
import { FakeHost, inProcess, type Installation, type Program } from "../../../../program/program.ts";
import { run } from "../../../../../src/cli/program.ts";
import { inTemporaryDirectory } from "../../../../store/temporary_store.ts";
import { until } from "../../../../server/until.ts";

const posixTest = onPosix("file modes and symbolic links");

const CI = ["apikey", "ensure", "ci", "--roles", "VIEWER"];

interface Fixture extends Installation {
  /** The path of the secret file, which does not exist yet, in an empty directory. */
  readonly path: string;
  readonly directory: string;
  /** Runs `ensure` for the key `ci` with this file and `--json`, and expects that it succeeds. Returns the action. */
  readonly ensure: (...flags: readonly string[]) => Promise<string>;
  /** Sends a query with the secret in the file. */
  readonly me: (path?: string) => Promise<Outcome>;
}

function withInstallation(open: () => Promise<Installation>, test: (fixture: Fixture) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    await using installation = await open();
    const { program } = installation;
    const path = `${directory}/ci.key`;
    await test({
      ...installation,
      directory,
      path,
      ensure: async (...flags) => actionOf(await program([...CI, "--secret-file", path, "--json", ...flags])),
      me: (file = path) => program(["request", "--query", "{ me { name } }", "--key-file", file]),
    });
  });
}

const onEmbedded = (test: (fixture: Fixture) => Promise<void>): Promise<void> =>
  withInstallation(() => embedded(inProcess), test);

function actionOf({ code, stdout, stderr }: Outcome): string {
  expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: "" });
  const { keys: [{ action }] } = JSON.parse(stdout);
  return action;
}

function expectFailure({ code, stdout }: Outcome, expected: { code: string; exitCode: number; error: RegExp }): void {
  expect({ exitCode: code, ...JSON.parse(stdout) }).toEqual({
    exitCode: expected.exitCode,
    code: expected.code,
    error: expect.stringMatching(expected.error),
  });
}

async function list(program: Program): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return JSON.parse((await program(["apikey", "list", "--json"])).stdout).keys;
}

for (const [place, open] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  Deno.test(`${place}: ensure creates a key and its file, and a second run changes nothing`, () =>
    withInstallation(open, async ({ program, directory, path, me }) => {
      const made = await program([...CI, "--secret-file", path, "--json"]);
      expect(JSON.parse(made.stdout)).toEqual({
        created: 1,
        updated: 0,
        rotated: 0,
        deleted: 0,
        unchanged: 0,
        keys: [{ name: "ci", id: expect.stringMatching(/^key_/), action: "create", secretFile: path }],
      });
      expect(JSON.parse((await me()).stdout)).toEqual({ data: { me: { name: "ci" } } });
      const secret = await Deno.readTextFile(path);
      expect(actionOf(await program([...CI, "--secret-file", path, "--json"]))).toBe("unchanged");
      expect(await Deno.readTextFile(path)).toBe(secret);
      expect(await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toEqual(["ci.key"]);
    }));
}

Deno.test("ensure without --json prints what it did, and never the secret", () =>
  onEmbedded(async ({ program, path }) => {
    const made = await program([...CI, "--secret-file", path]);
    expect(made).toEqual({ code: 0, stderr: "", stdout: `created    ci\n           secret in ${path}\n` });
    expect((await program([...CI, "--secret-file", path])).stdout).toBe("unchanged  ci\n");
  }));

posixTest("the file of ensure can be read only by its owner", () =>
  onEmbedded(async ({ path, ensure }) => {
    await ensure();
    expect(((await Deno.stat(path)).mode ?? 0) & 0o777).toBe(0o600);
  }));

Deno.test("ensure with other rights updates the key, and the secret stays the same", () =>
  onEmbedded(async ({ program, path, ensure }) => {
    await ensure();
    const secret = await Deno.readTextFile(path);
    const other = await program(["apikey", "ensure", "ci", "--roles", "GUEST", "--secret-file", path, "--json"]);
    expect(actionOf(other)).toBe("update");
    expect(await Deno.readTextFile(path)).toBe(secret);
    expect(await list(program)).toMatchObject([{ name: "ci", roles: ["GUEST"] }]);
  }));

const SPOILS: readonly (readonly [string, (fixture: Fixture) => Promise<unknown>, string])[] = [
  ["is missing", ({ path }) => Deno.remove(path), "rotate"],
  ["is empty", ({ path }) => Deno.writeTextFile(path, ""), "rotate"],
  ["holds the secret of another server", ({ path }) => Deno.writeTextFile(path, "another-secret\n"), "rotate"],
  ["holds a rotated secret", ({ program }) => program(["apikey", "rotate", "ci", "--grace", "1h"]), "rotate"],
  ["holds the secret of a deleted key", ({ program }) => program(["apikey", "--delete", "--name", "ci"]), "create"],
  ["holds the secret of a disabled key", ({ program }) => program(["apikey", "update", "ci", "--disable"]), "update"],
];

for (const [state, spoil, action] of SPOILS) {
  Deno.test(`if the file ${state}, ensure mends it, and there is one key`, () =>
    onEmbedded(async (fixture) => {
      const { program, ensure, me } = fixture;
      await ensure();
      await spoil(fixture);
      expect(await ensure()).toBe(action);
      expect((await me()).code).toBe(0);
      expect(await list(program)).toHaveLength(1);
      expect(await ensure()).toBe("unchanged");
    }));
}

Deno.test("if the file holds the secret of another key, ensure issues a secret for its own key and leaves the other key", () =>
  onEmbedded(async ({ program, path, ensure, me }) => {
    const other = await program(["apikey", "--create", "--name", "other", "--roles", "GUEST"]);
    await Deno.writeTextFile(path, other.stdout);
    expect(await ensure()).toBe("create");
    expect(JSON.parse((await me()).stdout)).toEqual({ data: { me: { name: "ci" } } });
    expect(await list(program)).toHaveLength(2);
  }));

Deno.test("within --rotate-before of the expiry, the key gets a new secret, and with --grace the old secret still works", () =>
  onEmbedded(async ({ directory, program, path, ensure, me }) => {
    await ensure("--expires-in", "10d");
    await Deno.copyFile(path, `${directory}/old.key`);
    const lifetime = ["--expires-in", "90d", "--rotate-before", "14d", "--grace", "1h"];
    expect(await ensure(...lifetime)).toBe("rotate");
    expect(await ensure(...lifetime)).toBe("unchanged");
    expect([(await me()).code, (await me(`${directory}/old.key`)).code]).toEqual([0, 0]);
    const [{ expiresAt } = {}] = await list(program);
    const days = (Date.parse(String(expiresAt)) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
  }));

const NOT_SECRETS: readonly (readonly [string, (path: string) => Promise<void>, RegExp])[] = [
  ["has several lines", (path) => Deno.writeTextFile(path, "a: 1\nb: 2\n"), /has several lines/],
  ["is long", (path) => Deno.writeTextFile(path, "x".repeat(5000)), /larger than 4096 bytes/],
  ["is a directory", (path) => Deno.mkdir(path), /not a regular file/],
  ["is a symbolic link", (path) => Deno.symlink("/etc/hostname", path), /not a regular file/],
];

for (const [state, make, error] of NOT_SECRETS) {
  posixTest(`a file that ${state} is refused, and nothing changes`, () =>
    onEmbedded(async ({ program, path }) => {
      await make(path);
      expectFailure(await program([...CI, "--secret-file", path, "--json"]), { code: "USAGE", exitCode: 2, error });
      expect(await list(program)).toEqual([]);
    }));
}

const MISTAKES: readonly (readonly [string, readonly string[], string, RegExp])[] = [
  ["no name", ["--roles", "GUEST", "--secret-file", "x"], "USAGE", /needs the name/],
  ["no file", ["ci", "--roles", "GUEST"], "USAGE", /needs --secret-file/],
  ["standard output as the file", ["ci", "--roles", "GUEST", "--secret-file", "-"], "USAGE", /needs --secret-file/],
  ["no rights", ["ci", "--secret-file", "x"], "NO_RIGHTS", /at least one role or permission/],
  ["a wrong name", ["a-b", "--roles", "GUEST", "--secret-file", "x"], "INVALID_NAME", /letters, digits and spaces/],
  ["two names", ["a", "--name", "b", "--roles", "GUEST", "--secret-file", "x"], "USAGE", /given twice/],
  [
    "--rotate-before without --expires-in",
    ["ci", "--roles", "GUEST", "--secret-file", "x", "--rotate-before", "1d"],
    "USAGE",
    /^--rotate-before needs --expires-in/,
  ],
];

for (const [mistake, flags, code, error] of MISTAKES) {
  Deno.test(`ensure with ${mistake} is a usage error`, async () => {
    expectFailure(await inProcess(["apikey", "ensure", ...flags, "--json"]), { code, exitCode: 2, error });
  });
}

Deno.test("a key with CREATE_ANY, READ_OWN, UPDATE_OWN, DELETE_OWN and the granted rights ensures the keys that it created", () =>
  withInstallation(overHttp, async ({ program, path, directory, env }) => {
    const rights = ["CREATE_ANY", "READ_OWN", "UPDATE_OWN", "DELETE_OWN"].map((action) => `API_KEY:${action}`);
    const permissions = [...rights, "DOCKER:READ_ANY", "DISK:READ_ANY"].join(",");
    const cron = await program(["apikey", "--create", "--name", "cron", "--permissions", permissions]);
    const asCron = async (...rights: readonly string[]): Promise<Outcome> =>
      await inProcess(["apikey", "ensure", "ci", "--permissions", ...rights, "--secret-file", path, "--json"], {
        env: { ...env, SERVICE_API_KEY: cron.stdout.trim() },
      });
    expect(actionOf(await asCron("DOCKER:READ_ANY"))).toBe("create");
    expect(actionOf(await asCron("DOCKER:READ_ANY"))).toBe("unchanged");
    expect(actionOf(await asCron("DISK:READ_ANY"))).toBe("update");
    await Deno.remove(path);
    expect(actionOf(await asCron("DISK:READ_ANY"))).toBe("rotate");
    expectFailure(await asCron("LOGS:READ_ANY"), {
      code: "FORBIDDEN",
      exitCode: 3,
      error:
        /^Cannot bring the key "ci" in order: .*LOGS:READ_ANY.* Use a key with this right, or choose another name\.$/,
    });

    // A key that another caller created, so that the key in cron cannot read it.
    await program(["apikey", "--create", "--name", "other", "--permissions", "DISK:READ_ANY"]);
    const other = await inProcess(
      ["apikey", "ensure", "other", "--permissions", "DISK:READ_ANY", "--secret-file", `${directory}/b`, "--json"],
      { env: { ...env, SERVICE_API_KEY: cron.stdout.trim() } },
    );
    expectFailure(other, { code: "ALREADY_EXISTS", exitCode: 1, error: /"other" exists, but .* API_KEY:READ_ANY/ });
    expect(await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toEqual(["ci.key"]);
  }));

Deno.test("ensure sends the hash of the secret in the file, and never the secret", () =>
  onEmbedded(async ({ program, path }) => {
    await Deno.writeTextFile(path, "the-secret-of-another-server\n");
    await using server = startServer(async ({ body }) => {
      const { stdout } = await program(["request", "--body", body]);
      return new Response(stdout, { headers: { "content-type": "application/json" } });
    });
    const env = { SERVICE_API_URL: server.url };
    expect(actionOf(await inProcess([...CI, "--secret-file", path, "--json"], { env }))).toBe("create");
    const bodies = server.requests.map(({ body }) => body).join("\n");
    expect(bodies).toContain((await hashSecret("the-secret-of-another-server")).toHex());
    expect(bodies).not.toContain("the-secret-of-another-server");
  }));

Deno.test("if another process holds the lock, ensure waits until the lock is released", () =>
  onEmbedded(async ({ program, path, directory }) => {
    const { platform } = new FakeHost([]);
    const interrupted = new AbortController().signal;
    const release = await lockFile(path, { timeout: 0, interrupted, platform });
    let isOver = false;
    const ensuring = program([...CI, "--secret-file", path, "--json"]).finally(() => isOver = true);
    // ensure looks at the keys before it takes the lock.
    await until(async () => (await list(program)).length === 0);
    expect(isOver).toBe(false);
    await release();
    expect(actionOf(await ensuring)).toBe("create");
    expect(await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toEqual(["ci.key"]);
  }));

Deno.test("if another process holds the lock for longer than --timeout, ensure fails with TIMEOUT and names the lock", () =>
  onEmbedded(async ({ program, path }) => {
    const { platform } = new FakeHost([]);
    const release = await lockFile(path, { timeout: 0, interrupted: new AbortController().signal, platform });
    const outcome = await program([...CI, "--secret-file", path, "--timeout", "200ms", "--json"]);
    expectFailure(outcome, { code: "TIMEOUT", exitCode: 4, error: /holds the lock ".*ci\.key\.lock"/ });
    await release();
  }));

for (const [place, open] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  Deno.test(`${place}: ten runs at once on one file end with one key, whose secret is in the file`, () =>
    withInstallation(open, async ({ program, ensure, me }) => {
      const actions = await Promise.all(Array.from({ length: 10 }, () => ensure()));
      expect(actions.toSorted()).toEqual(["create", ...Array.from({ length: 9 }, () => "unchanged")]);
      expect((await me()).code).toBe(0);
      expect((await list(program)).filter(({ name }) => name === "ci")).toHaveLength(1);
    }));
}

for (
  const [command, args] of [
    ["rotate", ["apikey", "rotate", "ci"]],
    ["create", ["apikey", "--create", "--name", "ci", "--roles", "VIEWER"]],
  ] as const
) {
  Deno.test(`while ${command} issues a secret for a file, ensure waits and leaves the file to it`, () =>
    onEmbedded(async ({ program, path, directory, ensure, me }) => {
      await ensure();
      const waiting: Outcome[] = [];
      await using server = startServer(async ({ body }) => {
        if (body.includes("mutation") && waiting.length === 0) {
          // The file is stale, so that ensure would replace it.
          await Deno.writeTextFile(path, "stale\n");
          waiting.push(await program([...CI, "--secret-file", path, "--timeout", "100ms", "--json"]));
        }
        const { stdout } = await program(["request", "--body", body]);
        return new Response(stdout, { headers: { "content-type": "application/json" } });
      });
      const issued = await inProcess([...args, "--secret-file", path, "--overwrite"], {
        env: { SERVICE_API_URL: server.url },
      });
      expect(issued).toEqual({ code: 0, stdout: "", stderr: "" });
      waiting.forEach((outcome) =>
        expectFailure(outcome, { code: "TIMEOUT", exitCode: 4, error: /Another process has been changing/ })
      );
      expect(waiting).toHaveLength(1);
      expect((await me()).code).toBe(0);
      expect(await ensure()).toBe("unchanged");
      expect(await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toEqual(["ci.key"]);
    }));
}

Deno.test("a lock file and temporary files that a killed process has left do not matter, and are removed", () =>
  onEmbedded(async ({ directory, path, ensure }) => {
    await Deno.writeTextFile(`${path}.lock`, "");
    await Deno.writeTextFile(`${path}.0123456789abcdef.tmp`, "");
    expect(await ensure()).toBe("create");
    expect(await Array.fromAsync(Deno.readDir(directory), ({ name }) => name)).toEqual(["ci.key"]);
  }));

Deno.test("if the path of the lock is a file of the user, ensure fails and leaves it alone", () =>
  onEmbedded(async ({ program, path }) => {
    await Deno.writeTextFile(`${path}.lock`, "mine");
    const outcome = await program([...CI, "--secret-file", path, "--json"]);
    expectFailure(outcome, { code: "FAILED", exitCode: 1, error: /ci\.key\.lock": it is not an empty file/ });
    expect(await Deno.readTextFile(`${path}.lock`)).toBe("mine");
  }));

Deno.test("if the directory of the secret file is missing, ensure says so before it creates a key", () =>
  onEmbedded(async ({ program, directory }) => {
    const outcome = await program([...CI, "--secret-file", `${directory}/none/ci.key`, "--json"]);
    expectFailure(outcome, {
      code: "FAILED",
      exitCode: 1,
      error: /No such file or directory\. Create the directory first\.$/,
    });
    expect(await list(program)).toEqual([]);
  }));

Deno.test("if the path of the lock is a directory, ensure fails instead of waiting", () =>
  onEmbedded(async ({ program, path }) => {
    await Deno.mkdir(`${path}.lock`);
    const outcome = await program([...CI, "--secret-file", path, "--json"]);
    expectFailure(outcome, { code: "FAILED", exitCode: 1, error: /it is not an empty file/ });
  }));

Deno.test("Ctrl-C while ensure waits for the lock ends it, and nothing was changed", () =>
  onEmbedded(async ({ path, env, program }) => {
    const { platform } = new FakeHost([]);
    const release = await lockFile(path, { timeout: 0, interrupted: new AbortController().signal, platform });
    const host = new FakeHost([...CI, "--secret-file", path, "--json"], { env });
    const ended = run(host);
    await until(() => host.handlers.has("SIGINT"));
    host.handlers.get("SIGINT")?.();
    expect(await ended).toBe(130);
    expect(await list(program)).toEqual([]);
    await release();
  }));

Deno.test("on a server with only the published schema, ensure compares the secrets that the list shows", () =>
  inTemporaryDirectory(async (directory) => {
    await using server = startLaggingServer([], { lag: 0 });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET };
    const path = `${directory}/ci.key`;
    const ensure = async (role = "GUEST"): Promise<string> =>
      actionOf(await inProcess(["apikey", "ensure", "ci", "--roles", role, "--secret-file", path, "--json"], { env }));
    const secretOfKey = (): string | undefined => server.keys.find(({ name }) => name === "ci")?.key;

    expect(await ensure()).toBe("create");
    expect(await ensure()).toBe("unchanged");
    expect(await ensure("VIEWER")).toBe("update");
    expect(await Deno.readTextFile(path)).toBe(`${secretOfKey()}\n`);
    await Deno.writeTextFile(path, "stale\n");
    expect(await ensure("VIEWER")).toBe("rotate");
    expect(await Deno.readTextFile(path)).toBe(`${secretOfKey()}\n`);
    expect(server.keys.filter(({ name }) => name.startsWith("ci"))).toHaveLength(1);
    for (
      const [flag, value, field] of [
        ["--expires-in", "90d", "expiresAt"],
        ["--expires-at", "9000-01-01T00:00:00Z", "expiresAt"],
        ["--grace", "90d", "rotate"],
      ] as const
    ) {
      // deno-lint-ignore no-await-in-loop -- only three flags
      const outcome = await inProcess([...CI, "--secret-file", path, flag, value, "--json"], { env });
      const error = new RegExp(`lacks .*${field}.*the command works on this server\\.$`);
      expectFailure(outcome, { code: "UNSUPPORTED", exitCode: 1, error });
    }
  }));

Deno.test("if a server without keys turns out to hide secrets, ensure says that the next run will be UNSUPPORTED", () =>
  inTemporaryDirectory(async (directory) => {
    await using server = startLaggingServer([], { lag: 0, masksSecrets: true });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET };
    const path = `${directory}/ci.key`;
    const ensure = (): Promise<Outcome> => inProcess([...CI, "--secret-file", path, "--json"], { env });
    const first = await ensure();
    expect(first.stderr).toMatch(/does not show the secrets .* the next run will fail with UNSUPPORTED\./);
    expect(actionOf({ ...first, stderr: "" })).toBe("create");
    expect(await Deno.readTextFile(path)).toBe(`${server.keys[0]?.key}\n`);
    expectFailure(await ensure(), { code: "UNSUPPORTED", exitCode: 1, error: /lacks Query\.apiKeysBySecretHash/ });
  }));

Deno.test("on a server that shows neither hashes nor whole secrets, ensure is UNSUPPORTED and changes nothing", () =>
  inTemporaryDirectory(async (directory) => {
    await using server = startLaggingServer([{ name: "other" }], { lag: 0, masksSecrets: true });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET };
    const outcome = await inProcess([...CI, "--secret-file", `${directory}/ci.key`, "--json"], { env });
    expectFailure(outcome, { code: "UNSUPPORTED", exitCode: 1, error: /lacks Query\.apiKeysBySecretHash/ });
    expect(server.steps).not.toContain("create ci");
  }));
