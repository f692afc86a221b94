/** The remedy in the message for a rejected key: it differs between a server and the embedded server. */
import { expect } from "expect";
import { makeSecret, SECRET_BYTES } from "../../../src/apikey/secret.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { inProcess } from "../../program/program.ts";

const UNKNOWN = makeSecret(new Uint8Array(SECRET_BYTES));

for (
  const [what, open, remedy] of [
    ["a server", overHttp, "Set a valid key with SERVICE_API_KEY or --key-file, or store one with service-api login."],
    [
      "the embedded server, used because no server is set,",
      () => embedded(inProcess),
      "No other server is selected, so the embedded server checked the key. Set the key's server with --base-url or " +
      "SERVICE_API_URL, or use no key.",
    ],
  ] as const
) {
  for (const [kind, key] of [["it does not know", UNKNOWN], ["is incomplete", UNKNOWN.slice(0, -1)]] as const) {
    Deno.test(`${what} rejects a key that ${kind}, and the message names the remedy`, async () => {
      await using installation = await open();
      const { code, stdout, stderr } = await installation.program(
        ["apikey", "--create", "--name", "deploy", "--roles", "VIEWER"],
        { env: { SERVICE_API_KEY: key } },
      );
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr.slice(-remedy.length - 2)).toBe(` ${remedy}\n`);
    });
  }
}
