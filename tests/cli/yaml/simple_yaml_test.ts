/** The parser for simple YAML returns what the full parser returns, or leaves the text to it. */
import { expect } from "expect";
import fc from "fast-check";
import { parseDocument } from "yaml";
import { parseSimpleYaml } from "../../../src/cli/yaml/simple_yaml.ts";

/** What the full parser returns; a list of its errors if the text is invalid. */
function parseFully(text: string): unknown {
  const { errors, ...document } = (() => {
    const document = parseDocument(text, { stringKeys: true, uniqueKeys: true });
    return { errors: document.errors, value: document.errors.length === 0 ? document.toJS() : undefined };
  })();
  return errors.length === 0 ? document.value : errors.map(({ message }) => message);
}

const MANIFEST = `# The keys of a host.
managedBy: team deploy
keys:
  - name: ci deploy
    description: deploys the Café
    roles: [VIEWER, "CONNECT"]

    permissions:
      - DOCKER:READ_ANY
      - "*:READ_ANY"
    expiresIn: 90d
    secretFile: /etc/ci.key
  -   name: other
      roles: []
      permissions:
      - 'DISK:READ_ANY'
`;

Deno.test("a usual manifest is simple", () => {
  expect(parseSimpleYaml(MANIFEST)).toEqual(parseFully(MANIFEST));
});

const LEFT_TO_THE_FULL_PARSER = [
  "",
  "- a\nb: c\n",
  "a: b: c\n",
  "a: b\na: c\n",
  "a: 17\n",
  "a: 1e3\n",
  "a: true\n",
  "a: ~\n",
  "a:\nb: c\n",
  "a: b # comment\n",
  "a: b\n  c\n",
  "a:\n\t- b\n",
  "a: [b, c\n",
  "a: [b, , c]\n",
  "a: {b: c}\n",
  "a: |\n  b\n",
  "a: &b c\n",
  'a: "\\u0041"\n',
  "---\na: b\n",
  "a: b\r\n",
  " a: b\n",
];

for (const text of LEFT_TO_THE_FULL_PARSER) {
  Deno.test(`${JSON.stringify(text)} is left to the full parser`, () => {
    expect(parseSimpleYaml(text)).toBeUndefined();
  });
}

Deno.test("JSON is simple, unless a member is there twice", () => {
  fc.assert(fc.property(fc.dictionary(fc.string().map((name) => `k${name}`), fc.jsonValue()), (value) => {
    const text = JSON.stringify(value, null, 1);
    expect(parseSimpleYaml(text)).toEqual(JSON.parse(text));
  }));
  expect(parseSimpleYaml('{"a": {"b": 1, "b": "c:"}}')).toBeUndefined();
  expect(parseSimpleYaml("{a: b}")).toBeUndefined();
});

Deno.test("for random text from the words of manifests, the result is that of the full parser, or there is none", () => {
  const word = fc.constantFrom(
    ...["a", "b:", "c: ", "- ", "-", ":", ",", "[", "]", "[]", "{", "}", '"', "'", "#", " #", "*", "&", "|", ">", "!"],
    ...[
      "null",
      "True",
      "90d",
      "17",
      "1e3",
      "0x1f",
      ".5",
      "/x",
      "~",
      "A:B",
      "a b",
      "é",
      "x-y",
      "?",
      "%",
      "@",
      "---",
      "...",
    ],
    ...[" ", "  ", "    ", "\n", "\n", "\n  ", "\n  ", "\n    - ", "\n- ", "\na: ", "\n  b: ", "\t", "\r\n"],
  );
  let simple = 0;
  fc.assert(
    fc.property(fc.array(word, { maxLength: 14 }).map((words) => words.join("")), (text) => {
      const value = parseSimpleYaml(text);
      if (value === undefined) return;
      simple++;
      expect({ text, value }).toEqual({ text, value: parseFully(text) });
    }),
    { numRuns: 20_000 },
  );
  // About 60 of the texts are simple. If hardly any were, the test would compare nothing.
  expect(simple).toBeGreaterThan(20);
});

Deno.test("for a manifest with a random change, the result is that of the full parser, or there is none", () => {
  const change = fc.record({
    at: fc.nat(MANIFEST.length),
    remove: fc.nat(6),
    insert: fc.constantFrom("", " ", "\n", "- ", ": ", "#", "[", "]", '"', ",", "x", "1", "  ", "\n  x: y"),
  });
  let simple = 0;
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const text = changes.reduce(
        (changed, { at, remove, insert }) => changed.slice(0, at) + insert + changed.slice(at + remove),
        MANIFEST,
      );
      const value = parseSimpleYaml(text);
      if (value === undefined) return;
      simple++;
      expect({ text, value }).toEqual({ text, value: parseFully(text) });
    }),
    { numRuns: 2000 },
  );
  expect(simple).toBeGreaterThan(100);
});
