/** `/healthz` and `/readyz`, which monitoring calls without a key, and paths that do not exist. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { readiness } from "../../../src/server/http/routes.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import { replaceMethods } from "../replaced_store.ts";
import { Connection } from "./connection.ts";
import { startHttp, statusOf, withHttp } from "./http_server.ts";

for (const path of ["/healthz", "/readyz"]) {
  Deno.test(`GET and HEAD requests for ${path} get 200 without a key, with or without a query string`, () =>
    withHttp(async ({ at }) => {
      const response = await fetch(at(`${path}?a=b`));
      expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(response.headers.get("cache-control")).toBe("no-store");
      const head = await fetch(at(path), { method: "HEAD" });
      expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "3", ""]);
    }));

  Deno.test(`Requests for ${path} with a method other than GET and HEAD get 405`, () =>
    withHttp(async ({ at }) => {
      for (const method of ["POST", "OPTIONS"]) {
        // deno-lint-ignore no-await-in-loop -- only two methods
        const response = await fetch(at(path), { method });
        // deno-lint-ignore no-await-in-loop -- only two methods
        await response.body?.cancel();
        expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      }
    }));
}

Deno.test("While the store is unavailable, /readyz returns 503 and /healthz returns 200", () =>
  withHttp(async ({ at, errorLog }) => {
    const [ready, health] = await Promise.all([fetch(at("/readyz")), fetch(at("/healthz"))]);
    expect([ready.status, ready.headers.get("retry-after"), await ready.text()]).toEqual([
      503,
      "1",
      "The store is unavailable.\n",
    ]);
    expect([health.status, await health.text()]).toEqual([200, "ok\n"]);
    expect(errorLog).toHaveLength(1);
  }, {
    wrap: (store) =>
      replaceMethods(store, { checkHealth: () => Promise.reject(new Failure("UNREACHABLE", "The store is gone.")) }),
  }));

Deno.test("/readyz queries the store at most once per second, and reports when the store is available again", async () => {
  let time = 0;
  let queries = 0;
  let isAvailable = false;
  let errors = 0;
  const checkHealth = (): Promise<void> => {
    queries++;
    return isAvailable ? Promise.resolve() : Promise.reject(new Error("unavailable"));
  };
  const isReady = readiness({ checkHealth }, () => void errors++, () => time);
  expect(await Promise.all(Array.from({ length: 50 }, isReady))).toEqual(Array(50).fill(false));
  time = 1000;
  isAvailable = true;
  expect([await isReady(), queries, errors]).toEqual([false, 1, 1]);
  time = 1001;
  expect([await isReady(), queries, errors]).toEqual([true, 2, 1]);
});

Deno.test("While an address must wait after failed authentications, its probes still get 200", () =>
  withHttp(async ({ url, at }) => {
    const statuses: number[] = [];
    for (const target of [url, url, at("/healthz"), at("/readyz")]) {
      // deno-lint-ignore no-await-in-loop -- the order matters
      statuses.push(await statusOf(target));
    }
    expect(statuses).toEqual([401, 429, 200, 200]);
  }, { maxAuthFailures: 1 }));

Deno.test("A request for a path that is not exactly the path of an endpoint gets 404", () =>
  withHttp(async ({ url }) => {
    for (const path of ["/", "/healthz/", "/Healthz", "/graphql/x", "/../graphql%00", "//healthz"]) {
      // deno-lint-ignore no-await-in-loop -- the list is short
      using connection = await Connection.to(url);
      // deno-lint-ignore no-await-in-loop -- the list is short
      await connection.request("GET", path);
      // deno-lint-ignore no-await-in-loop -- the list is short
      expect([path, (await connection.response()).status]).toEqual([path, 404]);
    }
  }));

for (
  const [what, change] of [
    ["removed", (directory: string) => Deno.remove(directory, { recursive: true })],
    ["replaced by a copy", async (directory: string) => {
      await Deno.copyFile(`${directory}/keys.db`, `${directory}/copy`);
      await Deno.rename(`${directory}/copy`, `${directory}/keys.db`);
    }],
  ] as const
) {
  Deno.test({
    name: `If the store is ${what} while the server runs, /readyz returns 503 and the log says why`,
    // Windows does not remove or replace open files.
    ignore: Deno.build.os === "windows",
    fn: () =>
      inTemporaryDirectory(async (parent) => {
        const directory = `${parent}/data`;
        const store = await openSqliteStore({ directory, busyTimeout: 5000 });
        const errors: string[] = [];
        const server = await startHttp(store, {
          logError: (_message, { error }) => void errors.push(error instanceof Error ? error.message : ""),
        });
        try {
          await change(directory);
          expect(await statusOf(new URL("/readyz", server.url))).toBe(503);
          expect(errors).toEqual([expect.stringMatching(/keys\.db" was removed or replaced .* Restart the server\./)]);
        } finally {
          await server.stop(1000);
        }
      }),
  });
}
