/** The access log of `serve`: one line per request on standard error. */
import { expect } from "expect";
import { openAccessLog } from "../../../../src/cli/commands/serve/access_log.ts";
import type { AccessLogEntry } from "../../../../src/server/http/request_handler.ts";
import { FakeHost } from "../../../program/program.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";

const ACCESS: AccessLogEntry = {
  time: new Date("2026-02-03T04:05:06.789Z"),
  requestId: "request-1",
  address: "203.0.113.7",
  method: "POST",
  path: "/graphql",
  status: 200,
  duration: 1.23456,
  keyId: "key_1",
  code: undefined,
};

/** A host whose standard error blocks until it is released. */
interface BlockedHost {
  readonly host: FakeHost;
  /** Resolves at the first write. */
  readonly writing: Promise<void>;
  readonly release: () => void;
}

function blockedHost(): BlockedHost {
  const host = new FakeHost(["serve"]);
  const tried = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const { write } = host.stderr;
  host.stderr.write = async (text) => {
    tried.resolve();
    await released.promise;
    await write.call(host.stderr, text);
  };
  return { host, writing: tried.promise, release: released.resolve };
}

function linesOf(host: FakeHost): readonly unknown[] {
  return host.stderr.text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("each request is a line of JSON if standard error is not a terminal", async () => {
  const host = new FakeHost(["serve"]);
  const log = await openAccessLog(host);
  log.record(ACCESS);
  log.record({ ...ACCESS, secret: "previous" });
  log.record({ ...ACCESS, status: 401, keyId: undefined, code: "UNAUTHENTICATED" });
  await log.flush();
  const shared = {
    time: "2026-02-03T04:05:06.789Z",
    level: "info",
    requestId: "request-1",
    address: "203.0.113.7",
    method: "POST",
    path: "/graphql",
    durationMs: 1.235,
  };
  expect(linesOf(host)).toEqual([
    { ...shared, status: 200, keyId: "key_1" },
    { ...shared, status: 200, keyId: "key_1", secret: "previous" },
    { ...shared, status: 401, code: "UNAUTHENTICATED" },
  ]);
  expect(host.stdout.text).toBe("");
});

const KEY_ID = "key_0wdOQ87OYBJGzACCo6H9ZJ";

/** What the log writes to a terminal of a width, for requests that differ from `ACCESS`. */
async function atTerminal(
  columns: number,
  requests: readonly Partial<AccessLogEntry>[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const host = new TerminalHost(["serve"], { columns, env });
  const log = await openAccessLog(host);
  for (const request of requests) log.record({ ...ACCESS, ...request });
  await log.flush();
  return host.stderr.text;
}

const REQUEST_ID = "request-1".padEnd(36);

const REQUESTS: readonly Partial<AccessLogEntry>[] = [
  { keyId: KEY_ID },
  { keyId: KEY_ID, secret: "previous" },
  { status: 401, duration: 1234.5, keyId: undefined, code: "UNAUTHENTICATED" },
  { status: 403, path: "/verify/DOCKER:READ_ANY/containers", code: "FORBIDDEN", keyId: KEY_ID },
  { status: 403, path: "/verify/any", code: "FORBIDDEN", keyId: KEY_ID, secret: "previous" },
  { status: 404, duration: 30_000, path: "/a/long/path/that/a/client/has/mistyped", keyId: undefined },
];

for (
  const [columns, lines] of [
    [160, [
      `04:05:06  200     1.2 ms  ${KEY_ID}             203.0.113.7      ${REQUEST_ID}  POST /graphql`,
      `04:05:06  200     1.2 ms  ${KEY_ID} old secret  203.0.113.7      ${REQUEST_ID}  POST /graphql`,
      `04:05:06  401  1234.5 ms  UNAUTHENTICATED                        203.0.113.7      ${REQUEST_ID}  POST /graphql`,
      `04:05:06  403     1.2 ms  ${KEY_ID} FORBIDDEN   203.0.113.7      ${REQUEST_ID}  POST /verify/DOCKER:READ_ANY/containers`,
      `04:05:06  403     1.2 ms  ${KEY_ID} old secret FORBIDDEN  203.0.113.7      ${REQUEST_ID}  POST /verify/any`,
      `04:05:06  404     30.0 s                                         203.0.113.7      ${REQUEST_ID}  POST /a/long/path/that…ent/has/mistyped`,
    ]],
    [120, [
      `04:05:06  200     1.2 ms  ${KEY_ID}             203.0.113.7      POST /graphql`,
      `04:05:06  200     1.2 ms  ${KEY_ID} old secret  203.0.113.7      POST /graphql`,
      "04:05:06  401  1234.5 ms  UNAUTHENTICATED                        203.0.113.7      POST /graphql",
      `04:05:06  403     1.2 ms  ${KEY_ID} FORBIDDEN   203.0.113.7      POST /verify/DOCKER:R…_ANY/containers`,
      `04:05:06  403     1.2 ms  ${KEY_ID} old secret FORBIDDEN  203.0.113.7      POST /verify/any`,
      "04:05:06  404     30.0 s                                         203.0.113.7      POST /a/long/path/tha…nt/has/mistyped",
    ]],
    [80, [
      `04:05:06 200    1.2 ms ${KEY_ID} POST /graphql`,
      `04:05:06 200    1.2 ms ${KEY_ID} old secret POST /graphql`,
      "04:05:06 401 1234.5 ms UNAUTHENTICATED            POST /graphql",
      `04:05:06 403    1.2 ms ${KEY_ID} FORBIDDEN POST /verify…ainers`,
      "04:05:06 403    1.2 ms POST /verify/any",
      `  ${KEY_ID} old secret FORBIDDEN`,
      "04:05:06 404    30.0 s                            POST /a/long/path…as/mistyped",
    ]],
    [40, [
      "04:05:06 200 /graphql",
      `  ${KEY_ID}`,
      "04:05:06 200 /graphql",
      `  ${KEY_ID} old secret`,
      "04:05:06 401 UNAUTHENTICATED /graphql",
      "04:05:06 403 /verify/DOCKE…Y/containers",
      `  ${KEY_ID} FORBIDDEN`,
      "04:05:06 403 /verify/any",
      `  ${KEY_ID} old secret FORBIDDEN`,
      "04:05:06 404 /a/long/path/…has/mistyped",
    ]],
  ] as const
) {
  Deno.test(`in a terminal of ${columns} columns, a request is one line, in which only the path is shortened, or two lines`, async () => {
    expect((await atTerminal(columns, REQUESTS)).trimEnd().split("\n")).toEqual(lines);
  });
}

Deno.test("at a terminal with colours, the status of a request is green if it succeeded, and yellow if it was refused", async () => {
  const [first, , second] = (await atTerminal(80, REQUESTS, { FORCE_COLOR: "1" })).split("\n");
  expect(first).toContain("\x1b[32m200\x1b[39m");
  expect(second).toContain("\x1b[33m401\x1b[39m");
});

Deno.test("the path of a request cannot control the terminal", async () => {
  const host = new TerminalHost(["serve"]);
  const log = await openAccessLog(host);
  log.record({ ...ACCESS, path: "/\u009b2J" });
  await log.flush();
  expect(host.stderr.text).toContain(" /\\u{9b}2J\n");
});

Deno.test("lines keep the order of their requests, even if a request arrives during a write", async () => {
  const { host, release } = blockedHost();
  const log = await openAccessLog(host);
  const ids = Array.from({ length: 100 }, (_, i) => String(i));
  for (const requestId of ids.slice(0, 50)) log.record({ ...ACCESS, requestId });
  const flushed = log.flush();
  for (const requestId of ids.slice(50)) log.record({ ...ACCESS, requestId });
  release();
  await flushed;
  await log.flush();
  expect(linesOf(host)).toEqual(ids.map((requestId) => expect.objectContaining({ requestId })));
});

Deno.test("flush waits for a write that is in progress", async () => {
  const { host, writing, release } = blockedHost();
  const log = await openAccessLog(host);
  log.record(ACCESS);
  await writing;
  const order: string[] = [];
  const flushed = log.flush().then(() => order.push("flushed"));
  // A flush that does not wait for the write would end before this timer.
  await new Promise((resolve) => setTimeout(resolve));
  order.push("released");
  release();
  await flushed;
  expect(order).toEqual(["released", "flushed"]);
  expect(linesOf(host)).toHaveLength(1);
});

Deno.test("lines recorded at the same time are written together, even if flush is not called", async () => {
  const host = new FakeHost(["serve"]);
  const { promise, resolve } = Promise.withResolvers<string>();
  host.stderr.write = (text) => Promise.resolve(resolve(text));
  const log = await openAccessLog(host);
  for (let i = 0; i < 10; i++) log.record(ACCESS);
  expect((await promise).match(/\n/g)).toHaveLength(10);
});

Deno.test("if no process reads standard error, the log keeps 20,000 lines and says how many lines are missing", async () => {
  const { host, release } = blockedHost();
  const log = await openAccessLog(host);
  log.record({ ...ACCESS, requestId: "first" });
  const flushed = log.flush();
  await Promise.resolve();
  for (let i = 0; i < 20_025; i++) log.record(ACCESS);
  release();
  await flushed;
  await log.flush();
  const lines = linesOf(host);
  const counted = lines.filter((line) => typeof line === "object" && line !== null && "message" in line);
  expect(lines.length - counted.length).toBeLessThanOrEqual(20_001);
  expect(counted).toEqual([
    {
      time: expect.any(String),
      level: "warning",
      message: expect.stringMatching(/^2[456] requests are missing from this log/),
    },
  ]);
  log.record({ ...ACCESS, requestId: "afterwards" });
  await log.flush();
  expect(linesOf(host).at(-1)).toMatchObject({ requestId: "afterwards" });
});

Deno.test("a failed write stops neither the log nor the server", async () => {
  const host = new FakeHost(["serve"]);
  const { write } = host.stderr;
  let isBroken = true;
  host.stderr.write = (text) => isBroken ? Promise.reject(new Error("full")) : write.call(host.stderr, text);
  const log = await openAccessLog(host);
  log.record(ACCESS);
  await log.flush();
  isBroken = false;
  log.record({ ...ACCESS, requestId: "afterwards" });
  await log.flush();
  expect(linesOf(host)).toEqual([expect.objectContaining({ requestId: "afterwards" })]);
});
