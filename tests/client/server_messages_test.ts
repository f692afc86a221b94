/** How the program reports the errors of other people's servers. */
import { expect } from "expect";
import type { Outcome } from "../execute.ts";
import { inProcess } from "../program/program.ts";
import { startServer } from "./foreign_server.ts";

const KEY = "other_0123456789abcdef";
const REMEDY =
  "The key is in SERVICE_API_KEY. Set a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login.";
const HEADER_REMEDY = "If the server expects the bare key in another header, use --key-header x-api-key.";

/** Creates a key on a server that sends the response, and returns the failure. */
async function failureFor(
  response: Response,
  args: readonly string[] = [],
): Promise<Pick<Outcome, "code"> & { readonly failure: { readonly code: string; readonly error: string } }> {
  await using server = startServer(() => response.clone());
  const env = { SERVICE_API_URL: server.url, SERVICE_API_KEY: KEY };
  const create = ["apikey", "--create", "--name", "new", "--roles", "GUEST", "--overwrite", "--json"];
  const { code, stdout, stderr } = await inProcess([...create, ...args], { env });
  expect(stderr).toBe("");
  return { code, failure: JSON.parse(stdout) };
}

/** A response with GraphQL errors. */
function errors(messages: readonly string[], code?: string, init?: ResponseInit): Response {
  const extensions = code === undefined ? {} : { code };
  return Response.json({ data: null, errors: messages.map((message) => ({ message, extensions })) }, init);
}

for (
  const [what, messages, expected] of [
    ["without a full stop", ["It said no"], "It said no."],
    ["with an end mark", ["Why?"], "Why?"],
    ["with a quoted end mark", ['It said "no."'], 'It said "no."'],
    ["with white space at its end", ["It said no. \n"], "It said no."],
    ["in another script", ["キーがありません。"], "キーがありません。"],
    ["of several errors", ["One", " ", "Two."], "One. Two."],
    ["that is empty", [""], "The server reported an error without a message. Check the server's log."],
    ["of white space", [" \n"], "The server reported an error without a message. Check the server's log."],
    ["of 3000 letters", ["a".repeat(3000)], `${"a".repeat(2000)}…`],
  ] as const
) {
  Deno.test(`a server's message ${what} is shown as ${JSON.stringify(expected.slice(0, 60))}`, async () => {
    expect((await failureFor(errors(messages))).failure).toEqual({ code: "FAILED", error: expected });
  });
}

for (
  const [what, response] of [
    ["status 401 and a message", errors(["API key validation failed"], "UNAUTHENTICATED", { status: 401 })],
    ["status 200 and a message", errors(["API key validation failed"], "UNAUTHENTICATED")],
    ["a message about CSRF", errors(["API key validation failed", "Invalid CSRF token"])],
  ] as const
) {
  Deno.test(`if a server refuses a bearer token with ${what}, the advice names --key-header`, async () => {
    const { code, failure } = await failureFor(response);
    expect(code).toBe(3);
    expect(failure.code).toBe("UNAUTHENTICATED");
    expect(failure.error).toMatch(/^API key validation failed\. /);
    expect(failure.error.slice(-REMEDY.length - HEADER_REMEDY.length - 2)).toBe(` ${REMEDY} ${HEADER_REMEDY}`);
  });
}

for (const [status, body] of [[401, "<html>"], [403, '{"message":"Invalid CSRF token"}']] as const) {
  Deno.test(`if a server refuses a bearer token with status ${status} and the body ${body}, the advice names --key-header`, async () => {
    const { code, failure } = await failureFor(new Response(body, { status }));
    expect({ code, failure: failure.code }).toEqual({ code: 3, failure: "UNAUTHENTICATED" });
    expect(failure.error).toMatch(new RegExp(`answered with HTTP status ${status}\\. ${REMEDY} ${HEADER_REMEDY}$`));
  });
}

Deno.test("if a server does not find the key in the header of --key-header, the failure is UNAUTHENTICATED", async () => {
  const { code, failure } = await failureFor(errors(["Invalid CSRF token"]), ["--key-header", "x-api-key"]);
  expect(code).toBe(3);
  expect(failure).toEqual({ code: "UNAUTHENTICATED", error: `Invalid CSRF token. ${REMEDY}` });
});

Deno.test("the advice names --key-header only if the key was sent as a bearer token, and the server did not ask for one", async () => {
  const refusal = (headers: Record<string, string>): Response =>
    errors(["No such key"], "UNAUTHENTICATED", { status: 401, headers });
  const inHeader = await failureFor(refusal({}), ["--key-header", "x-api-key"]);
  const challenged = await failureFor(refusal({ "www-authenticate": 'Bearer realm="keys"' }));
  for (const { code, failure } of [inHeader, challenged]) {
    expect({ code, failure }).toEqual({
      code: 3,
      failure: { code: "UNAUTHENTICATED", error: `No such key. ${REMEDY}` },
    });
  }
});

for (
  const [what, headers, wait] of [
    ["a number of seconds", { "retry-after": "17" }, "Wait 17 s, then try again."],
    [
      "a date",
      { "retry-after": "Sun, 06 Nov 1994 08:51:00 GMT", date: "Sun, 06 Nov 1994 08:49:37 GMT" },
      "Wait 83 s, then try again.",
    ],
    ["nothing", {}, "Wait a moment, then try again."],
    [
      "a date more than a day later",
      { "retry-after": "Tue, 08 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:49:37 GMT" },
      "Try again after 1994-11-08T08:49:37Z.",
    ],
    [
      "more seconds than a day has",
      { "retry-after": "86401", date: "Sun, 06 Nov 1994 08:49:37 GMT" },
      "Try again after 1994-11-07T08:49:38Z.",
    ],
    [
      "a date that RFC 3339 cannot express",
      { "retry-after": "1 Jan 10000 00:00:00 GMT" },
      "Wait a moment, then try again.",
    ],
    ["neither seconds nor a date", { "retry-after": "soon" }, "Wait a moment, then try again."],
  ] as const
) {
  Deno.test(`a server's 429 is RATE_LIMITED, and if Retry-After is ${what}, the message says: ${wait}`, async () => {
    const init = { status: 429, headers };
    const withoutGraphql = await failureFor(new Response("slow down", init));
    expect(withoutGraphql.code).toBe(4);
    expect(withoutGraphql.failure.code).toBe("RATE_LIMITED");
    expect(withoutGraphql.failure.error).toMatch(new RegExp(`answered with HTTP status 429\\. ${wait}$`));

    const withGraphql = await failureFor(errors(["Too many keys"], "UNAUTHENTICATED", init));
    expect(withGraphql).toEqual({ code: 4, failure: { code: "RATE_LIMITED", error: `Too many keys. ${wait}` } });
  });
}

Deno.test("if the message of a 429 says when to try again, no second sentence repeats it", async () => {
  const message = "Too many requests from this address had no valid key. Try again in 60 s.";
  const init = { status: 429, headers: { "retry-after": "60" } };
  const { failure } = await failureFor(errors([message], "RATE_LIMITED", init));
  expect(failure).toEqual({ code: "RATE_LIMITED", error: message });
});

Deno.test("a server on the network cannot make the program exit as if the user had interrupted it", async () => {
  const { code, failure } = await failureFor(errors(["Interrupted by Ctrl-C"], "INTERRUPTED"));
  expect({ code, failure }).toEqual({ code: 1, failure: { code: "FAILED", error: "Interrupted by Ctrl-C." } });
});

Deno.test("a redirect names the new address", async () => {
  const { failure } = await failureFor(
    new Response(null, { status: 308, headers: { location: "https://new.example/" } }),
  );
  expect(failure.error).toMatch(/, a redirect to https:\/\/new\.example\/\. Set SERVICE_API_URL to the new address\.$/);
});

Deno.test("a body cannot replace the HTTP status of its response", async () => {
  const body = { status: 200, data: {}, headers: {}, mayChange: false };
  await using server = startServer(() => Response.json(body, { status: 500 }));
  const { code, stdout } = await inProcess(["request", "--query", "{a}", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(4);
  expect(JSON.parse(stdout).error).toMatch(/HTTP status 500/);
});
