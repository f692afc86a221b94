/** How a store on PostgreSQL uses its pool of connections, in the metrics of `serve`. */
import { expect } from "expect";
import { addAll } from "../changes.ts";
import { newKey } from "../stored_key.ts";
import { startHttp } from "../../server/http/http_server.ts";
import { until } from "../../server/until.ts";
import { testOnPostgres } from "./server.ts";
import { whileLocked, withStoreAt } from "./store.ts";
import { openPostgresStore } from "../../../src/store/postgres.ts";

await testOnPostgres("The metrics of PostgreSQL", {}, (server) => {
  Deno.test("PostgreSQL: the pool has busy and idle connections, and operations wait if all of them are busy", () =>
    server.withNewDatabase((name) =>
      withStoreAt(server.address(name), async (store) => {
        await store.isEmpty();
        expect(store.poolUse()).toEqual({ busy: 0, idle: 1, max: 10, waiting: 0 });
        let operations: Promise<boolean>[] = [];
        await whileLocked(server, name, "LOCK TABLE service_api.api_key", async () => {
          operations = Array.from({ length: 15 }, () => store.isEmpty());
          await until(() => store.poolUse()?.waiting === 5);
          expect(store.poolUse()?.busy).toBe(10);
        });
        await Promise.all(operations);
        expect(store.poolUse()).toMatchObject({ busy: 0, waiting: 0 });
      })
    ));

  Deno.test("PostgreSQL: the metrics show the use of the pool and count the keys", () =>
    server.withNewDatabase(async (name) => {
      const store = await openPostgresStore({ address: server.address(name), timeout: 10_000 });
      await addAll(store, [await newKey("one")]);
      const http = await startHttp(store, { metrics: { hostname: "127.0.0.1", port: 0 } });
      try {
        const page = await (await fetch(http.metricsUrl ?? "")).text();
        expect(page.split("\n")).toEqual(
          expect.arrayContaining([
            'service_api_store_pool_connections{state="busy"} 0',
            'service_api_store_pool_connections{state="idle"} 1',
            "service_api_store_pool_max_connections 10",
            "service_api_store_pool_waiting_operations 0",
            'service_api_keys{state="active"} 1',
          ]),
        );
      } finally {
        await http.stop(1000);
      }
    }));
});
