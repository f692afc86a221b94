/** A server that accepts one key, and the files that `login` writes. */
import { makeSecret, SECRET_BYTES } from "../../../../src/apikey/secret.ts";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";

export const SECRET = makeSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));

/** Starts a server that accepts one key. */
export function startKeyServer(secret = SECRET): TestServer {
  return startServer(({ headers }) => {
    const known = headers.get("authorization") === `Bearer ${secret}` || headers.get("x-api-key") === secret;
    if (known) return Response.json({ data: { me: { id: "key_1", name: "ci admin" } } });
    const errors = [{ message: "No such key.", extensions: { code: "UNAUTHENTICATED" } }];
    return Response.json({ errors }, { status: 401 });
  });
}

/** The content of every file in a directory and below it, by path. Lock files are left out. */
export async function filesIn(directory: string, prefix = ""): Promise<Record<string, string>> {
  const entries = await Array.fromAsync(Deno.readDir(`${directory}/${prefix}`)).catch(() => []);
  const files = entries.filter(({ name }) => !name.endsWith(".lock")).map(async (
    { name, isDirectory },
  ): Promise<Record<string, string>> =>
    isDirectory
      ? await filesIn(directory, `${prefix}${name}/`)
      : { [`${prefix}${name}`]: await Deno.readTextFile(`${directory}/${prefix}${name}`) }
  );
  return Object.assign({}, ...await Promise.all(files));
}
