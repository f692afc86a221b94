/** How `login` completes the URL of a server. */
import { expect } from "expect";
import { parseBaseUrl, withScheme } from "../../../src/cli/settings/base_url.ts";

for (
  const [text, expected] of [
    ["localhost:4100", "http://localhost:4100"],
    ["localhost", "http://localhost"],
    ["127.0.0.1:4000/graphql", "http://127.0.0.1:4000/graphql"],
    ["[::1]:4000", "http://[::1]:4000"],
    [" keys.example.com ", "https://keys.example.com"],
    ["keys:8443/api", "https://keys:8443/api"],
    ["http://keys.example.com", "http://keys.example.com"],
    ["postgres://u:p@db/keys", "postgres://u:p@db/keys"],
    ["user:secret@keys.example.com", "user:secret@keys.example.com"],
    ["host", "host"],
  ] as const
) {
  Deno.test(`login takes ${JSON.stringify(text)} for ${expected === text ? "what it is" : expected}`, () => {
    expect(withScheme(text)).toBe(expected);
  });
}

Deno.test("the error for a key that was pasted instead of a URL does not repeat the key", () => {
  const secret = `sak_${"0".repeat(49)}`;
  for (const value of [secret, `http://127.0.0.1:24101${secret}`]) {
    expect(() => parseBaseUrl({ name: "The server", value }, { allowHttp: false }))
      .toThrow(`not "${value.replace(secret, "sak_…")}".`);
  }
});
