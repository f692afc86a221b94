/** GraphQL over HTTP to the letter, on a real socket: https://graphql.github.io/graphql-over-http/draft/. */
import { expect } from "expect";
import { serverAudits } from "graphql-http";
import { Connection } from "../http/connection.ts";
import { type HttpTest, type HttpTestOptions, withHttp } from "../http/http_server.ts";
import { keysIn } from "./graphql.ts";

const QUERY = JSON.stringify({ query: "{ __typename }" });
const MUTATION = 'mutation { apiKey { create(input: { name: "made", roles: [ADMIN] }) { id } } }';
const JSON_TYPE = "application/json";
const ALLOWED = "GET, HEAD, POST, OPTIONS";

/** Sends one request, with a good key unless the headers say otherwise. */
type Send = (init: RequestInit, search?: string) => Promise<Response>;

function withKey(
  test: (server: HttpTest & { readonly send: Send; readonly secret: string }) => Promise<void>,
  options?: HttpTestOptions,
): Promise<void> {
  return withHttp(async (server) => {
    const { key: secret } = await server.create({ name: "admin", roles: ["ADMIN"] });
    const send: Send = (init, search = "") => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${secret}`);
      return fetch(`${server.url}${search}`, { ...init, headers });
    };
    await test({ ...server, send, secret });
  }, options);
}

/** Bytes: a body for which `fetch` makes up no type. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

async function expectRefusal(response: Response, status: number, code = "USAGE"): Promise<void> {
  const { errors, data } = await response.json();
  expect({ status: response.status, code: errors[0].extensions.code }).toEqual({ status, code });
  expect(errors[0].message).not.toBe("");
  expect(data).toBeUndefined();
  expect(response.headers.get("content-type")).toMatch(/^application\/(graphql-response\+)?json; charset=utf-8$/);
  expect(response.headers.get("cache-control")).toBe("no-store");
}

Deno.test("every audit of graphql-http passes, without an error, a warning or a notice", () =>
  withKey(async ({ url, secret }) => {
    const audits = serverAudits({
      url,
      fetchFn: async (at: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers);
        headers.set("authorization", `Bearer ${secret}`);
        const body = typeof init.body === "string" ? bytes(init.body) : null;
        const response = await fetch(at, { ...init, headers, body });
        // Not every audit reads the body.
        return new Response(await response.bytes(), response);
      },
    });
    const results = await Promise.all(audits.map(async ({ fn, id, name }) => ({ id, name, result: await fn() })));
    const failed = results.filter(({ result }) => result.status !== "ok");
    expect(failed.map(({ id, name, result }) => `${id} ${name}: ${result.status}`)).toEqual([]);
    expect(results.length).toBeGreaterThan(50);
  }));

for (const accept of ["application/graphql-response+json", "application/json", "*/*"]) {
  Deno.test(`HEAD with Accept: ${accept} is answered as GET, without the body`, () =>
    withKey(async ({ send }) => {
      const search = "?query={me{name}}";
      const get = await send({ headers: { accept } }, search);
      const head = await send({ method: "HEAD", headers: { accept } }, search);
      expect(get.status).toBe(200);
      const text = await get.text();
      expect(await head.text()).toBe("");
      expect(head.status).toBe(200);
      for (const name of ["content-type", "cache-control"]) expect(head.headers.get(name)).toBe(get.headers.get(name));
      expect(head.headers.get("content-length")).toBe(String(text.length));
    }));
}

Deno.test("a connection goes on after HEAD", () =>
  withKey(async ({ url, secret }) => {
    using connection = await Connection.to(url);
    const headers = { Authorization: `Bearer ${secret}` };
    await connection.request("HEAD", "/graphql?query={__typename}", headers);
    expect(await connection.response("HEAD")).toMatchObject({ status: 200, body: "" });
    await connection.request("GET", "/graphql?query={__typename}", headers);
    expect(await connection.response()).toMatchObject({ status: 200, body: '{"data":{"__typename":"Query"}}' });
  }));

Deno.test("OPTIONS is answered with 204 and the methods there are, with or without a key", () =>
  withKey(async ({ send, url }) => {
    for (const response of [await send({ method: "OPTIONS" }), await fetch(url, { method: "OPTIONS" })]) {
      expect(response.status).toBe(204);
      expect(response.headers.get("allow")).toBe(ALLOWED);
      expect(response.body).toBe(null);
    }
  }));

Deno.test("no origin but its own is told that it may ask: there are no CORS headers", () =>
  withKey(async ({ send }) => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const responses = [await send({ method: "OPTIONS", headers }), await send({ headers }, "?query={__typename}")];
    const names = responses.flatMap((response) => [...response.headers.keys()]);
    await Promise.all(responses.map((response) => response.body?.cancel()));
    expect(names.filter((name) => name.startsWith("access-control-"))).toEqual([]);
  }));

for (const method of ["PUT", "DELETE", "PATCH"]) {
  Deno.test(`${method} is refused with 405 and the methods there are, with or without a key`, () =>
    withKey(async ({ send, url }) => {
      const init = { method, headers: { "content-type": JSON_TYPE }, body: QUERY };
      for (const response of [await send(init), await fetch(url, init)]) {
        expect(response.headers.get("allow")).toBe(ALLOWED);
        // deno-lint-ignore no-await-in-loop -- two of them
        await expectRefusal(response, 405);
      }
    }));
}

for (
  const type of [
    "text/plain",
    "text/plain; charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    "application/jsonp",
    "application/graphql",
    "text/json",
    undefined,
  ]
) {
  Deno.test(`a POST of ${type ?? "no type"} is refused with 415, and nothing is done`, () =>
    withKey(async ({ send, store }) => {
      const headers: HeadersInit = type === undefined ? {} : { "content-type": type };
      await expectRefusal(
        await send({ method: "POST", headers, body: bytes(JSON.stringify({ query: MUTATION })) }),
        415,
      );
      expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
    }));
}

Deno.test("a form in the encoding of forms does nothing, in its body as little as in its URL", () =>
  withKey(async ({ send, store }) => {
    const fields = new URLSearchParams({ query: MUTATION });
    await expectRefusal(await send({ method: "POST", body: fields }), 415);
    await expectRefusal(await send({ method: "POST", body: fields }, `?${fields}`), 415);
    const form = new FormData();
    form.set("operations", JSON.stringify({ query: MUTATION }));
    form.set("query", MUTATION);
    await expectRefusal(await send({ method: "POST", body: form }), 415);
    expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
  }));

for (const type of ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8"]) {
  Deno.test(`a POST of ${type} is taken`, () =>
    withKey(async ({ send }) => {
      const response = await send({ method: "POST", headers: { "content-type": type }, body: QUERY });
      expect(await response.json()).toEqual({ data: { __typename: "Query" } });
    }));
}

Deno.test("a body of just --max-body bytes is taken, and one of a byte more refused with 413", () =>
  withKey(async ({ send }) => {
    const post = (length: number): Promise<Response> =>
      send({ method: "POST", headers: { "content-type": JSON_TYPE }, body: QUERY.padEnd(length) });
    expect(await (await post(1000)).json()).toEqual({ data: { __typename: "Query" } });
    await expectRefusal(await post(1001), 413);
  }, { maxBody: 1000 }));

Deno.test("a body without a length is taken up to --max-body bytes, and a longer one refused with 413", () =>
  withKey(async ({ send }) => {
    const post = (length: number): Promise<Response> => {
      const half = Math.floor(length / 2);
      const all = bytes(QUERY.padEnd(length));
      const body = ReadableStream.from([all.slice(0, half), all.slice(half)]);
      return send({ method: "POST", headers: { "content-type": JSON_TYPE }, body });
    };
    expect(await (await post(1000)).json()).toEqual({ data: { __typename: "Query" } });
    await expectRefusal(await post(1001), 413);
  }, { maxBody: 1000 }));

Deno.test("a body of 8 MB is refused with 413 before it is read", () =>
  withKey(async ({ url, secret }) => {
    using connection = await Connection.to(url);
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": JSON_TYPE, "Content-Length": "8000000" };
    await connection.request("POST", "/graphql", headers);
    const { status, body } = await connection.response();
    expect(status).toBe(413);
    expect(JSON.parse(body).errors[0].extensions.code).toBe("USAGE");
    // Who sends it all the same loses nothing but the time.
    await connection.send("x".repeat(8_000_000));
    await connection.request("GET", "/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test("a client that streams 20 MB gets to read that this is refused", () =>
  withKey(async ({ url, secret }) => {
    const chunk = new Uint8Array(1_000_000).fill(32);
    const body = ReadableStream.from(Array<Uint8Array<ArrayBuffer>>(20).fill(chunk));
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": JSON_TYPE };
    const response = await fetch(url, { method: "POST", headers, body });
    expect(response.status).toBe(413);
    await response.body?.cancel();
  }));

Deno.test("an endless body without a length is refused with 413 and cut off", () =>
  withKey(async ({ url, secret }) => {
    using connection = await Connection.to(url);
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": JSON_TYPE, "Transfer-Encoding": "chunked" };
    await connection.request("POST", "/graphql", headers);
    const answer = connection.response();
    const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
    const sendOn = (): Promise<void> => connection.send(chunk).then(sendOn);
    await expect(sendOn()).rejects.toThrow();
    expect((await answer).status).toBe(413);
    expect(await connection.end()).toBe("");
  }));

Deno.test("without a key a body is not even read: the answer is 401", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("POST", "/graphql", { "Content-Type": JSON_TYPE, "Content-Length": "999999" });
    expect((await connection.response()).status).toBe(401);
    expect(await connection.end()).toBe("");
  }));

Deno.test("a body that is not UTF-8 is refused with 400, and nothing is done", () =>
  withKey(async ({ send, store }) => {
    const [before = "", after = ""] = JSON.stringify({ query: MUTATION.replace("made", "ma|de") }).split("|");
    for (const wrong of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const body = new Uint8Array([...bytes(before), ...wrong, ...bytes(after)]);
      // deno-lint-ignore no-await-in-loop -- a short list
      await expectRefusal(await send({ method: "POST", headers: { "content-type": JSON_TYPE }, body }), 400);
    }
    expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
  }));

for (
  const [what, body] of [
    ["a list of operations", JSON.stringify([{ query: MUTATION }, { query: MUTATION }])],
    ["a list of one operation", JSON.stringify([{ query: MUTATION }])],
    ["an empty list", " \n[]"],
    ["no JSON", "{"],
    ["nothing", ""],
    ["a number", "7"],
    ["null", "null"],
    ["an object without a query", "{}"],
    ["a query that is no text", '{"query":7}'],
    ["variables that are a list", '{"query":"{__typename}","variables":[]}'],
    ["variables that are a text", '{"query":"{__typename}","variables":"{}"}'],
    ["an operation name that is no text", '{"query":"{__typename}","operationName":7}'],
    ["extensions that are no object", '{"query":"{__typename}","extensions":7}'],
  ] as const
) {
  Deno.test(`a body that is ${what} is refused with 400`, () =>
    withKey(async ({ send, store }) => {
      const responses = await Promise.all(
        [JSON_TYPE, "application/graphql-response+json"].map((accept) =>
          send({ method: "POST", headers: { "content-type": JSON_TYPE, accept }, body: bytes(body) })
        ),
      );
      await Promise.all(responses.map((response) => expectRefusal(response, 400)));
      expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
    }));
}

Deno.test("who sends a list of operations is told to send one at a time", () =>
  withKey(async ({ send }) => {
    const body = JSON.stringify([{ query: "{ __typename }" }]);
    const response = await send({ method: "POST", headers: { "content-type": JSON_TYPE }, body });
    const { errors } = await response.json();
    expect(errors[0].message).toBe("This server takes one operation a request, not a list of them.");
  }));

Deno.test("a URL without a query, or with variables that are no JSON, is refused with 400", () =>
  withKey(async ({ send }) => {
    await expectRefusal(await send({}), 400);
    await expectRefusal(await send({}, "?operationName=a"), 400);
    await expectRefusal(await send({}, "?query={__typename}&variables={"), 400);
    await expectRefusal(await send({}, "?query={__typename}&variables=7"), 400);
  }));

Deno.test("documents at fault are refused with 400 in the new media type, and with 200 in the old one", () =>
  withKey(async ({ send }) => {
    const post = (query: string, accept: string): Promise<Response> =>
      send({ method: "POST", headers: { "content-type": JSON_TYPE, accept }, body: JSON.stringify({ query }) });
    await Promise.all(["{", "{ nonsense }", "query A { me { id } } query B { me { id } }"].map(async (query) => {
      await expectRefusal(await post(query, "application/graphql-response+json"), 400);
      await expectRefusal(await post(query, JSON_TYPE), 200);
    }));
  }));

for (const accept of ["text/html", "application/xml, text/*", "application/json; charset=latin1", "image/png;q=1"]) {
  Deno.test(`Accept: ${accept} is refused with 406`, () =>
    withKey(async ({ send }) => {
      await expectRefusal(
        await send({ method: "POST", headers: { "content-type": JSON_TYPE, accept }, body: QUERY }),
        406,
      );
      await expectRefusal(await send({ headers: { accept } }, "?query={__typename}"), 406);
    }));
}

Deno.test("a mutation over GET is refused with 405 and what takes it, and changes nothing; HEAD neither", () =>
  withKey(async ({ send, store }) => {
    const search = `?query=${encodeURIComponent(MUTATION)}`;
    const response = await send({}, search);
    expect(response.headers.get("allow")).toBe("POST");
    await expectRefusal(response, 405);
    const head = await send({ method: "HEAD" }, search);
    expect([head.status, head.headers.get("allow"), await head.text()]).toEqual([405, "POST", ""]);
    const chosen = `?query=${
      encodeURIComponent(`query Look { me { id } } ${MUTATION.replace("mutation", "mutation Make")}`)
    }`;
    await expectRefusal(await send({}, `${chosen}&operationName=Make`), 405);
    expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
    expect(await (await send({}, `${chosen}&operationName=Look`)).json()).toMatchObject({ data: { me: {} } });
  }));

Deno.test("a query in the URL of a POST does not count", () =>
  withKey(async ({ send, store }) => {
    const search = `?query=${encodeURIComponent(MUTATION)}`;
    const body = JSON.stringify({ query: "{ me { name } }" });
    const response = await send({ method: "POST", headers: { "content-type": JSON_TYPE }, body }, search);
    expect(await response.json()).toEqual({ data: { me: { name: "admin" } } });
    expect((await keysIn(store)).map(({ name }) => name)).toEqual(["admin"]);
  }));

Deno.test("subscriptions are refused", () =>
  withKey(async ({ send }) => {
    const headers = { "content-type": JSON_TYPE, accept: "application/graphql-response+json" };
    await expectRefusal(
      await send({ method: "POST", headers, body: JSON.stringify({ query: "subscription { a }" }) }),
      400,
    );
  }));

Deno.test("without a key the refusal is JSON of the type that is accepted, and no cache keeps it", () =>
  withHttp(async ({ url }) => {
    const accepted = await fetch(url, { headers: { accept: "application/graphql-response+json" } });
    expect(accepted.headers.get("content-type")).toBe("application/graphql-response+json; charset=utf-8");
    await expectRefusal(accepted, 401, "UNAUTHENTICATED");
    const any = await fetch(url);
    expect(any.headers.get("content-type")).toBe("application/json; charset=utf-8");
    await expectRefusal(any, 401, "UNAUTHENTICATED");
  }));

Deno.test("answers, too, are kept by no cache, and their type is not to be guessed", () =>
  withKey(async ({ send, at }) => {
    const post = { method: "POST", headers: { "content-type": JSON_TYPE } };
    const responses = await Promise.all([
      send({}, "?query={__typename}"),
      send({ ...post, body: QUERY }),
      send({ ...post, body: JSON.stringify({ query: MUTATION }) }),
      send({ ...post, body: JSON.stringify({ query: '{ apiKeysByName(name: "-") { id } }' }) }),
    ]);
    for (const { headers } of responses) {
      expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
    }
    const elsewhere = await fetch(at("/elsewhere"));
    expect([elsewhere.status, elsewhere.headers.get("cache-control")]).toEqual([404, "no-store"]);
    await Promise.all([...responses, elsewhere].map((response) => response.body?.cancel()));
  }));
