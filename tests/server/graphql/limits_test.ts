/** The limits on the size of one GraphQL request and its response. */
import { expect } from "expect";
import { getIntrospectionQuery } from "graphql";
import { DEFAULT_LIMITS, type DocumentLimits } from "../../../src/server/graphql/limits.ts";
import { ResponseSize, ResponseSizes } from "../../../src/server/keys/response_size.ts";
import { addAll } from "../../store/changes.ts";
import { newKey } from "../../store/stored_key.ts";
import { withNewStore } from "../../store/temporary_store.ts";
import { handlerOver, NOW, post, type Result } from "./graphql.ts";

type Execute = (query: string) => Promise<Result>;

/** Runs a test on a server with these limits. All other limits have their defaults. */
function withLimits(limits: Partial<DocumentLimits>, test: (execute: Execute) => Promise<void>): Promise<void> {
  return withNewStore((store) => {
    const handler = handlerOver({
      store,
      acceptsLocalCaller: true,
      limits: { ...DEFAULT_LIMITS, ...limits },
      now: () => NOW,
      logError: () => {},
    });
    return test((query) => post(handler, query));
  });
}

function expectRejected({ codes, data, messages }: Result, message: string): void {
  expect(data).toBeUndefined();
  expect(codes).toContain("USAGE");
  expect(messages.join("\n")).toContain(message);
}

function expectAccepted({ status, messages }: Result): void {
  expect({ status, messages }).toEqual({ status: 200, messages: [] });
}

function repeat(count: number, part: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => part(i)).join(" ");
}

/** Returns a document with `depth` levels of fields. */
function ofDepth(depth: number): string {
  const inner = Array.from({ length: depth - 3 }).reduce<string>((inside) => `ofType { ${inside} }`, "name");
  return `{ __schema { types { ${inner} } } }`;
}

/**
 * Returns a document in which each fragment spreads the next one twice, so the innermost field occurs `2 ** levels`
 * times.
 */
function multiplied(levels: number): string {
  const fragments = repeat(
    levels,
    (i) => `fragment F${i} on __Type { a: ofType { ...F${i + 1} } b: ofType { ...F${i + 1} } }`,
  );
  return `{ __schema { queryType { ...F0 } } } ${fragments} fragment F${levels} on __Type { name }`;
}

Deno.test("The default limits are the ones in the help text of serve", () => {
  expect(DEFAULT_LIMITS).toEqual({ depth: 20, aliases: 100, tokens: 5000, keys: 100_000, responseSize: 100_000_000 });
});

Deno.test("The maximum number of levels is accepted, and one more level is rejected", () =>
  withLimits({}, async (execute) => {
    expectAccepted(await execute(ofDepth(20)));
    expectRejected(await execute(ofDepth(21)), "The operation has 21 levels of fields. The limit is 20.");
  }));

Deno.test("Levels inside fragments count, but the fragments themselves do not", () =>
  withLimits({ depth: 4 }, async (execute) => {
    const fragments =
      "fragment A on __Schema { ... { ... on __Schema { types { ...B } } } } fragment B on __Type { ofType { ...C } }";
    expectAccepted(await execute(`{ __schema { ...A } } ${fragments} fragment C on __Type { name }`));
    expectRejected(
      await execute(`{ __schema { ...A } } ${fragments} fragment C on __Type { ofType { name } }`),
      "5 levels",
    );
  }));

Deno.test("The maximum number of aliases is accepted, and one more alias is rejected", () =>
  withLimits({}, async (execute) => {
    expectAccepted(await execute(`{ __typename ${repeat(100, (i) => `a${i}: __typename`)} }`));
    expectRejected(
      await execute(`{ ${repeat(101, (i) => `a${i}: __typename`)} }`),
      "The operation has 101 aliases. The limit is 100.",
    );
  }));

Deno.test("Aliases in a fragment count each time the fragment is spread", () =>
  withLimits({ aliases: 4 }, async (execute) => {
    const fragment = "fragment A on ApiKey { a: id b: name }";
    expectAccepted(await execute(`{ apiKeys { ...A } apiKeysByName(name: "a") { ...A } } ${fragment}`));
    expectRejected(
      await execute(`{ apiKeys { ...A c: id } apiKeysByName(name: "a") { ...A } } ${fragment}`),
      "5 aliases",
    );
  }));

Deno.test("Fragments that multiply aliases are rejected within 5 s, however many fields they produce", () =>
  withLimits({ depth: 1000 }, async (execute) => {
    expectAccepted(await execute(multiplied(5)));
    expectRejected(await execute(multiplied(6)), "126 aliases");
    const start = performance.now();
    expectRejected(await execute(multiplied(150)), " aliases. The limit is 100.");
    const flat = repeat(150, (i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`);
    expectRejected(await execute(`{ ...F0 } ${flat} fragment F150 on Query { a: __typename }`), " aliases");
    expect(performance.now() - start).toBeLessThan(5000);
  }));

Deno.test("A fragment that spreads itself, directly or indirectly, is rejected", () =>
  withLimits({}, async (execute) => {
    for (
      const query of [
        "{ ...A } fragment A on Query { ...A }",
        "{ __schema { types { ...A } } } fragment A on __Type { ofType { ...A } }",
        "{ ...A } fragment A on Query { ...B } fragment B on Query { a: __typename ...A }",
      ]
    ) {
      // deno-lint-ignore no-await-in-loop -- only three documents
      expectRejected(await execute(query), "Cannot spread fragment");
    }
  }));

Deno.test("The maximum number of tokens is accepted, one more token is rejected, and comments do not count", () =>
  withLimits({}, async (execute) => {
    const document = `{ apiKeysExist @skip(if: true) ${repeat(2495, () => "@x")}}`;
    // The parser accepts all tokens of this document. Validation then rejects the unknown directive.
    expectRejected(await execute(`# a comment\n${document}`), 'Unknown directive "@x"');
    expectRejected(await execute(`query ${document}`), "5000 tokens");
  }));

Deno.test("Brackets may be nested 500 levels deep, and brackets in strings and comments do not count", () =>
  withLimits({ depth: Infinity, tokens: Infinity }, async (execute) => {
    const nested = (levels: number): string => `${"{ apiKeys ".repeat(levels)}id${" }".repeat(levels)}`;
    expectRejected(await execute(nested(500)), 'Cannot query field "apiKeys" on type "ApiKey".');
    const texts = ["{ a ", "{ a: b(x: [", "{ ... {", "query (a: [", "{ a(x: {a: "].map((text) => text.repeat(2500));
    for (const text of [nested(501), nested(100_000), ...texts]) {
      // deno-lint-ignore no-await-in-loop -- only a few documents
      expectRejected(await execute(text), "The document has more than 500 levels of brackets.");
    }
    const brackets = "[".repeat(501);
    expectAccepted(await execute(`# ${brackets}\n{ apiKey(id: "${brackets}") { id } }`));
  }));

Deno.test("Expensive documents of up to 5000 tokens get a short response within 5 s", () =>
  withLimits({ depth: 10_000, aliases: 10_000 }, async (execute) => {
    const documents = [
      `{ ${repeat(4990, () => "__typename")} }`,
      `{ ${repeat(600, (i) => `apiKey(id: ${i}) { id }`)} }`,
      `{ ${repeat(1600, (i) => `a${i}: nonsense`)} }`,
      `{ ${repeat(450, (i) => `...F${i}`)} } ${repeat(450, (i) => `fragment F${i} on Query { x: __typename }`)}`,
      `${repeat(1200, () => "{ apiKeys")} { id } ${repeat(1200, () => "}")}`,
      `query (${repeat(900, (i) => `$v${i}: Int`)}) { apiKeysExist }`,
    ];
    const start = performance.now();
    const results = await Promise.all(documents.map(execute));
    expect(results.filter(({ text }) => text.length > 100_000)).toEqual([]);
    expect(performance.now() - start).toBeLessThan(5000);
  }));

Deno.test("The introspection query of graphql-js and GraphiQL, with every option, is within the default limits", () =>
  withLimits({}, async (execute) => {
    const result = await execute(getIntrospectionQuery({
      descriptions: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      oneOf: true,
    }));
    expectAccepted(result);
    expect(result.text).toContain('"ApiKeyMutations"');
  }));

Deno.test("The limit on keys applies to all lists of one response together", () =>
  withLimits({ keys: 4 }, async (execute) => {
    for (const name of ["a", "b"]) {
      // deno-lint-ignore no-await-in-loop -- one key after the other
      await execute(`mutation { apiKey { create(input: { name: "${name}", roles: [GUEST] }) { id } } }`);
    }
    const page = "apiKeyConnection { edges { node { id } } }";
    expectAccepted(await execute(`{ one: apiKeys { name } two: ${page} }`));
    expect((await execute(`{ one: ${page} two: ${page} three: ${page} }`)).codes).toEqual(["USAGE"]);
    const { codes, messages } = await execute("{ one: apiKeys { id } two: apiKeys { id } three: apiKeys { id } }");
    expect(codes).toEqual(["USAGE"]);
    expect(messages).toEqual(["The query returns more than 4 keys. Select fewer keys, for example by name or id."]);
  }));

/** Creates keys with descriptions of 1,024 characters. */
async function createLargeKeys(execute: Execute, count: number): Promise<void> {
  const description = "x".repeat(1024);
  for (let i = 0; i < count; i++) {
    const input = `{ name: "key ${i}", roles: [GUEST], description: "${description}" }`;
    // deno-lint-ignore no-await-in-loop -- one key after the other
    await execute(`mutation { apiKey { create(input: ${input}) { id } } }`);
  }
}

/** Lets the reads that a refused response no longer needs find out. Deno 2.7 reports their timers as leaks. */
async function endPendingReads(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
}

const TOO_LARGE = "The response is too large: the limit is 0.05 MB. Select fewer fields, or fewer keys or events.";

for (
  const [what, query] of [
    ["descriptions in lists", "{ a: apiKeys { description } b: apiKeys { description } }"],
    [
      "a list of keys, even if the response does not contain their descriptions",
      `{ ${repeat(30, (i) => `a${i}: apiKeys { id }`)} }`,
    ],
    [
      "the descriptions of single keys",
      `{ ${repeat(60, (i) => `a${i}: apiKeysByName(name: "key ${i % 20}") { description }`)} }`,
    ],
    ["audit events", `{ ${repeat(60, (i) => `a${i}: auditEvents { id at requestId key { id name } outcome }`)} }`],
    ["long aliases", `{ apiKeys { ${repeat(3, (i) => `${"a".repeat(1000)}${i}: __typename`)} } }`],
  ] as const
) {
  Deno.test(`The limit on the size of a response applies to ${what}, and the response has one error and no data`, () =>
    withLimits({ responseSize: 50_000 }, async (execute) => {
      await createLargeKeys(execute, 20);
      expectAccepted(await execute('{ apiKeysByName(name: "key 7") { id description } auditEvents { id } }'));
      const { codes, data, messages, status } = await execute(query);
      expect({ status, codes, data, messages }).toEqual({
        status: 200,
        codes: ["USAGE"],
        data: null,
        messages: [TOO_LARGE],
      });
      await endPendingReads();
    }));
}

Deno.test("Introspection that repeats the schema many times is rejected within 5 s, with one error", () =>
  withLimits({}, async (execute) => {
    const inner = "fields { name description args { name description type { name } } } enumValues { name }";
    const types = `types { fields { type { ${inner} ofType { ${inner} ofType { ofType { ${inner} } } } } } }`;
    const start = performance.now();
    const { codes, text } = await execute(`{ ${repeat(50, (i) => `a${i}: __schema { ${types} }`)} }`);
    expect([codes, text.length < 1000]).toEqual([["USAGE"], true]);
    expect(performance.now() - start).toBeLessThan(5000);
  }));

Deno.test("A large response is rejected while too many other large responses are in memory", () => {
  const sizes = new ResponseSizes(10_000_000);
  const start = (): ResponseSize => new ResponseSize(sizes);
  const others = [start(), start(), start(), start()];
  for (const other of others) expect(other.add(10_000_000)).toBe(true);
  const small = start();
  expect(small.add(1_000_000)).toBe(true);
  small.release();
  const large = start();
  expect(large.add(1_000_001)).toBe(false);
  expect(large.failure).toMatchObject({ code: "UNREACHABLE", message: expect.stringContaining("Try again later.") });
  large.release();
  others[0]?.release();
  expect(start().add(1_000_001)).toBe(true);
});

for (
  const [what, field, read] of [
    ["keys", "apiKeys { description }", "list"],
    ["audit events", "auditEvents { id at action outcome key { id name } }", "listEvents"],
  ] as const
) {
  Deno.test(`A document reads ${what} under one alias after the other, and not after the response is too large`, () =>
    withNewStore(async (store) => {
      const description = "x".repeat(1000);
      await addAll(
        store,
        await Promise.all(repeat(20, (i) => `k${i}`).split(" ").map((name) => newKey(name, { description }))),
      );
      let reads = 0;
      const counting = new Proxy(store, {
        get: (target, name) => {
          if (name === read) reads++;
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
      const limits = { ...DEFAULT_LIMITS, responseSize: 50_000 };
      const handler = handlerOver({
        store: counting,
        acceptsLocalCaller: true,
        limits,
        now: () => NOW,
        logError: () => {},
      });
      const { messages } = await post(handler, `{ ${repeat(90, (i) => `a${i}: ${field}`)} }`);
      expect(messages).toEqual([expect.stringContaining("The response is too large")]);
      expect(reads).toBeGreaterThan(1);
      expect(reads).toBeLessThan(45);
      await endPendingReads();
    }));
}
