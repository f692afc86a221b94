/** What callers are told when the store fails. */
import { expect } from "expect";
import { Failure, type FailureCode } from "../../../src/apikey/failure.ts";
import { makeSecret } from "../../../src/apikey/secret.ts";
import type { KeyStore } from "../../../src/store/key_store.ts";
import { ask, CREATE, DELETE, LIST, READ, serverOver } from "./graphql.ts";

/** A store that answers everything with an error. */
function failingStore(error: unknown): KeyStore {
  const fail = (): Promise<never> => Promise.reject(error);
  return {
    add: fail,
    findIdBySecretHash: fail,
    findById: fail,
    findByName: fail,
    // deno-lint-ignore require-yield -- it fails before the first key
    list: async function* (): AsyncIterable<never> {
      await fail();
    },
    isEmpty: fail,
    remove: fail,
    recordUses: fail,
    recordEvent: fail,
    listEvents: fail,
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

Deno.test("An unexpected error of the store is logged and not shown", async () => {
  const error = new Error("segment 7 of /var/lib is upside down");
  const { local, errorLog } = serverOver(failingStore(error));
  const answers = await Promise.all(OPERATIONS.map(([query, variables]) => ask(local, query, variables)));
  for (const { codes, messages, text } of answers) {
    expect(codes).toEqual(["FAILED"]);
    expect(messages.join()).toContain("failed inside");
    expect(text).not.toContain("upside down");
    expect(text).not.toContain("/var/lib");
  }
  expect(errorLog.map(({ properties }) => properties["reason"])).toEqual(OPERATIONS.map(() => error));
});

Deno.test("An unexpected error while a key is looked up is answered with 500, logged and not shown", async () => {
  const error = new TypeError("upside down");
  const { network, errorLog } = serverOver(failingStore(error));
  const { status, codes, text } = await ask(network, LIST, {}, makeSecret(new Uint8Array(32)));
  expect(status).toBe(500);
  expect(codes).toEqual(["FAILED"]);
  expect(text).toContain("failed inside");
  expect(text).not.toContain("upside down");
  expect(errorLog.map(({ properties }) => properties["reason"])).toEqual([error]);
});

Deno.test("Something thrown that is no error is not shown either", async () => {
  const { local, network, errorLog } = serverOver(failingStore("upside down"));
  const answers = await Promise.all([ask(local, LIST), ask(network, LIST, {}, makeSecret(new Uint8Array(32)))]);
  for (const { codes, text } of answers) {
    expect(codes).toEqual(["FAILED"]);
    expect(text).not.toContain("upside down");
  }
  expect(errorLog.length).toBe(2);
});

Deno.test("A store that is away or busy while a key is looked up is answered with 503: try again", async () => {
  const away: readonly FailureCode[] = ["UNREACHABLE", "TIMEOUT"];
  const outcomes = await Promise.all(away.map(async (code) => {
    const { network, errorLog } = serverOver(failingStore(new Failure(code, "/var/lib/keys.db is away.")));
    const { status, headers, codes, text } = await ask(network, LIST, {}, makeSecret(new Uint8Array(32)));
    expect(text).not.toContain("/var/lib");
    expect(errorLog).toHaveLength(1);
    return [status, headers.has("retry-after"), codes.join()];
  }));
  expect(outcomes).toEqual([[503, true, "UNREACHABLE"], [503, true, "TIMEOUT"]]);
});

Deno.test("A store that is busy during an operation is told as such", async () => {
  const { local, errorLog } = serverOver(failingStore(new Failure("TIMEOUT", "Another process holds the store.")));
  const answers = await Promise.all(OPERATIONS.map(([query, variables]) => ask(local, query, variables)));
  expect(answers.map(({ codes }) => codes.join())).toEqual(OPERATIONS.map(() => "TIMEOUT"));
  expect(errorLog).toEqual([]);
});
