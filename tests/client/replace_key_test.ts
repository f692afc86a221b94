/** `apikey --create --overwrite` on a server that lags and returns the old key when asked to overwrite it. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { FakeHost, inProcess } from "../program/program.ts";
import { run } from "../../src/cli/program.ts";
import { ADMIN_SECRET, type LaggingServer, startLaggingServer, type Step } from "./lagging_server.ts";

const OLD = { id: "lag:1", name: "ci deploy", key: "the-old-secret", roles: ["VIEWER"] };
const ROTATE = ["apikey", "--create", "--name", "ci deploy", "--roles", "ADMIN", "--overwrite", "--json"] as const;

async function overwrite(server: LaggingServer, key = ADMIN_SECRET, timeout = "5s"): Promise<Outcome> {
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: key, SERVICE_API_TIMEOUT: timeout };
  return await inProcess(ROTATE, { env });
}

/** The warning if the key in use replaces itself. */
const WARNING = 'Warning: "ci deploy" is the key in use. Its old secret in SERVICE_API_KEY no longer works. Set ' +
  "SERVICE_API_KEY to the new secret.\n";

/** Checks that the command succeeded, and that only a new key with a new secret remains. */
function expectReplaced({ code, stdout, stderr }: Outcome, server: LaggingServer, warning = ""): void {
  expect({ code, stderr }).toEqual({ code: 0, stderr: warning });
  const [made, ...others] = server.keys;
  expect(others).toEqual([]);
  expect(JSON.parse(stdout)).toEqual({ key: made?.key, name: "ci deploy", id: made?.id });
  expect([made?.name, made?.roles]).toEqual(["ci deploy", ["ADMIN"]]);
  expect(made?.id).not.toBe(OLD.id);
  expect(made?.key).not.toBe(OLD.key);
  expect(server.accepts(made?.key ?? "")).toBe(true);
  expect(server.accepts(OLD.key)).toBe(false);
}

/** Checks that the command failed without a change, and printed no secret. Returns the message. */
function expectUnchanged({ code, stdout, stderr }: Outcome, exitCode: number, server: LaggingServer): string {
  expect({ code, stderr }).toEqual({ code: exitCode, stderr: "" });
  expect(server.keys.map(({ id, name }) => ({ id, name }))).toEqual([{ id: OLD.id, name: OLD.name }]);
  expect(stdout).not.toMatch(/secret-/);
  return JSON.parse(stdout).error;
}

Deno.test("--overwrite replaces a key on servers that see changes at once, after 0.5 s or after 2 s", async () => {
  await Promise.all([0, 500, 2000].map(async (lag) => {
    await using server = startLaggingServer([OLD], { lag });
    expectReplaced(await overwrite(server, ADMIN_SECRET, "15s"), server);
  }));
});

Deno.test("--overwrite works even if the server rejects a valid key after each reload", async () => {
  await using server = startLaggingServer([OLD], { rejectsAfterReload: true });
  expectReplaced(await overwrite(server), server);
});

for (const hasNoUpdate of [false, true]) {
  const server = hasNoUpdate ? "a server without update" : "a server with update";
  Deno.test(`--overwrite keeps the old or the new key valid at every moment on ${server}`, async () => {
    const missing: string[] = [];
    await using server = startLaggingServer([OLD], {
      hasNoUpdate,
      fault: (step, _count, { accepts, keys }) => {
        if (!keys.some(({ key }) => accepts(key))) missing.push(step);
      },
    });
    expectReplaced(await overwrite(server), server);
    expect(missing).toEqual([]);
    expect(server.steps.filter((step) => step !== "apiKeys" && step !== "me")).toEqual([
      expect.stringMatching(/^create ci deploy \d{8}$/),
      "delete ci deploy",
      ...(hasNoUpdate ? ["create ci deploy", expect.stringMatching(/^delete ci deploy \d{8}$/)] : ["update ci deploy"]),
    ]);
  });
}

Deno.test("--overwrite replaces both keys if the server has the name twice", async () => {
  await using server = startLaggingServer([OLD, { ...OLD, id: "lag:2", key: "another-old-secret" }]);
  expectReplaced(await overwrite(server), server);
});

Deno.test("--overwrite replaces a key that was created a moment ago and that the server does not list yet", async () => {
  await using server = startLaggingServer([], { lag: 100 });
  server.add(OLD);
  expectReplaced(await overwrite(server), server);
});

Deno.test("--overwrite creates the key if the name is free on another server", async () => {
  await using server = startLaggingServer([]);
  expectReplaced(await overwrite(server), server);
});

for (
  const [fault, step, succeeds] of [
    ["refuse", "create", false],
    ["refuse", "delete", false],
    ["refuse", "update", true],
    ["lose", "create", false],
    ["lose", "delete", true],
    ["lose", "update", true],
    ["lose", "apiKeys", true],
  ] as const
) {
  const problem = fault === "refuse" ? `refuses to ${step}` : `does not send the response to ${step}`;
  Deno.test(`if the server ${problem}, --overwrite ${succeeds ? "succeeds" : "changes nothing"}`, async () => {
    await using server = startLaggingServer([OLD], {
      fault: (current, count, { steps }) => {
        const isTemporaryKey = / \d{8}$/.test(steps.at(-1) ?? "");
        if (current !== step || (step === "delete" && isTemporaryKey)) return undefined;
        return fault === "refuse" || count === (step === "apiKeys" ? 1 : 0) ? fault : undefined;
      },
    });
    const result = await overwrite(server, ADMIN_SECRET, "300ms");
    if (succeeds) return expectReplaced(result, server);
    const message = expectUnchanged(result, fault === "lose" ? 4 : 1, server);
    expect(message).toMatch(fault === "refuse" && step === "create" ? /^create refused\.$/ : /Nothing was changed\.$/);
    expect(message).not.toContain("may have executed");
  });
}

Deno.test("if the server refuses every deletion, --overwrite names the temporary key and the command that deletes it", async () => {
  await using server = startLaggingServer([OLD], { fault: (step) => step === "delete" ? "refuse" : undefined });
  const { code, stdout } = await overwrite(server, ADMIN_SECRET, "300ms");
  expect(code).toBe(1);
  const [old, temporary] = server.keys;
  expect(old).toMatchObject(OLD);
  expect(JSON.parse(stdout).error).toBe(
    `delete refused. No key was replaced, but the temporary key "${temporary?.name}" (${temporary?.id}) still exists. ` +
      `To delete it, run: service-api apikey --delete --id ${temporary?.id}`,
  );
});

Deno.test("if the server does not list the temporary key within --timeout, --overwrite says that this key may still exist", async () => {
  await using server = startLaggingServer([OLD], { lag: 2000 });
  const { code, stdout } = await overwrite(server, ADMIN_SECRET, "300ms");
  expect(code).toBe(1);
  const [, temporary] = server.keys;
  expect(JSON.parse(stdout).error).toMatch(
    new RegExp(
      `did not list it within 0.3 s\\. No key was replaced, but .* may still exist\\. .* --id ${temporary?.id}$`,
    ),
  );
});

Deno.test("if the server confirms a deletion but still lists the key, --overwrite fails and names both keys", async () => {
  await using server = startLaggingServer([OLD], { ignoresDeletions: true });
  const { code, stdout } = await overwrite(server, ADMIN_SECRET, "300ms");
  expect(code).toBe(1);
  const message = JSON.parse(stdout).error;
  expect(message).toContain(`still listed "ci deploy" (lag:1) 0.3 s after it was deleted.`);
  expect(message).toContain(`service-api apikey --delete --id ${server.keys[1]?.id}`);
  expect(stdout).not.toContain("secret-");
});

Deno.test("without update, --overwrite asks again if the server returns the old key after its deletion", async () => {
  await using server = startLaggingServer([OLD], {
    hasNoUpdate: true,
    fault: (step, count) => step === "create" && count === 1 ? "answer with the first key" : undefined,
  });
  expectReplaced(await overwrite(server), server);
  expect(server.steps.filter((step) => step === "create ci deploy")).toHaveLength(2);
});

for (const masksSecrets of [false, true]) {
  const list = masksSecrets ? "hides" : "shows";
  Deno.test(`the key in use can replace itself on a server that ${list} secrets`, async () => {
    await using server = startLaggingServer([{ ...OLD, roles: ["ADMIN"] }], { masksSecrets });
    expectReplaced(await overwrite(server, OLD.key), server, WARNING);
  });

  Deno.test(`the key in use cannot replace itself with a key that may not rename keys, if the server ${list} secrets`, async () => {
    await using server = startLaggingServer([{ ...OLD, roles: ["ADMIN"] }], { masksSecrets });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: OLD.key };
    const args = ["apikey", "--create", "--name", OLD.name, "--roles", "GUEST", "--overwrite", "--json"];
    const message = expectUnchanged(await inProcess(args, { env }), 3, server);
    expect(message).toContain("The key in use cannot replace itself");
    expect(message).toContain("API_KEY:UPDATE_ANY");
    expect(server.accepts(OLD.key)).toBe(true);
  });
}

Deno.test("if the key in use replaces itself, Ctrl-C during its deletion does not lose the new secret", async () => {
  let interrupt = (): void => {};
  await using server = startLaggingServer([{ ...OLD, roles: ["ADMIN"] }], {
    fault: (step) => {
      if (step === "delete") interrupt();
    },
  });
  const host = new FakeHost(ROTATE, { env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: OLD.key } });
  interrupt = () => host.handlers.get("SIGINT")?.();
  const code = await run(host);
  expectReplaced({ code, stdout: host.stdout.text, stderr: host.stderr.text }, server, WARNING);
});

Deno.test("the key in use cannot replace itself on a server without update", async () => {
  await using server = startLaggingServer([{ ...OLD, roles: ["ADMIN"] }], { hasNoUpdate: true });
  const message = expectUnchanged(await overwrite(server, OLD.key), 1, server);
  expect(message).toContain("cannot replace itself");
  expect(message).toContain('"create"? Use another key for this command.');
});

Deno.test("if the server cannot tell that the deleted key is the key in use, the message says to use another key", async () => {
  const options = { masksSecrets: true, hasNoMe: true };
  await using server = startLaggingServer([{ ...OLD, roles: ["ADMIN"] }], options);
  const { code, stdout } = await overwrite(server, OLD.key, "300ms");
  expect(code).toBe(3);
  expect(JSON.parse(stdout).error).toContain("The deleted key may have been the key in use: use another key.");
});

Deno.test("if two callers overwrite a key at the same time, one key remains and only its secret is printed", async () => {
  await using server = startLaggingServer([OLD], { lag: 100 });
  const outcomes = await Promise.all([overwrite(server), overwrite(server)]);
  const succeeded = outcomes.filter(({ code }) => code === 0);
  expect(succeeded.length).toBeGreaterThan(0);
  expect(server.keys.map(({ name }) => name)).toEqual(["ci deploy"]);
  const printed = succeeded.map(({ stdout }) => JSON.parse(stdout).key);
  expect(printed).toContain(server.keys[0]?.key);
  expect(printed).not.toContain(OLD.key);
});

for (
  const [moment, outcome, isMoment] of [
    ["during create", "changes nothing", (step) => step === "create"],
    ["before delete", "changes nothing", (step) => step === "apiKeys"],
    ["during delete", "says how to finish", (step) => step === "delete"],
    ["between delete and update", "says how to finish", (step, steps) => step === "apiKeys" && hasDeleted(steps)],
    ["during update", "succeeds", (step) => step === "update"],
  ] satisfies readonly Interruption[]
) {
  Deno.test(`on Ctrl-C ${moment}, --overwrite ${outcome}`, async () => {
    let interrupt = (): void => {};
    await using server = startLaggingServer([OLD], {
      fault: (step, count, { steps }) => {
        if (isMoment(step, steps) && (step !== "apiKeys" || count > 0)) interrupt();
      },
    });
    const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: ADMIN_SECRET, SERVICE_API_TIMEOUT: "2s" };
    const host = new FakeHost(ROTATE, { env });
    interrupt = () => host.handlers.get("SIGINT")?.();
    const code = await run(host);
    const result = { code, stdout: host.stdout.text, stderr: host.stderr.text };
    if (outcome === "succeeds") return expectReplaced(result, server);
    if (outcome === "changes nothing") {
      return expect(expectUnchanged(result, 130, server)).toBe("Interrupted. Nothing was changed.");
    }
    expect(code).toBe(130);
    const [temporary, ...others] = server.keys;
    expect(others).toEqual([]);
    expect(JSON.parse(result.stdout).error).toBe(
      `Interrupted. The old key "ci deploy" was deleted. The temporary key "${temporary?.name}" (${temporary?.id}) ` +
        "exists, and its secret was not printed. To finish, run the same command again, and then delete the temporary " +
        `key: service-api apikey --delete --id ${temporary?.id}`,
    );
  });
}

/** When, what the command does, and whether a step is this moment. */
type Interruption = readonly [string, string, (step: Step, steps: readonly string[]) => boolean];

function hasDeleted(steps: readonly string[]): boolean {
  return steps.some((step) => step.startsWith("delete"));
}
