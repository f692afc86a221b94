/** The remedy in the message for a rejected key: it differs by reason, and between a server and the embedded server. */
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

for (
  const [what, open, otherWay] of [
    ["a server", overHttp, ""],
    ["the embedded server", () => embedded(inProcess), " The embedded server also accepts commands without a key."],
  ] as const
) {
  for (
    const [state, change, remedy] of [
      ["disabled", ["update", "ci", "--disable"], `enable it with service-api apikey update NAME --enable.${otherWay}`],
      [
        "rotated",
        ["rotate", "ci"],
        "Use the new secret. Pass it with SERVICE_API_KEY or --key-file, or store it with service-api login.",
      ],
    ] as const
  ) {
    Deno.test(`${what} rejects a ${state} key, and the message says how to continue with this key`, async () => {
      await using installation = await open();
      const { program } = installation;
      const made = await program(["apikey", "--create", "--name", "ci", "--roles", "VIEWER"]);
      await program(["apikey", ...change]);
      const { code, stderr } = await program(["apikey", "list"], { env: { SERVICE_API_KEY: made.stdout.trim() } });
      expect(code).toBe(3);
      expect(stderr).toMatch(/^service-api: [^.]*\./);
      expect(stderr.slice(-remedy.length - 2)).toBe(` ${remedy}\n`);
    });
  }
}
