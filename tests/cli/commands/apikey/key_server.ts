/** A test server that lists and deletes keys. */
import * as z from "zod";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";

export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly roles: readonly string[];
  readonly createdAt: string;
}

export interface KeyServer extends TestServer {
  /** The remaining keys. */
  readonly keys: readonly ListedKey[];
  /** Deletes a key, as another caller would. */
  drop(id: string): void;
}

const RequestBody = z.object({
  query: z.string(),
  variables: z.object({ input: z.object({ ids: z.array(z.string()) }).optional() }).optional(),
});

/** One key for each name, with the ids `1`, `2`, and so on. */
export function listedKeys(names: readonly string[], others: Partial<ListedKey> = {}): readonly ListedKey[] {
  return names.map((name, index) => ({
    id: `${index + 1}`,
    name,
    description: null,
    roles: ["GUEST"],
    createdAt: "2026-01-02T03:04:05Z",
    ...others,
  }));
}

/**
 * Starts a server with these keys.
 *
 * @param beforeDelete runs before each deletion. If it returns a response, the server sends that response and deletes nothing.
 */
export function startKeyServer(
  initial: readonly ListedKey[],
  beforeDelete: (ids: readonly string[], server: KeyServer) => Response | Promise<Response> | undefined = () =>
    undefined,
): KeyServer {
  const keys = [...initial];
  const drop = (id: string): void => void keys.splice(0, keys.length, ...keys.filter((key) => key.id !== id));
  const server: KeyServer = {
    keys,
    drop,
    ...startServer(async ({ body }) => {
      const { query, variables } = RequestBody.parse(JSON.parse(body));
      // Like other servers, it has neither pages, nor look-ups, nor introspection.
      if (/apiKeyConnection|apiKeysByName|__type/.test(query)) {
        return Response.json({ errors: [{ message: "Cannot query field" }] });
      }
      if (!query.includes("delete")) return Response.json({ data: { apiKeys: keys } });
      const ids = variables?.input?.ids ?? [];
      const response = await beforeDelete(ids, server);
      if (response !== undefined) return response;
      const allExist = ids.every((id) => keys.some((key) => key.id === id));
      if (allExist) ids.forEach(drop);
      return Response.json({ data: { apiKey: { delete: allExist } } });
    }),
  };
  return server;
}
