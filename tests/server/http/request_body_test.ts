/** Request bodies: the limit on their length, their encoding, and bodies that the server does not read. */
import { expect } from "expect";
import { namesIn } from "../graphql/graphql.ts";
import { Connection } from "./connection.ts";
import { bearer, type HttpTest, type HttpTestOptions, pathOf, withHttp } from "./http_server.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const QUERY = JSON.stringify({ query: "{ __typename }" });
const ANSWER = '{"data":{"__typename":"Query"}}';

interface BodyTest extends HttpTest {
  readonly headers: Readonly<Record<string, string>>;
  /** Posts a body with a valid key. */
  readonly send: (body: BodyInit) => Promise<{ readonly status: number; readonly text: string }>;
}

function withKey(test: (server: BodyTest) => Promise<void>, options?: HttpTestOptions): Promise<void> {
  return withHttp(async (server) => {
    const headers = { ...await bearer(server), ...JSON_TYPE };
    const send: BodyTest["send"] = async (body) => {
      const response = await fetch(server.url, { method: "POST", headers, body });
      return { status: response.status, text: await response.text() };
    };
    await test({ ...server, headers, send });
  }, options);
}

Deno.test("A body of --max-body bytes is accepted and a longer body gets 413, with or without Content-Length", () =>
  withKey(async ({ send }) => {
    const stream = (length: number): BodyInit => {
      const bytes = new TextEncoder().encode(QUERY.padEnd(length));
      return ReadableStream.from([bytes.slice(0, 500), bytes.slice(500)]);
    };
    for (const bodyOf of [(length: number) => QUERY.padEnd(length), stream]) {
      // deno-lint-ignore no-await-in-loop -- only two kinds of bodies
      expect(await send(bodyOf(1000))).toEqual({ status: 200, text: ANSWER });
      // deno-lint-ignore no-await-in-loop -- only two kinds of bodies
      const { status, text } = await send(bodyOf(1001));
      expect([status, JSON.parse(text).errors[0].extensions.code]).toEqual([413, "USAGE"]);
    }
  }, { maxBody: 1000 }));

Deno.test("A request whose Content-Length is too large gets 413 before its body arrives, and the connection stays usable", () =>
  withKey(async ({ url, headers }) => {
    using connection = await Connection.to(url);
    await connection.request("POST", "/graphql", { ...headers, "Content-Length": "3000000" });
    expect((await connection.response()).status).toBe(413);
    await connection.send("x".repeat(3_000_000));
    await connection.request("GET", "/healthz");
    expect((await connection.response()).status).toBe(200);
  }));

Deno.test("A client that streams a body that is too long can read the 413 response", () =>
  withKey(async ({ send }) => {
    const chunk = new Uint8Array(1_000_000).fill(32);
    expect((await send(ReadableStream.from(Array<Uint8Array<ArrayBuffer>>(10).fill(chunk)))).status).toBe(413);
  }));

Deno.test("An endless body gets 413, and the client is disconnected after a timeout", () =>
  withKey(async ({ url, headers }) => {
    using connection = await Connection.to(url);
    await connection.request("POST", "/graphql", { ...headers, "Transfer-Encoding": "chunked" });
    const response = connection.response();
    const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
    const sendForever = (): Promise<void> => connection.send(chunk).then(sendForever);
    await expect(sendForever()).rejects.toThrow();
    expect((await response).status).toBe(413);
    expect(await connection.readToEnd()).toBe("");
  }, { unreadBodyTimeout: 200, requestTimeout: 2000 }));

Deno.test("A request without a key gets 401 before its body arrives, and the client is disconnected after a timeout", () =>
  withHttp(async ({ url }) => {
    using connection = await Connection.to(url);
    await connection.request("POST", "/graphql", { ...JSON_TYPE, "Content-Length": "999999" });
    expect((await connection.response()).status).toBe(401);
    expect(await connection.readToEnd()).toBe("");
  }, { unreadBodyTimeout: 200, requestTimeout: 2000 }));

Deno.test("A body that is not UTF-8 gets 400 and changes nothing", () =>
  withKey(async ({ send, store }) => {
    const query = 'mutation { apiKey { create(input: { name: "ma|de", roles: [ADMIN] }) { id } } }';
    const [before, after] = JSON.stringify({ query }).split("|").map((part) => new TextEncoder().encode(part));
    for (const invalid of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect((await send(new Uint8Array([...before ?? [], ...invalid, ...after ?? []]))).status).toBe(400);
    }
    expect(await namesIn(store)).toEqual(["admin"]);
  }));

Deno.test("HEAD gets the same headers as GET and no body, and the connection stays usable", () =>
  withKey(async ({ url, headers }) => {
    using connection = await Connection.to(url);
    await connection.request("HEAD", pathOf("{ __typename }"), headers);
    const head = await connection.response("HEAD");
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(ANSWER.length)]);
    await connection.request("GET", pathOf("{ __typename }"), headers);
    const get = await connection.response();
    expect([get.status, get.body]).toEqual([200, ANSWER]);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
  }));
