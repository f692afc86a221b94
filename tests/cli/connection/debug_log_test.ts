/** What `LOG_LEVEL=debug` shows of the settings, the target and the requests. */
import { expect } from "expect";
import { logRequests } from "../../../src/cli/connection/debug_log.ts";
import { retry } from "../../../src/client/retry.ts";
import { Failure } from "../../../src/apikey/failure.ts";
import { startServer } from "../../client/foreign_server.ts";
import { configHome, SECRET } from "../config_file/config_home.ts";
import { onPosix } from "../../posix.ts";

const testWithModes = onPosix("file modes");

/** The debug records of a log on standard error, without their times. */
function recordsIn(stderr: string): readonly string[] {
  return stderr.split("\n").filter((line) => line.includes(" DEBUG ")).map((line) => line.replace(/^\S+ DEBUG /, ""));
}

testWithModes(
  "the debug log shows the settings and their sources, the target, each request and the exit code, in this order",
  async () => {
    await using server = startServer(() =>
      Response.json({ data: { me: null } }, { headers: { "x-request-id": "r-1" } })
    );
    await using home = await configHome(`profiles:\n  prod:\n    base-url: ${server.url}\n    timeout: 1m\n`);
    const { stderr } = await home.run(["request", "--profile", "prod", "--query", "query Mine { me { id } }"], {
      env: { LOG_LEVEL: "debug", SERVICE_API_KEY: SECRET },
    });
    expect(recordsIn(stderr).map((line) => line.replace(/after [\d.]+ ms/, "after N ms"))).toEqual([
      expect.stringMatching(/^service-api \d/),
      `Setting config-file: ${home.path} (default)`,
      "Setting profile: prod (--profile)",
      `Setting base-url: ${server.url} (${home.path}:3:15)`,
      "Setting key: … (SERVICE_API_KEY)",
      "Setting key-header: Authorization (default)",
      "Setting allow-http: false (default)",
      `Setting timeout: 1m (${home.path}:4:14)`,
      "Setting max-response-size: 64MB (default)",
      "Setting log-level: debug (LOG_LEVEL)",
      `Target: the server ${server.url} (profile "prod")`,
      "Request 1: query Mine, 36 characters, headers accept, authorization, content-type",
      "Request 1: status 200 after N ms, request id r-1",
      "Exit code 0",
    ]);
  },
);

function recorder(): {
  readonly debug: (message: string, properties?: Readonly<Record<string, unknown>>) => void;
  readonly lines: string[];
} {
  const lines: string[] = [];
  const debug = (message: string, properties: Readonly<Record<string, unknown>> = {}): void => {
    lines.push(message.replaceAll(/\{(\w+)\}/g, (_all, name) => String(properties[name])));
  };
  return { debug, lines };
}

const times = (...values: readonly number[]): () => number => {
  const left = [...values];
  return () => left.shift() ?? 0;
};

for (
  const [body, operation] of [
    ['{"query":"mutation RotateKey($a: Int) { x }"}', "mutation RotateKey"],
    ['{"query":"{ query { id } }"}', "query"],
    ['{"query":"# mutation X\\nfragment F on T { id } query Q { ...F }"}', "query Q"],
    ["[1]", "not GraphQL"],
  ] as const
) {
  Deno.test(`the debug log calls ${body} ${JSON.stringify(operation)}`, async () => {
    const { debug, lines } = recorder();
    const fetch = logRequests(() => Promise.resolve(new Response()), { debug }, times(10, 12.5));
    await fetch(new Request("http://localhost", { method: "POST", body }));
    expect(lines[0]).toContain(`Request 1: ${operation}, ${body.length} characters`);
    expect(lines[1]).toBe("Request 1: status 200 after 2.5 ms");
  });
}

Deno.test("the debug log shows how long a request waited that got no response", async () => {
  const { debug, lines } = recorder();
  const fetch = logRequests(() => Promise.reject(new Error("gone")), { debug }, times(0, 3000));
  await expect(fetch(new Request("http://localhost", { method: "POST", body: "{}" }))).rejects.toThrow("gone");
  expect(lines[1]).toBe("Request 1: no response after 3000.0 ms");
});

Deno.test("the debug log shows why a request is repeated", async () => {
  const { debug, lines } = recorder();
  let count = 0;
  const endpoint = {
    url: "http://localhost/graphql",
    label: "localhost",
    keyRemedy: "",
    knownKeyRemedy: "",
    headers: new Map<string, string>(),
    keySource: undefined,
    loginCommand: "service-api login",
    timeout: 1000,
    maxResponseSize: 1000,
    interrupted: new AbortController().signal,
    debug,
    fetch,
  };
  const request = (): Promise<string> =>
    count++ === 0 ? Promise.reject(new Failure("UNREACHABLE", "Could not reach it.")) : Promise.resolve("done");
  expect(await retry(endpoint, request)).toBe("done");
  expect(lines).toEqual(["Could not reach it. Trying again.", "Waiting 50 ms before the next request."]);
});
