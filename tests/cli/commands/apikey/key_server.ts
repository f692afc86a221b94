/** A server that lists the keys it is given, and deletes them as it is told to. */
import * as v from "valibot";
import { startServer, type TestServer } from "../../../client/foreign_server.ts";

export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly roles: readonly string[];
  readonly createdAt: string;
}

export interface KeyServer extends TestServer {
  /** Those that are left. */
  readonly keys: readonly ListedKey[];
  /** Deletes a key as another caller does. */
  drop(id: string): void;
}

const Asked = v.object({
  query: v.string(),
  variables: v.optional(v.object({ input: v.optional(v.object({ ids: v.array(v.string()) })) })),
});

/** As many keys as names, with ids `1`, `2`, and so on. */
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
 * Serves keys.
 *
 * @param beforeDelete is told of each deletion; a response that it returns is the answer, and nothing is deleted
 */
export function startKeyServer(
  given: readonly ListedKey[],
  beforeDelete: (ids: readonly string[], server: KeyServer) => Response | Promise<Response> | undefined = () =>
    undefined,
): KeyServer {
  const keys = [...given];
  const drop = (id: string): void => void keys.splice(0, keys.length, ...keys.filter((key) => key.id !== id));
  const server: KeyServer = {
    keys,
    drop,
    ...startServer(async ({ body }) => {
      const { query, variables } = v.parse(Asked, JSON.parse(body));
      if (!query.includes("delete")) return Response.json({ data: { apiKeys: keys } });
      const ids = variables?.input?.ids ?? [];
      const refusal = await beforeDelete(ids, server);
      if (refusal !== undefined) return refusal;
      const all = ids.every((id) => keys.some((key) => key.id === id));
      if (all) ids.forEach(drop);
      return Response.json({ data: { apiKey: { delete: all } } });
    }),
  };
  return server;
}
