/** What whoever gives a key that the server does not take is told to do, in words that fit the server. */
import { expect } from "expect";
import { makeSecret, SECRET_BYTES } from "../../../src/apikey/secret.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { inProcess } from "../../program/program.ts";

const UNKNOWN = makeSecret(new Uint8Array(SECRET_BYTES));

for (
  const [what, open, remedy] of [
    ["a server", overHttp, "Give a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login."],
    [
      "the embedded server, asked for want of another,",
      () => embedded(inProcess),
      "No server is named, so that the embedded one was asked: name the key's server with --base-url or " +
      "SERVICE_API_URL, or give no key.",
    ],
  ] as const
) {
  for (const [kind, key] of [["nobody made", UNKNOWN], ["is cut short", UNKNOWN.slice(0, -1)]] as const) {
    Deno.test(`${what} does not take a key that ${kind}, and the remedy is told`, async () => {
      await using installation = await open();
      const { code, stdout, stderr } = await installation.program(
        ["apikey", "--create", "--name", "deploy", "--roles", "VIEWER"],
        { env: { SERVICE_API_KEY: key } },
      );
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr.replace(/^service-api: .*?\. (?=[A-Z])/, "")).toBe(`${remedy}\n`);
    });
  }
}
