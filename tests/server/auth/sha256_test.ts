import { expect } from "expect";
import { hashSecret } from "../../../src/apikey/secret.ts";
import { sha256 } from "../../../src/server/auth/sha256.ts";

Deno.test("The server and the commands compute the same hash of a text of any length", async () => {
  const characters = [..."Zoë 🔑 sak_9ir8g4zjowm525CH ".repeat(10)];
  const texts = characters.map((_, length) => characters.slice(0, length).join(""));
  const hashes = await Promise.all(texts.map(async (text) => (await hashSecret(text)).toHex()));
  expect(texts.map(sha256)).toEqual(hashes);
});
