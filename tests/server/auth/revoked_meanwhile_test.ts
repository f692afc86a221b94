/** A key that another request changes while its own request waits for the store. */
import { expect } from "expect";
import { gateBefore } from "../replaced_store.ts";
import { CREATE, DELETE, namesIn, post, ROTATE, serverOver, toInput, UPDATE, withServer } from "../graphql/graphql.ts";

const INPUT = { name: "new", permissions: toInput(["API_KEY:CREATE_ANY"]) };

/** Each kind of change: the method of the store that makes it, and the request for the key with this id. */
const REQUESTS = {
  create: ["add", CREATE, () => ({ input: INPUT })],
  "create with overwrite": ["add", CREATE, () => ({ input: { ...INPUT, name: "other", overwrite: true } })],
  update: ["update", UPDATE, (id: string) => ({ input: { id, name: "new" } })],
  rotate: ["update", ROTATE, (id: string) => ({ input: { id } })],
  delete: ["remove", DELETE, (id: string) => ({ ids: [id] })],
} as const;

const PERMISSIONS = [
  "API_KEY:CREATE_ANY",
  "API_KEY:UPDATE_ANY",
  "API_KEY:DELETE_ANY",
  "VMS:READ_ANY",
];

/** What another request does to the key meanwhile, and the error of the waiting request. */
const MEANWHILE = [
  ["rotated without a grace period", ROTATE, {}, "UNAUTHENTICATED was rotated while the request was running"],
  ["rotated with a grace period", ROTATE, { graceSeconds: 60 }, ""],
  ["given one more right", UPDATE, { permissions: toInput([...PERMISSIONS, "VMS:UPDATE_ANY"]) }, ""],
  ["deprived of a right", UPDATE, { permissions: toInput(PERMISSIONS.slice(0, -1)) }, "FORBIDDEN lost rights"],
  ["disabled", UPDATE, { enabled: false }, "UNAUTHENTICATED was disabled while the request was running"],
] as const;

for (const [event, query, change, error] of MEANWHILE) {
  const outcome = error === "" ? "still takes effect" : "fails and changes nothing";
  Deno.test(`If a key is ${event} while its request waits for the store, the request ${outcome}`, async () => {
    for (const [method, mutation, variables] of Object.values(REQUESTS)) {
      // deno-lint-ignore no-await-in-loop -- each request has its own store
      await withServer(async ({ store, local, create }) => {
        const caller = await create({ name: "caller", permissions: toInput(PERMISSIONS) });
        const other = await create({ name: "other", permissions: toInput(["VMS:READ_OWN"]) });
        const gate = gateBefore(method);
        const { network } = serverOver(gate.wrap(store));
        const waiting = post(network, mutation, variables(other.id), caller.key);
        await gate.reached;
        await post(local, query, { input: { id: caller.id, ...change } });
        const before = await store.findById(other.id);
        gate.open();
        const { codes, messages } = await waiting;
        const [code = "", message = ""] = error.split(/ (.*)/);
        expect(codes).toEqual(code === "" ? [] : [code]);
        expect(messages.join()).toContain(message);
        if (error === "") return;
        expect(await store.findById(other.id)).toEqual(before);
        expect(await namesIn(store)).toEqual(["caller", "other"]);
      });
    }
  });
}
