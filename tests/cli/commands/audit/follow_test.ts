/** `audit --follow`: prints new events until the user stops it. */
import { expect } from "expect";
import { audit } from "../../../../src/cli/commands/audit/audit.ts";
import { withClient } from "../../../../src/cli/connection/with_client.ts";
import { SILENT_LOG } from "../../../../src/cli/host/log.ts";
import { run } from "../../../../src/cli/program.ts";
import { openSqliteStore } from "../../../../src/store/sqlite.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import { FakeHost, inProcess, withEnv } from "../../../program/program.ts";
import { startHttp } from "../../../server/http/http_server.ts";
import { inTemporaryDirectory } from "../../../store/temporary_store.ts";

interface Followed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The times between the requests, in milliseconds. */
  readonly pauses: readonly number[];
}

/** What happens while `audit --follow` waits for the next request. After the last step, the user presses Ctrl-C. */
type Steps = readonly (() => Promise<unknown>)[];

async function follow(
  env: Readonly<Record<string, string>>,
  steps: Steps,
  host = new FakeHost([], { env }),
): Promise<Followed> {
  const pauses: number[] = [];
  const code = await audit({ follow: true }, host, withClient({}, host, SILENT_LOG), async (milliseconds) => {
    const step = steps[pauses.length];
    pauses.push(milliseconds);
    if (step === undefined) host.handlers.get("SIGINT")?.();
    else await step();
  });
  return { code, stdout: host.stdout.text, stderr: host.stderr.text, pauses };
}

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST"] as const;
const DELETE = ["apikey", "--delete", "--name", "new"] as const;
const nothing = (): Promise<void> => Promise.resolve();

for (const [where, install] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  Deno.test(`${where}: audit --follow prints each event once, and Ctrl-C ends it with exit status 130 and no message`, async () => {
    await using installation = await install();
    const { program, env } = installation;
    await program(CREATE);
    const { code, stdout, stderr } = await follow(env, [
      nothing,
      () => program(DELETE),
      nothing,
      () => program(CREATE),
    ]);
    expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
    expect(stdout.match(/"action":"(CREATE|DELETE)"/g)?.slice(-3).map((text) => text.slice(10, -1)))
      .toEqual(["CREATE", "DELETE", "CREATE"]);
    expect(stdout).toBe((await program(["audit"])).stdout);
  });
}

Deno.test("audit --follow of a missing store prints the events after another process creates the store", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const { stdout, stderr } = await follow(env, [nothing, () => program(CREATE), () => program(DELETE)]);
  expect(stdout).toBe((await program(["audit"])).stdout);
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(stderr).toBe("");
});

Deno.test("audit --follow survives an outage: it says so once, waits longer and longer, and misses no event", () =>
  inTemporaryDirectory(async (directory) => {
    const open = async (port: number): ReturnType<typeof startHttp> =>
      await startHttp(await openSqliteStore({ directory, busyTimeout: 5000 }), { port });
    const local = withEnv(inProcess, { SERVICE_API_DATA_DIR: directory });
    const key = (await local(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"])).stdout.trim();
    let server = await open(0);
    const { url } = server;
    const { code, stdout, stderr, pauses } = await follow({ SERVICE_API_URL: url, SERVICE_API_KEY: key }, [
      () => server.stop(5000),
      () => local(CREATE),
      nothing,
      nothing,
      nothing,
      async () => server = await open(Number(new URL(url).port)),
      () => local(DELETE),
    ]);
    await server.stop(5000);
    expect(code).toBe(130);
    expect(stdout).toBe((await local(["audit"])).stdout);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(
        /^service-api: Could not reach 127\.0\.0\.1:\d+: .*\. Trying again until you press Ctrl-C\.$/,
      ),
      "service-api: Connected again.",
      "",
    ]);
    expect(pauses).toEqual([1000, 1000, 2000, 4000, 8000, 8000, 1000, 1000]);
  }));

Deno.test("audit --follow fails at once if the server is unreachable at the start", async () => {
  const { code, stderr } = await inProcess(["audit", "--follow", "--base-url", "http://127.0.0.1:1"]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/^service-api: .* 127\.0\.0\.1:1.*\n$/);
});

Deno.test("audit --follow ends with exit status 3 if its key is deleted", async () => {
  await using installation = await overHttp();
  const { program, env } = installation;
  const { stdout: key } = await program(["apikey", "--create", "--name", "new", "--permissions", "LOGS:READ_ANY"]);
  const following = follow({ ...env, SERVICE_API_KEY: key.trim() }, [() => program(DELETE)]);
  await expect(following).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

Deno.test("at a terminal, audit --follow prints a table with one header, and says how to stop", async () => {
  await using installation = await embedded(inProcess);
  const { program, env } = installation;
  const host = new FakeHost([], { env: { ...env, NO_COLOR: "1" } });
  for (const output of [host.stdout, host.stderr]) output.isTerminal = () => true;
  await follow(env, [() => program(CREATE), () => program(DELETE)], host);
  const [header, ...rows] = host.stdout.text.split("\n");
  expect(header).toMatch(/^TIME \(UTC\) +EVENT +NAME /);
  expect(rows).toEqual([expect.stringMatching(/ CREATE +new /), expect.stringMatching(/ DELETE +new /), ""]);
  expect(host.stderr.text.replaceAll("\n", " ").trim()).toContain(
    `service-api: Waiting for events from the store in ${env.SERVICE_API_DATA_DIR} (SERVICE_API_DATA_DIR). ` +
      "Press Ctrl-C to stop.",
  );
});

Deno.test("Ctrl-C ends audit --follow while it waits for the next request", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const host = new FakeHost(["audit", "--follow"], { env: installation.env });
  host.stderr.isTerminal = () => true;
  // The message is written immediately before the wait begins.
  host.stderr.write = () => Promise.resolve(void setTimeout(() => host.handlers.get("SIGINT")?.()));
  const start = performance.now();
  expect(await run(host)).toBe(130);
  expect(performance.now() - start).toBeLessThan(900);
});

Deno.test("audit rejects --follow with --json, because --json prints one line at the end", async () => {
  const { code, stdout } = await inProcess(["audit", "--follow", "--json"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ code: "USAGE", error: expect.stringContaining("--follow") });
});
