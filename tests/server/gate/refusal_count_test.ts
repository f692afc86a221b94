/** What the audit trail records of keys that the gate refuses. */
import { expect } from "expect";
import type { AuditEvent } from "../../../src/store/audit_event.ts";
import { openSqliteStore } from "../../../src/store/sqlite.ts";
import { inTemporaryDirectory } from "../../store/temporary_store.ts";
import { post, serverOver, UPDATE } from "../graphql/graphql.ts";
import { startHttp, statusOf } from "../http/http_server.ts";

type Send = (path: string, key?: string, request?: RequestInit) => Promise<number>;

/** Runs a server until `act` has sent its requests, and returns the audit events that the server has recorded. */
async function eventsOf(
  act: (send: Send, server: ReturnType<typeof serverOver>) => Promise<void>,
): Promise<readonly AuditEvent[]> {
  let events: readonly AuditEvent[] = [];
  await inTemporaryDirectory(async (directory) => {
    const store = await openSqliteStore({ directory, busyTimeout: 5000 });
    const server = await startHttp(store);
    const send: Send = (path, key, request) =>
      statusOf(new URL(path, server.url), { headers: key === undefined ? {} : { "x-api-key": key }, ...request });
    await act(send, serverOver(store));
    await server.stop(1000);
    const stopped = await openSqliteStore({ directory, busyTimeout: 5000 });
    try {
      events = await stopped.listEvents(undefined, 1000);
    } finally {
      await stopped.close();
    }
  });
  return events.filter(({ action }) => action === "VERIFY" || action === "INTROSPECT");
}

Deno.test("One event counts the requests of a key that lacks a permission", async () => {
  let id = "";
  const events = await eventsOf(async (send, { create }) => {
    const created = await create({ name: "reader", permissions: [{ resource: "DOCKER", actions: ["READ_ANY"] }] });
    id = created.id;
    const statuses = await Promise.all(Array.from({ length: 20 }, () => send("/verify?can=VMS:READ_ANY", created.key)));
    expect(statuses).toEqual(Array(20).fill(403));
    expect(await send("/verify?can=DOCKER:READ_ANY", created.key)).toBe(204);
  });
  expect(events).toMatchObject([{
    action: "VERIFY",
    actor: { id, name: "reader" },
    keyId: id,
    keyName: "reader",
    address: "127.0.0.1",
    requestId: expect.any(String),
    outcome: "FORBIDDEN",
    occurrences: 20,
    changes: [],
  }]);
});

Deno.test("One event per known key, and one for all unknown keys, counts the requests with keys that are not valid", async () => {
  let id = "";
  const events = await eventsOf(async (send, { create, local }) => {
    const created = await create({ name: "disabled", roles: ["GUEST"] });
    id = created.id;
    await post(local, UPDATE, { input: { id, enabled: false } });
    for (const key of [created.key, created.key, "wrong", `${created.key}x`, "other"]) {
      // deno-lint-ignore no-await-in-loop -- one request after the other
      expect(await send("/verify", key)).toBe(401);
    }
  });
  expect(events.map(({ actor, keyId, outcome, occurrences }) => ({ actor, keyId, outcome, occurrences }))).toEqual([
    { actor: null, keyId: id, outcome: "UNAUTHENTICATED", occurrences: 2 },
    { actor: null, keyId: null, outcome: "UNAUTHENTICATED", occurrences: 3 },
  ]);
});

Deno.test("Requests without a key, and requests that cannot be checked, are not in the audit trail", async () => {
  const events = await eventsOf(async (send, { create }) => {
    const { key } = await create({ name: "guest", roles: ["GUEST"] });
    expect(await send("/verify")).toBe(401);
    expect(await send("/introspect", undefined, { method: "POST" })).toBe(401);
    expect(await send("/verify?can=nonsense", key)).toBe(400);
  });
  expect(events).toEqual([]);
});

Deno.test("Callers of /introspect whose key is refused are counted separately, and tokens that are not valid are not", async () => {
  const events = await eventsOf(async (send, { create }) => {
    const { key } = await create({ name: "guest", roles: ["GUEST"] });
    const caller = await create({ name: "caller", permissions: [{ resource: "PERMISSION", actions: ["READ_ANY"] }] });
    expect(await send("/introspect", key, { method: "POST" })).toBe(401);
    const response = await send("/introspect", caller.key, {
      method: "POST",
      headers: { "x-api-key": caller.key },
      body: new URLSearchParams({ token: "wrong" }),
    });
    expect(response).toBe(200);
  });
  expect(events).toMatchObject([{
    action: "INTROSPECT",
    actor: { name: "guest" },
    outcome: "FORBIDDEN",
    occurrences: 1,
  }]);
});
