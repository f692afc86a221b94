/** What clients see if the store fails. */
import { expect } from "expect";
import { Failure } from "../../../src/apikey/failure.ts";
import { makeSecret } from "../../../src/apikey/secret.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { CREATE, DELETE, LIST, post, READ, serverOver } from "./graphql.ts";

const SECRET = makeSecret(new Uint8Array(32));

/** Returns a store on which every method except `close` fails with `error`. */
function failingStore(error: unknown): KeyStore {
  const fail = (): Promise<never> => Promise.reject(error);
  return {
    add: fail,
    update: fail,
    listPage: fail,
    findBySecretHash: fail,
    findById: fail,
    findByName: fail,
    // deno-lint-ignore require-yield -- fails before it would yield a key
    list: async function* (): AsyncIterable<never> {
      await fail();
    },
    isEmpty: fail,
    countKeys: fail,
    poolUse: () => undefined,
    checkHealth: fail,
    remove: fail,
    listResources: fail,
    addResource: fail,
    removeResource: fail,
    recordUses: fail,
    recordEvent: fail,
    listEvents: fail,
    eventTimes: fail,
    dropEventsBefore: fail,
    close: () => Promise.resolve(),
  };
}

const OPERATIONS: readonly (readonly [string, Record<string, unknown>])[] = [
  [LIST, {}],
  [READ, { id: "key_1" }],
  [CREATE, { input: { name: "deploy", roles: ["ADMIN"] } }],
  [DELETE, { ids: ["key_1"] }],
];

Deno.test("An unexpected error of the store is logged and hidden from the client", async () => {
  const error = new Error("segment 7 of /var/lib is upside down");
  const { local, errorLog } = serverOver(failingStore(error));
  const results = await Promise.all(OPERATIONS.map(([query, variables]) => post(local, query, variables)));
  for (const { codes, messages, text } of results) {
    expect(codes).toEqual(["FAILED"]);
    expect(messages).toEqual(["The server failed unexpectedly. Its log has the details."]);
    expect(text).not.toMatch(/upside down|var/);
  }
  expect(errorLog.map(({ properties }) => properties["error"])).toEqual(OPERATIONS.map(() => error));
});

for (const error of [new TypeError("upside down"), "upside down"]) {
  Deno.test(`If the store throws a value of type ${typeof error} during authentication, the response is 500`, async () => {
    const { network, errorLog } = serverOver(failingStore(error));
    const { status, codes, text } = await post(network, LIST, {}, SECRET);
    expect({ status, codes }).toEqual({ status: 500, codes: ["FAILED"] });
    expect(text).not.toContain("upside down");
    expect(errorLog).toHaveLength(1);
  });
}

for (const code of ["UNREACHABLE", "TIMEOUT"] as const) {
  Deno.test(`If the store fails with ${code} during authentication, the response is 503 and says to try again`, async () => {
    const { network, errorLog } = serverOver(failingStore(new Failure(code, "Cannot open /var/lib/keys.db.")));
    const { status, headers, codes, messages } = await post(network, LIST, {}, SECRET);
    expect({ status, codes, retryAfter: headers.get("retry-after") }).toEqual({
      status: 503,
      codes: [code],
      retryAfter: "1",
    });
    expect(messages).toEqual(["The server cannot reach its store. Its log has the details. Try again later."]);
    expect(errorLog).toHaveLength(1);
  });
}

Deno.test("If the store is unavailable, the local caller sees the reason, and the server does not log it", async () => {
  const { local, errorLog } = serverOver(failingStore(new Failure("TIMEOUT", "Another process holds the store.")));
  const results = await Promise.all(OPERATIONS.map(([query, variables]) => post(local, query, variables)));
  expect(results.map(({ codes }) => codes.join())).toEqual(OPERATIONS.map(() => "TIMEOUT"));
  expect(results[0]?.messages).toEqual(["Another process holds the store."]);
  expect(errorLog).toEqual([]);
});
