/**
 * Handles GraphQL requests. The handler authenticates the caller, and `graphql-http` parses, validates and executes the
 * document. `serve` calls the handler for each HTTP request to `/graphql`. If a command runs the server inside its own
 * process, the client calls the handler instead of `fetch`.
 */
import { GraphQLError, type GraphQLSchema } from "graphql";
import { createHandler } from "graphql-http";
import { Failure } from "../../apikey/failure.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { Authenticator, type HashSecret } from "../auth/authenticator.ts";
import { type Caller, localCaller } from "../auth/caller.ts";
import { type KnownResources, ResourceCache } from "../auth/known_resources.ts";
import { LastUse } from "../auth/last_use.ts";
import { FailureThrottle } from "../auth/throttle.ts";
import type { Lifetimes } from "../keys/expiry.ts";
import { MAX_SCAN } from "../keys/pages/list_page.ts";
import { RefusalAudit } from "../keys/refusal_audit.ts";
import type { RequestContext } from "../keys/request_context.ts";
import { sanitizeText } from "../keys/sanitize_text.ts";
import type { LogError } from "../telemetry/log_error.ts";
import { createDocumentCache } from "./document_cache.ts";
import { codeOf, toErrorResponse, toPublicError, unavailable } from "./errors.ts";
import {
  type Handler,
  hasMediaType,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  NO_STORE,
  responseHeaders,
} from "./http_message.ts";
import type { DocumentLimits } from "./limits.ts";
import { ResponseSize, ResponseSizes } from "../keys/response_size.ts";
import { schema } from "./schema.ts";
import { withResources } from "./schema_with_resources.ts";

export interface HandlerOptions {
  readonly store: KeyStore;
  readonly hashSecret: HashSecret;
  /** How many times per minute a client address may fail to authenticate; 0 for no limit. */
  readonly maxAuthFailures: number;
  /** Whether a request without an `Authorization` header is from the local caller. If not set, it is rejected. */
  readonly acceptsLocalCaller?: boolean;
  /** The name of the local caller's user, for the audit trail. */
  readonly localUser?: string | undefined;
  readonly limits: DocumentLimits;
  /** If it is not set, keys can live forever. */
  readonly lifetimes?: Lifetimes | undefined;
  /** Documents that are known to be valid. They are not validated again. */
  readonly validDocuments?: readonly string[];
  /** See `FailureThrottle`. */
  readonly clock?: (() => number) | undefined;
  readonly now: () => Date;
  readonly logError: LogError;
}

/** The handler answers HEAD like GET. The transport omits the body. */
const METHODS = ["GET", "HEAD", "POST", "OPTIONS"];
const ALLOW_HEADER = { allow: METHODS.join(", ") };

/** Messages for the statuses for which `graphql-http` sends no body. */
const STATUS_MESSAGES: ReadonlyMap<number, string> = new Map([
  [405, "GET accepts only queries. Send mutations with POST."],
  [406, "The Accept header allows no supported type. Accept application/graphql-response+json or application/json."],
  [415, "The body must be application/json in UTF-8."],
]);

/** One request while `graphql-http` executes it. */
interface Execution {
  readonly context: RequestContext;
  /** The errors of the result. Not set if there are none, or if nothing was executed. */
  errors?: readonly GraphQLError[] | undefined;
  /** Whether the result has data. Not set if nothing was executed. */
  hasData?: boolean;
}

/** The handler of `graphql-http` for one schema. */
type Executor = ReturnType<typeof createHandler<HttpRequest, Execution, RequestContext>>;

export interface GraphqlHandler {
  /** Answers requests to `{base_url}/graphql`. */
  readonly handle: Handler;
  /**
   * Writes the counts of refused changes and the times of last use to the store, if they are only in memory.
   *
   * @throws {Failure} `UNREACHABLE` or `TIMEOUT` if the times of last use cannot be written
   */
  readonly writePending: () => Promise<void>;
  /** For the other endpoints that need a key. */
  readonly authenticator: Authenticator;
  readonly refusals: RefusalAudit;
}

/** Creates the handler of `{base_url}/graphql`. */
export function createGraphqlHandler(options: HandlerOptions): GraphqlHandler {
  const { store, hashSecret, maxAuthFailures, acceptsLocalCaller = false, limits, lifetimes = {}, now, logError } =
    options;
  const localUser = options.localUser && sanitizeText(options.localUser);
  const lastUse = new LastUse(store);
  const refusals = new RefusalAudit(store, logError);
  const throttle = new FailureThrottle(maxAuthFailures, options.clock);
  const resources = new ResourceCache(store);
  const authenticator = new Authenticator({ store, resources, lastUse, hashSecret, throttle });
  const errorOptions = { exposeStoreErrors: acceptsLocalCaller, logError };
  const sizes = new ResponseSizes(limits.responseSize);
  const createExecutor = (schema: GraphQLSchema): Executor =>
    createHandler<HttpRequest, Execution, RequestContext>({
      schema,
      ...createDocumentCache(limits, options.validDocuments),
      context: ({ context }) => context.context,
      onOperation: ({ context: execution }, _arguments, result) => {
        if (!("data" in result)) return undefined;
        const originalError = execution.context.size.failure;
        const answer = originalError === undefined
          ? result
          : { data: null, errors: [new GraphQLError(originalError.message, { originalError })] };
        execution.errors = answer.errors;
        execution.hasData = answer.data !== null;
        return answer;
      },
      formatError: (error) => toPublicError(error, errorOptions),
    });
  const executeOnBase = createExecutor(schema);
  let extended: { readonly resources: KnownResources; readonly executor: Executor } | undefined;

  /** Each list of resources has its own schema and its own cached documents. */
  function executorWith(resources: KnownResources): Executor {
    if (resources.custom.length === 0) return executeOnBase;
    if (extended?.resources === resources) return extended.executor;
    const executor = createExecutor(withResources(schema, resources.custom));
    extended = { resources, executor };
    return executor;
  }

  async function authenticate(request: HttpRequest): Promise<Caller> {
    const authorization = request.header("authorization");
    if (authorization === null && acceptsLocalCaller) return localCaller(await resources.read());
    return await authenticator.authenticate(authorization, request.address, now());
  }

  function createKeyCounter(size: ResponseSize): RequestContext["countKey"] {
    let count = 0;
    return ({ description }) => {
      // The other parts of a key are small. A description is in memory even if it is not in the response.
      if (!size.add(description?.length ?? 0)) throw size.failure;
      if (++count <= limits.keys) return;
      throw new Failure(
        "USAGE",
        `The query returns more than ${limits.keys} keys. Select fewer keys, for example by name or id.`,
      );
    };
  }

  async function execute(request: HttpRequest): Promise<HttpResponse> {
    const { method, url, address, requestId, signal } = request;
    // The parser has read the headers. This lets it read a body that arrived together with them.
    await Promise.resolve();
    const isComplete = request.isComplete();
    // Authenticates first, so that the server never keeps the body of a request without a valid key in memory.
    let caller = await authenticate(request);
    const isPostedJson = method === "POST" && hasMediaType(request.header("content-type"), "application/json");
    const body = isPostedJson ? await readOneOperation(request) : null;
    // The key may have changed while the body arrived.
    if (isPostedJson && !isComplete) caller = await authenticate(request);
    const size = new ResponseSize(sizes);
    const execution: Execution = {
      context: {
        store,
        lastUse,
        hashSecret,
        caller,
        origin: {
          at: now(),
          actor: caller.key,
          localUser: caller.key === null ? localUser : undefined,
          address,
          requestId,
        },
        signal,
        countKey: createKeyCounter(size),
        size,
        refusals,
        lifetimes,
        scan: { left: MAX_SCAN },
      },
    };
    const executeOperation = executorWith(caller.resources);
    const [result, { status, headers = {} }] = await executeOperation({
      method: method === "HEAD" ? "GET" : method,
      url,
      // `graphql-http` accepts only this spelling of the media type.
      headers: {
        get: (name) => isPostedJson && name === "content-type" ? "application/json" : request.header(name),
      },
      body,
      raw: request,
      context: execution,
    });
    const keyId = caller.key?.id;
    const secret = caller.key === null ? undefined : caller.usedSecret;
    const message = STATUS_MESSAGES.get(status);
    if (message !== undefined) {
      return { ...toErrorResponse(new HttpError(status, message, headers), request, errorOptions), keyId, secret };
    }
    const code = execution.errors?.map(codeOf)[0];
    const outage = execution.hasData === false ? unavailable(code) : undefined;
    return {
      status: outage?.status ?? status,
      headers: { ...(status === 400 ? responseHeaders(request) : { ...headers, ...NO_STORE }), ...outage?.headers },
      body: result,
      keyId,
      secret,
      code,
      release: () => size.release(),
    };
  }

  async function handle(request: HttpRequest): Promise<HttpResponse> {
    const { method } = request;
    try {
      if (method === "OPTIONS") return { status: 204, headers: ALLOW_HEADER, body: null };
      if (!METHODS.includes(method)) {
        throw new HttpError(405, `GraphQL accepts only the methods ${ALLOW_HEADER.allow}.`, ALLOW_HEADER);
      }
      return await execute(request);
    } catch (error) {
      return toErrorResponse(error, request, errorOptions);
    }
  }

  return { handle, writePending: () => refusals.write().then(() => lastUse.write()), authenticator, refusals };
}

async function readOneOperation(request: HttpRequest): Promise<string> {
  const body = await request.body();
  if (!/^\s*\[/.test(body)) return body;
  throw new HttpError(400, "Send one operation per request, not a list of operations.");
}
