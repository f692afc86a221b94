/** `request`: what it sends and prints (spec section 4.3). */
import { expect } from "expect";
import { startServer } from "../../client/foreign_server.ts";
import { run } from "../../../src/cli/program.ts";
import { FakeHost, inProcess, withEnv } from "../../program/program.ts";

const ANSWER = '{"data": {"linked":true}}';

function answering(body: string, status = 200): ReturnType<typeof startServer> {
  return startServer(() => new Response(body, { status, headers: { "content-type": "application/json" } }));
}

Deno.test("--body is sent unchanged, with the key as a bearer credential", async () => {
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

Deno.test("--body, --query and --variables read files and standard input", async () => {
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

Deno.test("--json prints the response on one line", async () => {
  await using server = answering('{\r\n  "data": { "a": 12345678901234567890,\n"b": "\\n" }\n}\n');
  const { code, stdout } = await inProcess(["request", "--query", "{ a }", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{ "data": { "a": 12345678901234567890, "b": "\\n" } }\n' });
});

Deno.test("a response that is JSON but not GraphQL is a success (spec 4.3)", async () => {
  await using server = answering('{"ok":true}');
  const { code, stdout } = await inProcess(["request", "--body", "{}"], { env: { SERVICE_API_URL: server.url } });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{"ok":true}\n' });
});

Deno.test("an HTTP error is a failure, and without --json the body is printed too", async () => {
  await using server = answering('{"reason":"broken"}', 500);
  const program = withEnv(inProcess, { SERVICE_API_URL: server.url });
  const plain = await program(["request", "--body", "{}"]);
  expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 4, stdout: '{"reason":"broken"}\n' });
  expect(plain.stderr).toMatch(/HTTP status 500/);
  const json = await program(["request", "--body", "{}", "--json"]);
  expect({ code: json.code, ...JSON.parse(json.stdout) }).toMatchObject({ code: "BAD_RESPONSE" });
});

/** Sends a request with standard output at a terminal, and returns what is printed there. */
async function atTerminal(body: string, ...args: readonly string[]): Promise<string> {
  await using server = answering(body);
  const host = new FakeHost(["request", "--query", "{ a }", ...args], { env: { SERVICE_API_URL: server.url } });
  Object.assign(host.stdout, { isTerminal: () => true });
  await run(host);
  return host.stdout.text;
}

Deno.test("at a terminal, the response is indented, and its numbers and the order of its members stay", async () => {
  const body = '{"data":{"b":[1,{"c":12345678901234567890,"a":"x{\\"[,:"}],"10":[],\r\n"2":{},"a":1.10}}';
  expect(await atTerminal(body)).toBe(`{
  "data": {
    "b": [
      1,
      {
        "c": 12345678901234567890,
        "a": "x{\\"[,:"
      }
    ],
    "10": [],
    "2": {},
    "a": 1.10
  }
}
`);
});

Deno.test("deeply nested JSON does not become much larger when it is indented", async () => {
  const levels = 5000;
  const json = "[".repeat(levels) + "]".repeat(levels);
  const text = await atTerminal(json);
  expect(text.replaceAll(/\s/g, "")).toBe(json);
  expect(text.split("\n").length).toBeGreaterThan(levels);
  expect(text.length).toBeLessThan(levels * 200);
});

/** Sets the title of a terminal window, reverses text, hides a character, and begins a new line (U+2028). */
const HOSTILE = "\u009d0;owned\u0007 \u202egnp\u2066.exe\u200b\u2028";

for (const [what, flags] of [["", []], ["with --json ", ["--json"]]] as const) {
  Deno.test(`at a terminal ${what}the response cannot control the terminal or reorder its text`, async () => {
    const text = await atTerminal(JSON.stringify({ data: `ü ${HOSTILE}` }), ...flags);
    expect(text).not.toMatch(/[^\P{C}\n]|\p{Zl}/u);
    expect(text).toContain("ü \\u009d0;owned\\u0007 \\u202egnp\\u2066.exe\\u200b\\u2028");
    expect(JSON.parse(text)).toEqual({ data: `ü ${HOSTILE}` });
  });
}

Deno.test("at a terminal, a response that is not JSON cannot control the terminal either", async () => {
  const text = await atTerminal(`<html>\r\n\t\u001b[2Jhidden\rshown ${HOSTILE}`);
  expect(text).toBe(
    "<html>\n\t\\u001b[2Jhidden\\u000dshown \\u009d0;owned\\u0007 \\u202egnp\\u2066.exe\\u200b\\u2028\n",
  );
});

Deno.test("in a pipe, the response is printed unchanged", async () => {
  const body = `{"data":  "${HOSTILE.replace("\u0007", "")}"}\r\n`;
  await using server = answering(body);
  const { stdout } = await inProcess(["request", "--query", "{ a }"], { env: { SERVICE_API_URL: server.url } });
  expect(stdout).toBe(body);
});

Deno.test("a response that is not JSON is BAD_RESPONSE", async () => {
  await using server = answering("<html>");
  const { code, stdout } = await inProcess(["request", "--body", "{}", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ code: "BAD_RESPONSE" });
});

for (
  const [what, flags, message] of [
    ["neither --query nor --body", [], /Missing request\. Use --query or --body\./],
    ["both --query and --body", ["--query", "{a}", "--body", "{}"], /--query and --body cannot be combined\./],
    [
      "--variables and --body",
      ["--body", "{}", "--variables", "{}"],
      /--variables works only with --query, not with --body\./,
    ],
    ["an empty query", ["--query", " "], /--query is empty\. Pass a GraphQL document\./],
    ["the query null", ["--query", " null "], /--query is null\. Pass a GraphQL document\./],
    [
      "a body that is not JSON",
      ["--body", "{secret}"],
      /: --body is not valid JSON at position 1 \(line 1 column 2\)\.$/m,
    ],
    ["variables that are not JSON", ["--query", "{a}", "--variables", "secret"], /: --variables is not valid JSON\.$/m],
    ["variables that are a list", ["--query", "{a}", "--variables", "[1]"], /--variables must be a JSON object/],
    ["a missing file", ["--query", "@/nonexistent"], /cannot read "\/nonexistent"/],
  ] as const
) {
  Deno.test(`request with ${what} is a usage error, sends nothing, and prints no part of the query, variables or body`, async () => {
    await using server = answering(ANSWER);
    const { code, stdout, stderr } = await inProcess(["request", ...flags], { env: { SERVICE_API_URL: server.url } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/secret/);
    expect(server.requests).toEqual([]);
  });
}
