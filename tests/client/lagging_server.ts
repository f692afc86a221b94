/**
 * A GraphQL server with the schema of `tests/contract.ts` that behaves like published servers with these keys. Writes
 * change its files. It answers from memory, and it reloads the files into memory a moment later. With or without
 * `overwrite`, `create` returns the key that has the name in memory, with the same id and secret.
 */
import { buildSchema, graphql } from "graphql";
import { ACTIONS, RESOURCES } from "../../src/apikey/permission.ts";
import { ROLES } from "../../src/apikey/role.ts";
import { contractSdl } from "../contract.ts";
import { type ReceivedRequest, startServer, type TestServer } from "./foreign_server.ts";

export interface LaggingKey {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly description: string | null;
  readonly roles: readonly string[];
  readonly permissions: readonly { readonly resource: string; readonly actions: readonly string[] }[];
  readonly createdAt: string;
}

export type Step = "create" | "delete" | "update" | "apiKeys" | "me";

/**
 * What the server does with a request: it rejects the request, executes it but sends no response, adds an error to the
 * response, or answers `create` with the first of the initial keys.
 */
export type Fault = "refuse" | "lose" | "answer with errors" | "answer with the first key";

export interface LaggingServerOptions {
  /** The time from a write until the server sees it, in milliseconds. By default 30. */
  readonly lag?: number;
  /** Until this promise resolves, the server sees no write. By default, it has resolved. */
  readonly firstReload?: Promise<void>;
  /** Whether the server rejects every key for a moment after each reload: the next request fails. */
  readonly rejectsAfterReload?: boolean;
  /** Whether the schema has no `update`. */
  readonly hasNoUpdate?: boolean;
  /** Whether the schema has no `me`. */
  readonly hasNoMe?: boolean;
  /** Whether the list shows `…` instead of secrets. */
  readonly masksSecrets?: boolean;
  /** Whether `delete` confirms the deletion of keys but does not delete them. */
  readonly ignoresDeletions?: boolean;
  /** Whether the server answers introspection. By default it does. */
  readonly answersIntrospection?: boolean;
  readonly roles?: readonly string[];
  readonly resources?: readonly string[];
  /**
   * Called before each step.
   *
   * @param count how often this step has been called before
   */
  readonly fault?: (step: Step, count: number, server: LaggingServer) => Fault | undefined | void;
}

export interface LaggingServer extends TestServer {
  /** The keys in the files, without the key of the caller. */
  readonly keys: readonly LaggingKey[];
  /** The steps so far, for example `create ci 12345678`. */
  readonly steps: readonly string[];
  /** Adds a key to the files, as another caller would. */
  add(key: Partial<LaggingKey> & { readonly name: string }): LaggingKey;
  /** Whether the server accepts a secret now. */
  accepts(secret: string): boolean;
}

/** The secret of the key with the role ADMIN that every server has. */
export const ADMIN_SECRET = "the-secret-of-the-admin";

const ME = `
type Me { id: PrefixedID! name: String! }
extend type Query { me: Me }
`;

const UPDATE = `
input UpdateApiKeyInput { id: PrefixedID!  name: String  description: String  roles: [Role!]  permissions: [AddPermissionInput!] }
extend type ApiKeyMutations { update(input: UpdateApiKeyInput!): ApiKey! }
`;

interface KeyInput {
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly description?: string | null;
  readonly roles?: readonly string[];
  readonly permissions?: LaggingKey["permissions"];
}

/** Starts a server on a free port of 127.0.0.1. */
export function startLaggingServer(
  initial: readonly (Partial<LaggingKey> & { readonly name: string })[],
  options: LaggingServerOptions = {},
): LaggingServer {
  const sdl = contractSdl({
    roles: options.roles ?? ROLES,
    resources: options.resources ?? RESOURCES,
    actions: ACTIONS,
  });
  const schema = buildSchema(`${sdl}
    ${options.hasNoMe ? "" : ME}
    ${options.hasNoUpdate ? "" : UPDATE}`);
  const files = new Map<string, LaggingKey>();
  let memory: ReadonlyMap<string, LaggingKey> = new Map();
  let rejectNext = false;
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const steps: string[] = [];
  const counts = new Map<Step, number>();

  function insert(key: Partial<LaggingKey> & { readonly name: string }): LaggingKey {
    const inserted = {
      id: `lag:${crypto.randomUUID()}`,
      key: `secret-${crypto.randomUUID()}`,
      description: null,
      roles: ["GUEST"],
      permissions: [],
      createdAt: new Date().toISOString(),
      ...key,
    };
    files.set(inserted.id, inserted);
    return inserted;
  }

  function write(): void {
    if (options.firstReload === undefined) reloadLater();
    else void options.firstReload.then(reloadLater);
  }

  function reloadLater(): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      memory = new Map(files);
      rejectNext = options.rejectsAfterReload ?? false;
    }, options.lag ?? 30);
    timers.add(timer);
  }

  function add(key: Partial<LaggingKey> & { readonly name: string }): LaggingKey {
    const added = insert(key);
    write();
    return added;
  }

  const byName = (name: string): LaggingKey | undefined => [...memory.values()].find((key) => key.name === name);

  /** The key of a request, if it is valid. */
  function callerOf({ headers }: ReceivedRequest): LaggingKey | undefined {
    const secret = headers.get("x-api-key") ?? headers.get("authorization")?.replace("Bearer ", "");
    return [...memory.values()].find(({ key }) => key === secret);
  }

  function requireRight(caller: LaggingKey, action: string): void {
    const isAllowed = caller.roles.includes("ADMIN") ||
      caller.permissions.some(({ resource, actions }) => resource === "API_KEY" && actions.includes(action));
    if (!isAllowed) throw codedError("Forbidden resource", "FORBIDDEN");
  }

  async function execute(request: ReceivedRequest): Promise<Response> {
    const caller = callerOf(request);
    const { query, variables }: { query: string; variables: unknown } = JSON.parse(request.body);
    if (caller === undefined || rejectNext) {
      rejectNext = false;
      return Response.json({ errors: [{ message: "API key validation failed", extensions: UNAUTHENTICATED }] });
    }
    if (query.includes("__type") && options.answersIntrospection === false) {
      return Response.json({ errors: [{ message: "GraphQL introspection is not allowed" }] }, { status: 400 });
    }
    let fault: Fault | undefined;
    const step = (name: Step, action: string, detail = ""): void => {
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      steps.push(`${name}${detail}`);
      fault = options.fault?.(name, count, server) ?? undefined;
      if (fault === "refuse") throw new Error(`${name} refused`);
      requireRight(caller, action);
    };
    const rootValue = {
      me: () => {
        step("me", "READ_ANY");
        return { id: caller.id, name: caller.name };
      },
      apiKeys: () => {
        step("apiKeys", "READ_ANY");
        const keys = [...memory.values()].filter(({ key }) => key !== ADMIN_SECRET);
        return options.masksSecrets ? keys.map((key) => ({ ...key, key: "…" })) : keys;
      },
      apiKey: {
        create: ({ input }: { readonly input: KeyInput }) => {
          const { name = "", description = null, roles = [], permissions = [] } = input;
          step("create", "CREATE_ANY", ` ${name}`);
          if (fault === "answer with the first key") return first;
          return byName(name) ?? add({ name, description, roles, permissions });
        },
        update: ({ input: { id = "", ...changes } }: { readonly input: KeyInput }) => {
          step("update", "UPDATE_ANY", ` ${changes.name}`);
          const stored = memory.get(id);
          if (stored === undefined) throw new Error("API key not found");
          if (changes.roles === undefined || changes.permissions === undefined) throw new Error("roles are required");
          const updated = { ...stored, ...changes };
          files.set(id, updated);
          write();
          return updated;
        },
        delete: ({ input: { ids = [] } }: { readonly input: KeyInput }) => {
          step("delete", "DELETE_ANY", ` ${ids.map((id) => files.get(id)?.name ?? id).join(", ")}`);
          if (!ids.every((id) => memory.has(id))) throw new Error("API keys not found");
          if (!options.ignoresDeletions) ids.forEach((id) => files.delete(id));
          write();
          return true;
        },
      },
    };
    const result = await graphql({
      schema,
      source: query,
      variableValues: variables as Readonly<Record<string, unknown>>,
      rootValue,
    });
    if (fault === "lose") return truncatedResponse();
    if (fault === "answer with errors") return Response.json({ ...result, errors: [{ message: "the disk is full" }] });
    return Response.json(result);
  }

  const http = startServer(execute);
  const server: LaggingServer = {
    ...http,
    steps,
    get keys() {
      return [...files.values()].filter(({ key }) => key !== ADMIN_SECRET);
    },
    add,
    accepts: (secret) => [...memory.values()].some(({ key }) => key === secret),
    [Symbol.asyncDispose]: async () => {
      await http[Symbol.asyncDispose]();
      timers.forEach(clearTimeout);
    },
  };
  insert({ name: "admin", key: ADMIN_SECRET, roles: ["ADMIN"] });
  const [first] = initial.map(insert);
  memory = new Map(files);
  return server;
}

/** A response whose connection is closed before the response is complete. */
function truncatedResponse(): Response {
  const body = new ReadableStream({
    async start(controller): Promise<void> {
      // Some versions of Deno repeat a request if its connection is closed before the first byte of the response.
      controller.enqueue(new TextEncoder().encode("{"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.error(new Error("the response is lost"));
    },
  });
  return new Response(body, { headers: { "content-length": "100" } });
}

const UNAUTHENTICATED = { code: "UNAUTHENTICATED" };

function codedError(message: string, code: string): Error {
  return Object.assign(new Error(message), { extensions: { code } });
}
