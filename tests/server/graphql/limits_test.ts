/** How much one document may ask for. */
import { expect } from "expect";
import { getIntrospectionQuery } from "graphql";
import { LOCAL_CALLER } from "../../../src/server/auth/caller.ts";
import { DEFAULT_LIMITS, type DocumentLimits } from "../../../src/server/graphql/limits.ts";
import { withNewStore } from "../../store/temporary_store.ts";
import { type Answer, ask, handlerOver, NOW } from "./graphql.ts";

/** Asks a server with these limits and those of the defaults. */
type Ask = (query: string) => Promise<Answer>;

function withLimits(limits: Partial<DocumentLimits>, test: (asked: Ask) => Promise<void>): Promise<void> {
  return withNewStore((store) => {
    const handler = handlerOver({
      store,
      anonymous: LOCAL_CALLER,
      limits: { ...DEFAULT_LIMITS, ...limits },
      now: () => NOW,
      logError: () => {},
    });
    return test((query) => ask(handler, query));
  });
}

function expectRefusal({ codes, data, messages }: Answer, message: string): void {
  expect(data).toBeUndefined();
  expect(codes).toContain("USAGE");
  expect(messages.join("\n")).toContain(message);
}

function expectPassed({ status, codes, messages }: Answer): void {
  expect({ status, codes, messages }).toEqual({ status: 200, codes: [], messages: [] });
}

/** A document of so many levels of fields. */
function ofDepth(depth: number): string {
  const inner = Array.from({ length: depth - 3 }).reduce<string>((inside) => `ofType { ${inside} }`, "name");
  return `{ __schema { types { ${inner} } } }`;
}

function ofAliases(count: number): string {
  return `{ ${Array.from({ length: count }, (_, i) => `a${i}: __typename`).join(" ")} }`;
}

/** Fragments of which each spreads the next twice, in fields of different names: `2 ** levels` fields in the end. */
function multiplied(levels: number): string {
  const fragments = Array.from(
    { length: levels },
    (_, i) => `fragment F${i} on __Type { a: ofType { ...F${i + 1} } b: ofType { ...F${i + 1} } }`,
  );
  return `{ __schema { queryType { ...F0 } } } ${fragments.join(" ")} fragment F${levels} on __Type { name }`;
}

Deno.test("the defaults are those that serve has in its help", () => {
  expect(DEFAULT_LIMITS).toEqual({ depth: 20, aliases: 100, tokens: 5000, keys: 100_000 });
});

Deno.test("a document of just as many levels as are allowed is answered, and one of a level more refused", () =>
  withLimits({ depth: 7 }, async (asked) => {
    expectPassed(await asked(ofDepth(7)));
    expectRefusal(await asked(ofDepth(8)), "This has 8 levels of fields; at most 7 are allowed.");
  }));

Deno.test("by default 20 levels are answered, and 21 refused", () =>
  withLimits({}, async (asked) => {
    expectPassed(await asked(ofDepth(20)));
    expectRefusal(await asked(ofDepth(21)), "21 levels");
  }));

Deno.test("levels count through fragments too, which are no levels themselves", () =>
  withLimits({ depth: 4 }, async (asked) => {
    const fragments =
      "fragment A on __Schema { ... { ... on __Schema { types { ...B } } } } fragment B on __Type { ofType { ...C } }";
    expectPassed(await asked(`{ __schema { ...A } } ${fragments} fragment C on __Type { name }`));
    expectRefusal(
      await asked(`{ __schema { ...A } } ${fragments} fragment C on __Type { ofType { name } }`),
      "5 levels",
    );
  }));

Deno.test("just as many aliases as are allowed are answered, and one more refused", () =>
  withLimits({}, async (asked) => {
    expectPassed(await asked(ofAliases(100)));
    expectRefusal(await asked(ofAliases(101)), "This has 101 aliases; at most 100 are allowed.");
  }));

Deno.test("fields without an alias do not count as aliases", () =>
  withLimits({ aliases: 0 }, async (asked) => {
    expectPassed(await asked("{ apiKeysExist apiKeys { id name } }"));
    expectRefusal(await asked("{ a: apiKeysExist }"), "1 aliases; at most 0");
  }));

Deno.test("aliases in a fragment count as often as it is spread", () =>
  withLimits({ aliases: 4 }, async (asked) => {
    const fragment = "fragment A on ApiKey { a: id b: name }";
    expectPassed(await asked(`{ apiKeys { ...A } apiKeysByName(name: "a") { ...A } } ${fragment}`));
    expectRefusal(await asked(`{ apiKeys { ...A c: id } apiKeysByName(name: "a") { ...A } } ${fragment}`), "5 aliases");
  }));

Deno.test("fragments that multiply aliases are refused at once, however many fields they come to", () =>
  withLimits({ depth: 1000 }, async (asked) => {
    expectPassed(await asked(multiplied(5)));
    expectRefusal(await asked(multiplied(6)), "This has 126 aliases; at most 100 are allowed.");
    const start = performance.now();
    expectRefusal(await asked(multiplied(150)), " aliases; at most 100 are allowed.");
    const flat = Array.from({ length: 150 }, (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`);
    expectRefusal(await asked(`{ ...F0 } ${flat.join(" ")} fragment F150 on Query { a: __typename }`), " aliases");
    expect(performance.now() - start).toBeLessThan(5000);
  }));

for (
  const [what, query] of [
    ["spreads itself", "{ ...A } fragment A on Query { ...A }"],
    ["spreads itself in a field", "{ __schema { types { ...A } } } fragment A on __Type { ofType { ...A } }"],
    ["spreads one that spreads it", "{ ...A } fragment A on Query { ...B } fragment B on Query { a: __typename ...A }"],
  ] as const
) {
  Deno.test(`a fragment that ${what} is refused`, () =>
    withLimits({}, async (asked) => expectRefusal(await asked(query), "Cannot spread fragment")));
}

Deno.test("just as many tokens as are allowed are answered, and one more refused; comments and commas are none", () =>
  withLimits({ tokens: 7 }, async (asked) => {
    expectPassed(await asked("{ a: __typename __typename __typename }"));
    expectPassed(await asked("# one two three four\n{ a: __typename,,,, __typename __typename } # five"));
    expectRefusal(await asked("{ a: __typename b: __typename }"), "7 tokens");
  }));

Deno.test("by default 5000 tokens are read, and 5001 refused", () =>
  withLimits({}, async (asked) => {
    const document = `{ apiKeysExist @skip(if: true) ${"@x ".repeat(2495)}}`;
    expectRefusal(await asked(document), 'Unknown directive "@x"');
    expectRefusal(await asked(`query ${document}`), "5000 tokens");
  }));

Deno.test("a document with all that can go wrong in 5000 tokens is refused at once", () =>
  withLimits({ depth: 10_000, aliases: 10_000 }, async (asked) => {
    const many = (count: number, of: (i: number) => string): string =>
      Array.from({ length: count }, (_, i) => of(i)).join(" ");
    const documents = [
      `{ ${many(4990, () => "__typename")} }`,
      `{ ${many(1200, () => "apiKeys { id }")} }`,
      `{ ${many(600, (i) => `apiKey(id: ${i}) { id }`)} }`,
      `{ ${many(1600, (i) => `a${i}: nonsense`)} }`,
      `{ ${many(450, (i) => `...F${i}`)} } ${many(450, (i) => `fragment F${i} on Query { x: __typename }`)}`,
      `${many(1200, () => "{ apiKeys")} { id } ${many(1200, () => "}")}`,
      `query (${many(900, (i) => `$v${i}: Int`)}) { apiKeysExist }`,
    ];
    const start = performance.now();
    await Promise.all(documents.map(async (document) => {
      const { text } = await asked(document);
      expect(text.length).toBeLessThan(100_000);
    }));
    expect(performance.now() - start).toBeLessThan(5000);
  }));

/** What GraphiQL and the usual tools for introspection ask, with everything turned on. */
const GRAPHIQL = getIntrospectionQuery({
  descriptions: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  oneOf: true,
});

for (const [who, query] of [["graphql-js", getIntrospectionQuery()], ["GraphiQL", GRAPHIQL]] as const) {
  Deno.test(`the introspection query of ${who} is answered within the default limits`, () =>
    withLimits({}, async (asked) => {
      const answer = await asked(query);
      expectPassed(answer);
      expect(answer.text).toContain('"ApiKeyMutations"');
    }));
}

Deno.test("the keys of an answer are counted over all lists in it", () =>
  withLimits({ keys: 4 }, async (asked) => {
    for (const name of ["a", "b"]) {
      // deno-lint-ignore no-await-in-loop -- in their order
      await asked(`mutation { apiKey { create(input: { name: "${name}", roles: [GUEST] }) { id } } }`);
    }
    expectPassed(await asked("{ one: apiKeys { name } two: apiKeys { name } }"));
    const { codes, messages } = await asked("{ one: apiKeys { name } two: apiKeys { name } three: apiKeys { name } }");
    expect(codes).toEqual(["USAGE"]);
    expect(messages[0]).toMatch(/4 keys at most/);
  }));
