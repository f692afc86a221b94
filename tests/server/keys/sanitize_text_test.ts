/** Text from requests is made safe to store. */
import { expect } from "expect";
import { makeSecret } from "../../../src/apikey/secret.ts";
import { sanitizeText } from "../../../src/server/keys/sanitize_text.ts";

for (
  const [rule, text, expected] of [
    ["A key id is unchanged", "key_0123456789abcdefABCDEF", "key_0123456789abcdefABCDEF"],
    ["U+0000 is replaced", "a\0b", "a\ufffdb"],
    ["A lone high surrogate is replaced", "a\ud83d", "a\ufffd"],
    ["A lone low surrogate is replaced", "\ude80a", "\ufffda"],
    ["Control characters other than U+0000 are unchanged", "a\u001b[2J\r\n\u202eb", "a\u001b[2J\r\n\u202eb"],
    ["Text is cut after 255 UTF-16 code units", "x".repeat(300), "x".repeat(255)],
    ["A surrogate pair that is cut in half is replaced", "\u{10400}".repeat(300), `${"\u{10400}".repeat(127)}\ufffd`],
    ["A secret is masked", `name ${makeSecret(new Uint8Array(32))}`, "name sak_…"],
  ] as const
) {
  Deno.test(rule, () => {
    expect(sanitizeText(text)).toBe(expected);
  });
}
