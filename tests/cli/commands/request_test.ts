/** `request`: what is sent and what is printed (spec section 4.3). */
import { expect } from "expect";
import { startServer } from "../../client/foreign_server.ts";
import { inProcess, withEnv } from "../../program/program.ts";

const ANSWER = '{"data": {"linked":true}}';

function answering(body: string, status = 200): ReturnType<typeof startServer> {
  return startServer(() => new Response(body, { status, headers: { "content-type": "application/json" } }));
}

Deno.test("the body with provider and clientId goes through unchanged, with the bearer key", async () => {
  await using server = answering(ANSWER);
  const body = '{ "provider":"github",\n  "clientId" : "\\u00fcber-1" }';
  const outcome = await inProcess(["request", "--body", body], {
    env: { SERVICE_API_URL: server.url, SERVICE_API_KEY: "sak_1" },
  });
  expect(outcome).toEqual({ code: 0, stdout: `${ANSWER}\n`, stderr: "" });
  const [request] = server.requests;
  expect({ ...request, headers: undefined }).toEqual({ method: "POST", path: "/graphql", body, headers: undefined });
  expect(request?.headers.get("authorization")).toBe("Bearer sak_1");
  expect(request?.headers.get("content-type")).toBe("application/json");
});

Deno.test("--body and --query take @file and standard input", async () => {
  await using server = answering(ANSWER);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/body.json`, '{"a":1}');
    await Deno.writeTextFile(`${directory}/query.graphql`, "query Q($n: Int) { a(n: $n) }");
    await program(["request", "--body", `@${directory}/body.json`]);
    await program(["request", "--body", "-"], { stdin: "[1]" });
    await program(["request", "--query", `@${directory}/query.graphql`, "--variables", '{"n":2}']);
    await program(["request", "--query", "{ b }", "--variables", "-"], { stdin: '{"n":3}' });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  expect(server.requests.map(({ body }) => body)).toEqual([
    '{"a":1}',
    "[1]",
    '{"query":"query Q($n: Int) { a(n: $n) }","variables":{"n":2}}',
    '{"query":"{ b }","variables":{"n":3}}',
  ]);
});

Deno.test("--json prints the answer on one line", async () => {
  await using server = answering('{\r\n  "data": { "a": 12345678901234567890,\n"b": "\\n" }\n}\n');
  const { code, stdout } = await inProcess(["request", "--query", "{ a }", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{ "data": { "a": 12345678901234567890, "b": "\\n" } }\n' });
});

Deno.test("an answer of another shape than GraphQL's is a success: the endpoint may be anything (spec 4.3)", async () => {
  await using server = answering('{"ok":true}');
  const { code, stdout } = await inProcess(["request", "--body", "{}"], { env: { SERVICE_API_URL: server.url } });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{"ok":true}\n' });
});

Deno.test("an HTTP error is a failure that still prints the body", async () => {
  await using server = answering('{"reason":"broken"}', 500);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const plain = await program(["request", "--body", "{}"]);
  expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 4, stdout: '{"reason":"broken"}\n' });
  expect(plain.stderr).toMatch(/HTTP status 500/);
  const json = await program(["request", "--body", "{}", "--json"]);
  expect({ code: json.code, ...JSON.parse(json.stdout) }).toMatchObject({ code: "BAD_RESPONSE" });
});

Deno.test("an answer that is not JSON is BAD_RESPONSE", async () => {
  await using server = answering("<html>");
  const { code, stdout } = await inProcess(["request", "--body", "{}", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ code: "BAD_RESPONSE" });
});

for (
  const [what, flags, message] of [
    ["neither --query nor --body", [], /either --query or --body/],
    ["both --query and --body", ["--query", "{a}", "--body", "{}"], /not both/],
    ["--variables with --body", ["--body", "{}", "--variables", "{}"], /goes with --query/],
    ["an empty query", ["--query", " "], /--query is empty/],
    ["a body that is not JSON", ["--body", "{a}"], /--body is not JSON/],
    ["variables that are not JSON", ["--query", "{a}", "--variables", "x"], /--variables is not JSON/],
    ["variables that are no object", ["--query", "{a}", "--variables", "[1]"], /takes a JSON object/],
    ["a file that is not there", ["--query", "@/nonexistent"], /cannot read "\/nonexistent"/],
  ] as const
) {
  Deno.test(`${what} is a usage error and nothing is sent`, async () => {
    await using server = answering(ANSWER);
    const { code, stdout, stderr } = await inProcess(["request", ...flags], { env: { SERVICE_API_URL: server.url } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(server.requests).toEqual([]);
  });
}
