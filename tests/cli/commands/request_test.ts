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

/** A run of `request` with standard output at a terminal. */
async function runAtTerminal(
  body: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = { NO_COLOR: "1" },
): Promise<{ readonly text: string; readonly longestWrite: number }> {
  await using server = answering(body);
  const host = new FakeHost(["request", "--query", "{ a }", ...args], { env: { SERVICE_API_URL: server.url, ...env } });
  let longestWrite = 0;
  const write = host.stdout.write.bind(host.stdout);
  Object.assign(host.stdout, {
    isTerminal: () => true,
    write: (text: string) => {
      longestWrite = Math.max(longestWrite, text.length);
      return write(text);
    },
  });
  await run(host);
  return { text: host.stdout.text, longestWrite };
}

/** Returns what `request` prints at a terminal without colours. */
async function atTerminal(body: string, ...args: readonly string[]): Promise<string> {
  return (await runAtTerminal(body, args)).text;
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

Deno.test("at a terminal, names, strings, numbers and null have different colours", async () => {
  const { text } = await runAtTerminal('{"a" : ["b:", -1.5e3, true, null, {}]}', [], {});
  const escape = "\x1b";
  expect(text).toBe(`{
  ${escape}[36m"a"${escape}[39m: [
    ${escape}[32m"b:"${escape}[39m,
    ${escape}[33m-1.5e3${escape}[39m,
    ${escape}[33mtrue${escape}[39m,
    ${escape}[2mnull${escape}[22m,
    {}
  ]
}
`);
});

for (
  const [what, env, args] of [
    ["in the terminal type dumb", { TERM: "dumb" }, []],
    ["with --json", {}, ["--json"]],
  ] as const
) {
  Deno.test(`${what}, a response at a terminal has no colours`, async () => {
    const { text } = await runAtTerminal('{"data":1}', args, env);
    expect(text).toBe(args.length === 0 ? '{\n  "data": 1\n}\n' : '{"data":1}\n');
  });
}

/** More than fits into one write, with characters and line breaks of two UTF-16 code units. */
const LARGE = "\u{1f511}x\r\n".repeat(200_000);

Deno.test("a large response is written in pieces, and arrives unchanged", async () => {
  const json = JSON.stringify({ data: [LARGE, ...Array.from({ length: 50_000 }, (_, i) => i)] });
  const { text, longestWrite } = await runAtTerminal(json);
  expect(JSON.parse(text)).toEqual(JSON.parse(json));
  expect(longestWrite).toBeLessThan(json.length / 2);
  // A piece could otherwise end between the code units of a character or, with the second prefix, of a line break.
  for (const prefix of ["", "xx"]) {
    // deno-lint-ignore no-await-in-loop -- one run after the other
    const plain = await runAtTerminal(prefix + LARGE);
    expect(plain.text).toBe(prefix + LARGE.replaceAll("\r\n", "\n"));
    expect(plain.longestWrite).toBeLessThan(LARGE.length / 2);
  }
  await using server = answering(LARGE);
  const { stdout } = await inProcess(["request", "--query", "{ a }"], { env: { SERVICE_API_URL: server.url } });
  expect(stdout).toBe(LARGE);
});

Deno.test("Ctrl-C ends a response that nothing reads, and the message says that the request was executed", async () => {
  await using server = answering(ANSWER);
  const host = new FakeHost(["request", "--query", "{ a }"], { env: { SERVICE_API_URL: server.url } });
  host.stdout.write = () => {
    queueMicrotask(() => host.handlers.get("SIGINT")?.());
    return new Promise(() => {});
  };
  expect(await run(host)).toBe(130);
  expect(host.stderr.text).toBe(
    "service-api: Interrupted while printing the response. The server has already answered the request.\n",
  );
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
