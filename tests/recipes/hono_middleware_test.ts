/** `gate/hono_middleware.ts`: a Hono app that asks `/introspect`. */
import { expect } from "expect";
import { Hono } from "hono";
import { guard } from "../../scripts/recipes/gate/hono_middleware.ts";
import { type HttpTest, withHttp } from "../server/http/http_server.ts";

const CHALLENGE = 'Bearer realm="service-api"';

interface Outcome {
  readonly status: number;
  readonly challenge: string | null;
  readonly text: string;
}

/** Runs a test with an app whose route needs DOCKER:READ_ANY. The app's own key has the given permission. */
function withApp(
  permission: string,
  test: (server: HttpTest, get: (key?: string) => Promise<Outcome>) => Promise<void>,
): Promise<void> {
  return withHttp(async (server) => {
    const needs = guard(new URL(server.url).origin, (await server.keyWith(permission)).key);
    const app = new Hono().get("/orders", needs("DOCKER:READ_ANY"), (c) => c.text(`Hello, ${c.var.caller.username}.`));
    await test(server, async (key) => {
      const response = await app.request(
        "/orders",
        key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } },
      );
      return {
        status: response.status,
        challenge: response.headers.get("www-authenticate"),
        text: await response.text(),
      };
    });
  });
}

Deno.test("the Hono middleware passes on requests with a key that has the permissions, and says whose key it is", () =>
  withApp("PERMISSION:READ_ANY", async ({ create }, get) => {
    const { key } = await create({ name: "the shop", roles: ["VIEWER"] });
    expect(await get(key)).toEqual({ status: 200, challenge: null, text: "Hello, the shop." });
  }));

Deno.test("the Hono middleware rejects requests without a valid key and with a key that lacks a permission", () =>
  withApp("PERMISSION:READ_ANY", async ({ keyWith }, get) => {
    const { key } = await keyWith("LOGS:READ_ANY");
    expect(await get()).toMatchObject({ status: 401, challenge: CHALLENGE });
    expect(await get("wrong")).toMatchObject({ status: 401, challenge: `${CHALLENGE}, error="invalid_token"` });
    expect(await get(key)).toMatchObject({
      status: 403,
      challenge: `${CHALLENGE}, error="insufficient_scope", scope="DOCKER:READ_ANY"`,
    });
  }));

Deno.test("the Hono middleware answers 503 if it is not allowed to check keys, or if the server is down", () =>
  withApp("LOGS:READ_ANY", async ({ server, keyWith }, get) => {
    const { key } = await keyWith("DOCKER:READ_ANY");
    expect(await get(key)).toMatchObject({ status: 503, challenge: null });
    await server.stop(1000);
    expect(await get(key)).toMatchObject({ status: 503, challenge: null });
  }));
