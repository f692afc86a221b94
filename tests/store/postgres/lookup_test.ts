/** Look-ups of many keys on PostgreSQL. */
import { expect } from "expect";
import { addInParallel } from "../changes.ts";
import { activeState, newKeys } from "../stored_key.ts";
import { withProxy } from "./proxy.ts";
import { testOnPostgres } from "./server.ts";
import { withStoreAt } from "./store.ts";

await testOnPostgres("Look-ups on PostgreSQL", {}, (server) => {
  Deno.test("PostgreSQL: look-ups of 300 keys at the same time need one query for the secrets and one for the ids", () =>
    server.withNewDatabase((name) =>
      withProxy(server.port, (proxy) =>
        withStoreAt({ ...server.address(name), port: proxy.port }, async (store) => {
          const keys = await newKeys(300);
          await addInParallel(store, keys);
          let sent = "";
          proxy.rule = (direction, bytes) => {
            if (direction === "up") sent += bytes;
            return "forward";
          };
          const states = await Promise.all(keys.map(({ secretHash }) => store.findBySecretHash(secretHash)));
          const found = await Promise.all([...keys, { id: "key_nowhere" }].map(({ id }) => store.findById(id)));
          expect(sent.match(/SELECT/g)).toHaveLength(2);
          expect(states).toEqual(keys.map(activeState));
          expect(found).toEqual([...keys, undefined]);
        }))
    ));
});
