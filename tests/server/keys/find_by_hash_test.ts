/** `apiKeysBySecretHash` tells which secrets are the current secrets of keys, without sending them. */
import { expect } from "expect";
import { hashSecret, makeSecret } from "../../../src/apikey/secret.ts";
import { after, type Fetch, post, type Result, ROTATE, UPDATE, withClock, withServer } from "../graphql/graphql.ts";

const FIND = "query ($hashes: [String!]!) { apiKeysBySecretHash(hashes: $hashes) { name enabled expiresAt } }";

async function find(server: Fetch, secrets: readonly string[]): Promise<unknown> {
  const hashes = await Promise.all(secrets.map(async (secret) => (await hashSecret(secret)).toHex()));
  const { data, messages } = await post(server, FIND, { hashes });
  return data ?? messages;
}

Deno.test("The result has the key of each current secret, also if it is disabled or expired, and null for other secrets", () =>
  withClock(async ({ local, create }, clock) => {
    const [current, expired, disabled, rotated] = [
      await create({ name: "current", roles: ["GUEST"] }),
      await create({ name: "expired", roles: ["GUEST"], expiresAt: after(10) }),
      await create({ name: "disabled", roles: ["GUEST"] }),
      await create({ name: "rotated", roles: ["GUEST"] }),
    ];
    await post(local, UPDATE, { input: { id: disabled.id, enabled: false } });
    await post(local, ROTATE, { input: { id: rotated.id, graceSeconds: 60 } });
    clock.now = new Date(after(20));
    const unknown = makeSecret(new Uint8Array(32));
    const secrets = [unknown, disabled.key, current.key, rotated.key, expired.key, current.key];
    const found = { name: "current", enabled: true, expiresAt: null };
    expect(await find(local, secrets)).toEqual({
      apiKeysBySecretHash: [
        null,
        { name: "disabled", enabled: false, expiresAt: null },
        found,
        null,
        { name: "expired", enabled: true, expiresAt: after(10) },
        found,
      ],
    });
  }));

Deno.test("Up to 1,000 hashes are accepted, in lower and upper case, and each must be a SHA-256 in hexadecimal", () =>
  withServer(async ({ local }) => {
    const send = (...hashes: readonly string[]): Promise<Result> => post(local, FIND, { hashes });
    const hash = "0123456789abcdefABCDEF".padEnd(64, "0");
    expect((await send(...Array(1000).fill(hash))).codes).toEqual([]);
    expect((await send(...Array(1001).fill(hash))).messages).toEqual(["hashes can have at most 1000 items."]);
    expect((await send()).data).toEqual({ apiKeysBySecretHash: [] });
    for (const invalid of [`${hash}0`, hash.slice(1), "", `g${hash.slice(1)}`, makeSecret(new Uint8Array(32))]) {
      // deno-lint-ignore no-await-in-loop -- few requests
      const { codes, text } = await send(hash, invalid);
      expect(codes).toEqual(["USAGE"]);
      expect(text).not.toContain("sak_");
    }
  }));

Deno.test("All lists of one request together can have 10,000 hashes", () =>
  withServer(async ({ local }) => {
    const hashes = Array(1000).fill("0".repeat(64));
    const lists = (count: number): string =>
      Array.from({ length: count }, (_, i) => `a${i}: apiKeysBySecretHash(hashes: $hashes) { id }`).join(" ");
    expect((await post(local, `query ($hashes: [String!]!) { ${lists(10)} }`, { hashes })).codes).toEqual([]);
    expect((await post(local, `query ($hashes: [String!]!) { ${lists(11)} }`, { hashes })).codes).toEqual(["USAGE"]);
  }));
