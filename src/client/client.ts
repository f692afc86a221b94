/** The operations of the GraphQL contract, on any server that has it. */
import * as v from "valibot";
import { Failure, NOTHING_CHANGED } from "../apikey/failure.ts";
import { type Name, nameTaken } from "../apikey/name.ts";
import { groupByResource, type Permission } from "../apikey/permission.ts";
import type { Role } from "../apikey/role.ts";
import { type Answer, badResponse, type Endpoint, failureIn, post, RequestRefused } from "./transport.ts";

export interface NewKey {
  readonly name: Name;
  readonly description: string | undefined;
  readonly roles: readonly Role[];
  readonly permissions: readonly Permission[];
  /** Replace the key of that name, if there is one. */
  readonly overwrite: boolean;
}

/** A key with its secret, as the answer to `create` has it. */
export type CreatedKey = v.InferOutput<typeof CreatedKey>;

export type KeyReference = v.InferOutput<typeof KeyReference>;

/** A key as a person tells it from others. What a server does not tell of it is `null`, or no role. */
export type KeySummary = v.InferOutput<typeof KeySummary>;

/** An event of the audit trail, with the members that it has in GraphQL. */
export type AuditEvent = v.InferOutput<typeof AuditEvent>;

export interface FoundKeys {
  readonly matches: readonly KeyReference[];
  /** Whether the server has any key at all, of whatever name. */
  readonly anyKey: boolean;
}

export interface Client {
  /**
   * Creates a key. The result is never one that was there before, unless `overwrite` is set.
   *
   * @throws {Failure} `ALREADY_EXISTS`, or any failure of a request
   */
  create(key: NewKey): Promise<CreatedKey>;
  /** Looks a name up, on the embedded server without reading the other keys. */
  find(name: Name): Promise<FoundKeys>;
  /** Every key that the caller may read, in the server's order. */
  list(): Promise<readonly KeySummary[]>;
  /**
   * Asks something harmless that needs a valid key.
   *
   * @returns the key that asks, or `undefined` where the server does not tell
   * @throws {Failure} `UNAUTHENTICATED`, or any failure of a request
   */
  identify(): Promise<KeyReference | undefined>;
  /** @returns whether the server says that it removed them */
  remove(keys: readonly KeyReference[]): Promise<boolean>;
  /**
   * A page of the audit trail, oldest first.
   *
   * @param after the id of the event before the first one; from the beginning without it
   * @throws {Failure} `FAILED` when the server has no audit trail, or any failure of a request
   */
  events(after: string | undefined, limit: number): Promise<readonly AuditEvent[]>;
  /** Posts a body as it is (spec section 4.3) and hands back the answer with the failure it reports, if any. */
  send(body: string): Promise<{ readonly answer: Answer; readonly failure: Failure | undefined }>;
}

const KeyReference = v.object({ id: v.pipe(v.string(), v.minLength(1)), name: v.string() });
const CreatedKey = v.object({ ...KeyReference.entries, key: v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/)) });
const CreateAnswer = v.object({ apiKey: v.object({ create: CreatedKey }) });
const CreateOnEmbeddedAnswer = v.object({
  apiKey: v.object({ refusesTakenNames: v.literal(true), create: CreatedKey }),
});
const KeySummary = v.object({
  ...KeyReference.entries,
  description: v.nullable(v.string()),
  roles: v.array(v.string()),
  createdAt: v.nullable(v.string()),
});
const ListAnswer = v.object({ apiKeys: v.array(KeyReference) });
const ListSummariesAnswer = v.object({ apiKeys: v.array(KeySummary) });
const MeAnswer = v.object({ me: v.nullable(KeyReference) });
const FindAnswer = v.object({ apiKeysByName: v.array(KeyReference), apiKeysExist: v.boolean() });
const AuditKey = v.object({ id: v.nullable(v.string()), name: v.nullable(v.string()) });
const AuditEvent = v.object({
  id: v.string(),
  at: v.string(),
  action: v.string(),
  outcome: v.string(),
  key: AuditKey,
  actor: v.nullable(AuditKey),
  address: v.nullable(v.string()),
  requestId: v.nullable(v.string()),
});
const EventsAnswer = v.object({ auditEvents: v.array(AuditEvent) });
const DeleteAnswer = v.object({ apiKey: v.object({ delete: v.boolean() }) });

/** What the `data` of an answer has to look like. */
type Shape<Type> = v.GenericSchema<unknown, Type>;

const CREATE = `mutation CreateApiKey($input: CreateApiKeyInput!) {
  apiKey { create(input: $input) { id key name } }
}`;

/** Where a server lacks `refusesTakenNames` the document is invalid and nothing is executed. */
const CREATE_ON_EMBEDDED = `mutation CreateApiKey($input: CreateApiKeyInput!) {
  apiKey { refusesTakenNames create(input: $input) { id key name } }
}`;

const LIST = `query ListApiKeys { apiKeys { id name } }`;

const LIST_SUMMARIES = `query ListApiKeys { apiKeys { id name description roles createdAt } }`;

const ME = `query WhoAmI { me { id name } }`;

const FIND_ON_EMBEDDED = `query FindApiKeys($name: String!) {
  apiKeysByName(name: $name) { id name }
  apiKeysExist
}`;

const DELETE = `mutation DeleteApiKeys($input: DeleteApiKeyInput!) { apiKey { delete(input: $input) } }`;

const EVENTS = `query ListAuditEvents($after: String, $first: Int!) {
  auditEvents(after: $after, first: $first) {
    id at action outcome key { id name } actor { id name } address requestId
  }
}`;

/** Every document that a client sends of itself; the embedded server takes them for valid, which a test sees to. */
export const DOCUMENTS: readonly string[] = [
  CREATE,
  CREATE_ON_EMBEDDED,
  LIST,
  LIST_SUMMARIES,
  ME,
  FIND_ON_EMBEDDED,
  DELETE,
  EVENTS,
];

export function createClient(endpoint: Endpoint): Client {
  async function send(body: string): Promise<{ readonly answer: Answer; readonly failure: Failure | undefined }> {
    const answer = await post(endpoint, body);
    return { answer, failure: failureIn(answer, endpoint) };
  }

  async function run<Type>(document: string, variables: object, shape: Shape<Type>): Promise<Type> {
    const answer = await ask(document, variables);
    const parsed = v.safeParse(v.object({ data: shape }), answer.json);
    if (parsed.success) return parsed.output.data;
    const [issue] = parsed.issues;
    // What was received instead may be a secret.
    throw badResponse(`${v.getDotPath(issue) ?? "data"}: not ${issue.expected}`, endpoint);
  }

  async function ask(document: string, variables: object): Promise<Answer> {
    try {
      const { answer, failure } = await send(JSON.stringify({ query: document, variables }));
      if (failure === undefined) return answer;
      throw failure;
    } catch (error) {
      const isInterrupted = error instanceof Failure && error.code === "INTERRUPTED";
      throw isInterrupted && document.startsWith("query") ? notChanged(error) : error;
    }
  }

  async function list(): Promise<readonly KeyReference[]> {
    return (await run(LIST, {}, ListAnswer)).apiKeys;
  }

  async function createWith(
    document: string,
    key: NewKey,
    shape: Shape<v.InferOutput<typeof CreateAnswer>>,
  ): Promise<CreatedKey> {
    const input = {
      name: key.name,
      ...(key.description === undefined ? {} : { description: key.description }),
      ...(key.roles.length === 0 ? {} : { roles: key.roles }),
      ...(key.permissions.length === 0 ? {} : { permissions: groupByResource(key.permissions) }),
      ...(key.overwrite ? { overwrite: true } : {}),
    };
    return (await run(document, { input }, shape)).apiKey.create;
  }

  /** For servers that may answer a create of a taken name with the key that exists. */
  async function createIfNew(key: NewKey): Promise<CreatedKey> {
    const before = await list();
    if (before.some(({ name }) => name.normalize("NFC") === key.name)) throw nameTaken(key.name);
    const created = await createWith(CREATE, key, CreateAnswer);
    if (before.some(({ id }) => id === created.id)) throw nameTaken(key.name);
    return created;
  }

  return {
    create: (key) =>
      key.overwrite
        ? createWith(CREATE, key, CreateAnswer)
        : unlessRefused(() => createWith(CREATE_ON_EMBEDDED, key, CreateOnEmbeddedAnswer), () => createIfNew(key)),

    find: (name) =>
      unlessRefused(async () => {
        const { apiKeysByName, apiKeysExist } = await run(FIND_ON_EMBEDDED, { name }, FindAnswer);
        return { matches: apiKeysByName, anyKey: apiKeysExist };
      }, async () => {
        const keys = await list();
        return { matches: keys.filter((key) => key.name.normalize("NFC") === name), anyKey: keys.length > 0 };
      }),

    list: () =>
      unlessRefused(
        async () => (await run(LIST_SUMMARIES, {}, ListSummariesAnswer)).apiKeys,
        async () => (await list()).map((key) => ({ ...key, description: null, roles: [], createdAt: null })),
      ),

    identify: async () => {
      try {
        const me = await unlessRefused(async () => (await run(ME, {}, MeAnswer)).me, () => Promise.resolve(null));
        // Some servers answer strangers too, with nobody.
        if (me === null) await list();
        return me ?? undefined;
      } catch (error) {
        // A key that is told so is a valid one.
        if (error instanceof Failure && error.code === "FORBIDDEN") return undefined;
        throw error;
      }
    },

    remove: async (keys) => {
      const input = { ids: keys.map(({ id }) => id) };
      return (await run(DELETE, { input }, DeleteAnswer)).apiKey.delete;
    },

    events: async (after, first) => {
      try {
        return (await run(EVENTS, { after, first }, EventsAnswer)).auditEvents;
      } catch (error) {
        if (!(error instanceof RequestRefused && error.message.includes("auditEvents"))) throw error;
        throw new Failure(
          "FAILED",
          `${endpoint.label} has no audit trail to show: its schema lacks Query.auditEvents.`,
          {
            cause: error,
          },
        );
      }
    },

    send,
  };
}

/** An interrupted question, of which nothing has to be feared. */
function notChanged(cause: Failure): Failure {
  return new Failure("INTERRUPTED", NOTHING_CHANGED, { cause });
}

/** Does `act`, or `otherwise` when the server refuses its document, as it does when its schema lacks a field. */
async function unlessRefused<Result>(act: () => Promise<Result>, otherwise: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof RequestRefused && error.code === "FAILED")) throw error;
    return await otherwise();
  }
}
