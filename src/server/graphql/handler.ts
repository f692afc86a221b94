/**
 * GraphQL over HTTP, as a function from request to response: authenticate, then let `graphql-http` parse, validate
 * and execute. `serve` puts it on the network; embedded mode hands it to the client as its `fetch`.
 */
import type { GraphQLError } from "graphql";
import { createHandler } from "graphql-http";
import { Failure } from "../../apikey/failure.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { Authenticator, type HashSecret } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import { createDocumentCache } from "./document_cache.ts";
import { codeOf, refuse, toPublicError, unavailable } from "./errors.ts";
import {
  type GraphqlRequest,
  type GraphqlResponse,
  type Handler,
  headersFor,
  HttpRefusal,
  type LogSink,
  PRIVATE,
} from "./messages.ts";
import { LastUse } from "../auth/last_use.ts";
import type { DocumentLimits } from "./limits.ts";
import type { RequestContext } from "../keys/request_context.ts";
import { schema } from "./schema.ts";
import { FailureThrottle } from "../auth/throttle.ts";

export interface HandlerOptions {
  readonly store: KeyStore;
  readonly hashSecret: HashSecret;
  /** How often an address may fail to authenticate within a minute; 0 for any number. */
  readonly maxAuthFailures: number;
  /** Who a request without an `Authorization` header comes from; without it such requests are refused. */
  readonly anonymous?: Caller;
  readonly limits: DocumentLimits;
  /** Documents that are known to be valid. */
  readonly validDocuments?: readonly string[];
  readonly now: () => Date;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
}

/** The methods of the endpoint. HEAD is GET, and whoever sends the answer leaves its body out. */
const METHODS = ["GET", "HEAD", "POST", "OPTIONS"];
const ALLOW = { allow: METHODS.join(", ") };

/** Refusals of `graphql-http` that come without words. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [405, "A mutation takes a POST."],
  [406, "The answer can be application/graphql-response+json or application/json: accept one of them."],
  [415, "The body has to be application/json, in UTF-8."],
]);

/** How long a body may take before the key that came with its headers is looked at again, in milliseconds. */
const SLOW_BODY = 50;

/** One operation on its way through `graphql-http`. */
interface Passage {
  readonly context: RequestContext;
  /** What went wrong while it was executed. */
  errors?: readonly GraphQLError[] | undefined;
  hasData?: boolean;
}

export interface GraphqlHandler {
  /** Answers what comes to `{base_url}/graphql`. */
  readonly answer: Handler;
  /** The uses of keys that are still to be written to the store. */
  readonly lastUse: LastUse;
}

/** Makes the handler of `{base_url}/graphql`. */
export function createGraphqlHandler(options: HandlerOptions): GraphqlHandler {
  const { store, hashSecret, maxAuthFailures, anonymous, limits, now, logError } = options;
  const lastUse = new LastUse(store);
  const throttle = new FailureThrottle(maxAuthFailures);
  const authenticator = new Authenticator({ store, lastUse, hashSecret, throttle });
  const audience = { isLocal: anonymous !== undefined, logError };
  const runOperation = createHandler<GraphqlRequest, Passage, RequestContext>({
    schema,
    ...createDocumentCache(limits, options.validDocuments),
    context: ({ context }) => context.context,
    onOperation: ({ context: passage }, _arguments, result) => {
      if (!("data" in result)) return;
      passage.errors = result.errors;
      passage.hasData = result.data !== null;
    },
    formatError: (error) => toPublicError(error, audience),
  });

  async function authenticate({ header, address }: GraphqlRequest): Promise<Caller> {
    const authorization = header("authorization");
    if (authorization === null && anonymous !== undefined) return anonymous;
    return await authenticator.authenticate(authorization, address, now());
  }

  async function execute(request: GraphqlRequest): Promise<GraphqlResponse> {
    const { method, url, header, address, requestId } = request;
    // Whoever has no key is not listened to.
    let caller = await authenticate(request);
    // `graphql-http` knows this type in one spelling only.
    const isPostedJson = method === "POST" && isJson(header("content-type"));
    const asked = performance.now();
    const posted = isPostedJson ? await readOneOperation(request) : null;
    // By now the key may be gone.
    if (performance.now() - asked > SLOW_BODY) caller = await authenticate(request);
    const origin = { at: now(), actor: caller.key, address, requestId };
    const requireInterest = (): void => {
      if (!request.isWanted()) throw new Failure("INTERRUPTED", "Nobody waits for the answer any more.");
    };
    let keys = 0;
    const countKey = (): void => {
      if (++keys <= limits.keys) return;
      throw new Failure("USAGE", `An answer can have ${limits.keys} keys at most: ask for one by name or by id.`);
    };
    const passage: Passage = {
      context: { store, lastUse, hashSecret, caller, origin, requireInterest, countKey, logError },
    };
    const [body, { status, headers = {} }] = await runOperation({
      method: method === "HEAD" ? "GET" : method,
      url,
      headers: { get: isPostedJson ? (name) => name === "content-type" ? "application/json" : header(name) : header },
      body: posted,
      raw: request,
      context: passage,
    });
    const keyId = caller.key?.id;
    const words = REFUSALS.get(status);
    if (words !== undefined) {
      return { ...refuse(new HttpRefusal(status, words, headers), request, audience), keyId };
    }
    const code = passage.errors?.map(codeOf)[0];
    const away = passage.hasData === false ? unavailable(code) : undefined;
    const typed = status === 400 ? headersFor(request) : { ...headers, ...PRIVATE };
    return { status: away?.status ?? status, headers: { ...typed, ...away?.headers }, body, keyId, code };
  }

  async function answer(request: GraphqlRequest): Promise<GraphqlResponse> {
    const { method } = request;
    try {
      if (method === "OPTIONS") return { status: 204, headers: ALLOW, body: null };
      if (!METHODS.includes(method)) throw new HttpRefusal(405, `GraphQL takes ${ALLOW.allow}.`, ALLOW);
      return await execute(request);
    } catch (error) {
      return refuse(error, request, audience);
    }
  }

  return { answer, lastUse };
}

/** Whether a body is JSON in UTF-8, which is what JSON is where nothing else is said (RFC 8259 section 8.1). */
function isJson(contentType: string | null): boolean {
  const [type = "", ...parameters] = contentType?.toLowerCase().split(";").map((part) => part.trim()) ?? [];
  return type === "application/json" &&
    parameters.every((parameter) => !parameter.startsWith("charset") || /^charset\s*=\s*"?utf-?8"?$/.test(parameter));
}

async function readOneOperation(request: GraphqlRequest): Promise<string> {
  const body = await request.body();
  if (!/^\s*\[/.test(body)) return body;
  throw new HttpRefusal(400, "This server takes one operation a request, not a list of them.");
}
