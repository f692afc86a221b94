/** `/healthz` and `/readyz`: for those who watch the server. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { Connection } from "./connection.ts";
import { type HttpTest, withHttp } from "./http_server.ts";
import { until } from "../until.ts";

interface Probed extends HttpTest {
  /** How often the store was asked. */
  readonly asked: () => number;
}

/** Runs a test over a store that answers or does not. */
function withStoreThat(isAway: boolean, test: (server: Probed) => Promise<void>): Promise<void> {
  let asked = 0;
  const isEmpty = (): Promise<boolean> => {
    asked++;
    return isAway ? Promise.reject(new Failure("UNREACHABLE", "The store is gone.")) : Promise.resolve(true);
  };
  return withHttp((server) => test({ ...server, asked: () => asked }), {
    wrap: (store) =>
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) => name === "isEmpty" ? isEmpty : target[name].bind(target),
      }),
  });
}

for (const path of ["/healthz", "/readyz"]) {
  Deno.test(`${path} is answered with 200, without a key, and with nothing to find out`, () =>
    withStoreThat(false, async ({ at }) => {
      const response = await fetch(at(path));
      expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-store");
    }));

  Deno.test(`${path} with a query is ${path}`, () =>
    withStoreThat(false, async ({ at }) => {
      const response = await fetch(at(`${path}?a=b`));
      expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
    }));

  Deno.test(`HEAD ${path} is answered as GET, without the body`, () =>
    withStoreThat(false, async ({ at }) => {
      const response = await fetch(at(path), { method: "HEAD" });
      expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "3", ""]);
    }));

  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    Deno.test(`${method} ${path} is refused with 405`, () =>
      withStoreThat(false, async ({ at, asked }) => {
        const response = await fetch(at(path), { method });
        await response.body?.cancel();
        expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
        expect(asked()).toBe(0);
      }));
  }
}

Deno.test("while the store is away the server is not ready, but alive, and says when to ask again", () =>
  withStoreThat(true, async ({ at, errorLog }) => {
    const [ready, health] = await Promise.all([fetch(at("/readyz")), fetch(at("/healthz"))]);
    expect([ready.status, ready.headers.get("retry-after"), await ready.text()]).toEqual([
      503,
      "1",
      "The store is away.\n",
    ]);
    expect([health.status, await health.text()]).toEqual([200, "ok\n"]);
    expect(errorLog).toHaveLength(1);
  }));

Deno.test("however many ask, the store is asked once a second at most", () =>
  withStoreThat(true, async ({ at, asked, errorLog }) => {
    const start = performance.now();
    const probe = async (): Promise<number> => {
      const response = await fetch(at("/readyz"));
      await response.body?.cancel();
      return response.status;
    };
    const statuses = await Promise.all(Array.from({ length: 50 }, probe));
    expect(new Set(statuses)).toEqual(new Set([503]));
    await until(async () => await probe() === 503 && asked() > 1);
    const seconds = (performance.now() - start) / 1000;
    expect(seconds).toBeGreaterThan(1);
    expect(asked()).toBeLessThanOrEqual(1 + Math.floor(seconds));
    expect(errorLog).toHaveLength(asked());
  }));

Deno.test("a store that is back makes the server ready again", () => {
  let isAway = true;
  return withHttp(async ({ at }) => {
    const probe = async (): Promise<number> => {
      const response = await fetch(at("/readyz"));
      await response.body?.cancel();
      return response.status;
    };
    expect(await probe()).toBe(503);
    isAway = false;
    await until(async () => await probe() === 200);
  }, {
    wrap: (store) =>
      new Proxy<KeyStore>(store, {
        get: (target, name: keyof KeyStore) =>
          name === "isEmpty" && isAway ? () => Promise.reject(new Error("away")) : target[name].bind(target),
      }),
  });
});

Deno.test("failures to authenticate are not held against who watches the server", () =>
  withHttp(async ({ url, at }) => {
    const status = async (of: string): Promise<number> => {
      const response = await fetch(of);
      await response.body?.cancel();
      return response.status;
    };
    expect([await status(url), await status(url), await status(at("/healthz")), await status(at("/readyz"))]).toEqual([
      401,
      429,
      200,
      200,
    ]);
  }, { maxAuthFailures: 1 }));

Deno.test("paths beside these and /graphql are answered with 404", () =>
  withStoreThat(false, async ({ at }) => {
    for (const path of ["/", "/healthz/", "/Healthz", "/graphql/", "/graphql/x", "/../graphql%00", "//healthz"]) {
      // deno-lint-ignore no-await-in-loop -- a short list
      using connection = await Connection.to(at("/"));
      // deno-lint-ignore no-await-in-loop -- a short list
      await connection.request("GET", path);
      // deno-lint-ignore no-await-in-loop -- a short list
      expect([path, (await connection.response()).status]).toEqual([path, 404]);
    }
  }));
