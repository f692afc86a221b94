/** Clients that change keys: over HTTP, and with commands in embedded mode. */
import { type AuditEvent, type Changer, type Contents, type Made, Refused } from "./key_changes.ts";
import { type Environment, type Running, start } from "./process.ts";

/** The body of a GraphQL response. */
interface Body {
  // deno-lint-ignore no-explicit-any -- each document has its own shape
  readonly data?: any;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
}

/** Sends a GraphQL request. Returns `undefined` if the server did not answer completely. */
export async function send(
  url: string,
  secret: string,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
): Promise<Body | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(30_000),
    });
    return await response.json();
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") throw error;
    return undefined;
  }
}

export const CREATE = "mutation ($input: CreateApiKeyInput!) { apiKey { create(input: $input) { id key } } }";
export const DELETE = "mutation ($input: DeleteApiKeyInput!) { apiKey { delete(input: $input) } }";

/** Changes keys over HTTP. Throws {@linkcode Refused} if the store is unavailable, and `Error` for other errors. */
export function httpChanger(url: string, admin: string): Changer {
  const answerTo = async (query: string, input: Readonly<Record<string, unknown>>): Promise<Body | undefined> => {
    const body = await send(url, admin, query, { input });
    const [error] = body?.errors ?? [];
    if (error === undefined) return body;
    throw new (error.extensions?.code === "UNREACHABLE" ? Refused : Error)(error.message);
  };
  return {
    create: async (name, overwrite): Promise<Made | undefined> => {
      const made = (await answerTo(CREATE, { name, overwrite, roles: ["GUEST"] }))?.data.apiKey.create;
      return made && { id: made.id, secret: made.key };
    },
    remove: async (_name, { id }) => (await answerTo(DELETE, { ids: [id] })) !== undefined,
  };
}

/** Reads a store over HTTP. */
export async function contentsOverHttp(url: string, admin: string, after: string | undefined): Promise<Contents> {
  const events: AuditEvent[] = [];
  for (let last = after;;) {
    const query = "query ($after: String) { auditEvents(first: 500, after: $after) { id action outcome key { id } } }";
    // deno-lint-ignore no-await-in-loop -- a page begins where the previous one ends
    const page: readonly AuditEvent[] = (await send(url, admin, query, { after: last }))?.data.auditEvents;
    events.push(...page);
    if (page.length < 500) break;
    last = page.at(-1)?.id;
  }
  const keys = (await send(url, admin, "{ apiKeys { id name } }"))?.data.apiKeys;
  return {
    keys,
    events,
    accepts: async (secret) => (await send(url, secret, "{ me { id } }"))?.data?.me !== undefined,
  };
}

/**
 * Changes keys with commands in embedded mode. A change counts as acknowledged if the command printed its result.
 *
 * @param onStart called with each process
 */
export function commandChanger(executable: string, env: Environment, onStart: (process: Running) => unknown): Changer {
  const run = async (args: readonly string[]): Promise<Readonly<Record<string, unknown>> | undefined> => {
    const process = start(executable, [...args, "--json"], env);
    onStart(process);
    const { stdout } = await process.outcome;
    if (!stdout.endsWith("\n")) return undefined;
    const result = JSON.parse(stdout);
    if (result.error !== undefined) throw new Error(stdout);
    return result;
  };
  return {
    create: async (name, overwrite): Promise<Made | undefined> => {
      const flags = ["--name", name, "--roles", "GUEST", ...(overwrite ? ["--overwrite"] : [])];
      const made = await run(["apikey", "--create", ...flags]);
      return made && { id: String(made["id"]), secret: String(made["key"]) };
    },
    remove: async (name) => (await run(["apikey", "--delete", "--name", name])) !== undefined,
  };
}

/** Creates the key of an administrator with a command in embedded mode. Returns its secret. */
export async function createAdmin(executable: string, env: Environment): Promise<string> {
  const { stdout, stderr } = await start(executable, ["apikey", "--create", "--name", "admin", "--roles", "ADMIN"], env)
    .outcome;
  if (stdout === "") throw new Error(stderr);
  return stdout.trim();
}
