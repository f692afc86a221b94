/**
 * GraphQL over HTTP: this folder holds the schema and what executes it. This module is the function from request to
 * response: it authenticates, then `graphql-http` parses, validates and executes. `serve` puts it on the network;
 * embedded mode gives it to the client as its `fetch`.
 */
import type { GraphQLError } from "graphql";
import { createHandler } from "graphql-http";
import { Failure } from "../../apikey/failure.ts";
import type { KeyStore } from "../../store/key_store.ts";
import { Authenticator, type HashSecret } from "../auth/authenticator.ts";
import type { Caller } from "../auth/caller.ts";
import { LastUse } from "../auth/last_use.ts";
import { FailureThrottle } from "../auth/throttle.ts";
import type { RequestContext } from "../keys/request_context.ts";
import type { LogError } from "../telemetry/log_error.ts";
import { createDocumentCache } from "./document_cache.ts";
import { codeOf, toErrorResponse, toPublicError, unavailable } from "./errors.ts";
import {
  type Handler,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  NO_STORE,
  responseHeaders,
} from "./http_message.ts";
import type { DocumentLimits } from "./limits.ts";
import { schema } from "./schema.ts";

export interface HandlerOptions {
  readonly store: KeyStore;
  readonly hashSecret: HashSecret;
  /** How often an address may fail to authenticate per minute; 0 for no limit. */
  readonly maxAuthFailures: number;
  /** The caller of a request without an `Authorization` header. Not set: such requests are rejected. */
  readonly anonymous?: Caller;
  readonly limits: DocumentLimits;
  /** Documents that are known to be valid and therefore not validated. */
  readonly validDocuments?: readonly string[];
  readonly now: () => Date;
  readonly logError: LogError;
}

/** HEAD is answered like GET; the transport leaves the body out. */
const METHODS = ["GET", "HEAD", "POST", "OPTIONS"];
const ALLOW = { allow: METHODS.join(", ") };

/** Messages for the statuses that `graphql-http` answers without a body. */
const STATUS_MESSAGES: ReadonlyMap<number, string> = new Map([
  [405, "Send a mutation with POST."],
  [406, "The response is application/graphql-response+json or application/json. Accept one of them."],
  [415, "The body must be application/json in UTF-8."],
]);

/** If a body takes longer than this, in milliseconds, the key is authenticated again after it. */
const SLOW_BODY = 50;

/** One request while `graphql-http` executes it. */
interface Execution {
  readonly context: RequestContext;
  /** The errors and data of the result. Not set if nothing was executed. */
  errors?: readonly GraphQLError[] | undefined;
  hasData?: boolean;
}

export interface GraphqlHandler {
  /** Answers requests to `{base_url}/graphql`. */
  readonly handle: Handler;
  /** Holds the uses of keys that are not in the store yet. */
  readonly lastUse: LastUse;
}

/** Creates the handler of `{base_url}/graphql`. */
export function createGraphqlHandler(options: HandlerOptions): GraphqlHandler {
  const { store, hashSecret, maxAuthFailures, anonymous, limits, now, logError } = options;
  const lastUse = new LastUse(store);
  const throttle = new FailureThrottle(maxAuthFailures);
  const authenticator = new Authenticator({ store, lastUse, hashSecret, throttle });
  const errorOptions = { exposeStoreErrors: anonymous !== undefined, logError };
  const executeOperation = createHandler<HttpRequest, Execution, RequestContext>({
    schema,
    ...createDocumentCache(limits, options.validDocuments),
    context: ({ context }) => context.context,
    onOperation: ({ context: execution }, _arguments, result) => {
      if (!("data" in result)) return;
      execution.errors = result.errors;
      execution.hasData = result.data !== null;
    },
    formatError: (error) => toPublicError(error, errorOptions),
  });

  async function authenticate({ header, address }: HttpRequest): Promise<Caller> {
    const authorization = header("authorization");
    if (authorization === null && anonymous !== undefined) return anonymous;
    return await authenticator.authenticate(authorization, address, now());
  }

  function limitKeys(): () => void {
    let count = 0;
    return () => {
      if (++count <= limits.keys) return;
      throw new Failure("USAGE", `A response can hold at most ${limits.keys} keys. Select one key by name or id.`);
    };
  }

  async function execute(request: HttpRequest): Promise<HttpResponse> {
    const { method, url, header, address, requestId, signal } = request;
    // Authenticates first: the body of a request without a valid key is never read.
    let caller = await authenticate(request);
    const isPostedJson = method === "POST" && isJson(header("content-type"));
    const start = performance.now();
    const body = isPostedJson ? await readOneOperation(request) : null;
    // The key may have been deleted in the meantime.
    if (performance.now() - start > SLOW_BODY) caller = await authenticate(request);
    const execution: Execution = {
      context: {
        store,
        lastUse,
        hashSecret,
        caller,
        origin: { at: now(), actor: caller.key, address, requestId },
        signal,
        countKey: limitKeys(),
        logError,
      },
    };
    const [result, { status, headers = {} }] = await executeOperation({
      method: method === "HEAD" ? "GET" : method,
      url,
      // `graphql-http` knows only one spelling of this media type.
      headers: { get: isPostedJson ? (name) => name === "content-type" ? "application/json" : header(name) : header },
      body,
      raw: request,
      context: execution,
    });
    const keyId = caller.key?.id;
    const message = STATUS_MESSAGES.get(status);
    if (message !== undefined) {
      return { ...toErrorResponse(new HttpError(status, message, headers), request, errorOptions), keyId };
    }
    const code = execution.errors?.map(codeOf)[0];
    const outage = execution.hasData === false ? unavailable(code) : undefined;
    return {
      status: outage?.status ?? status,
      headers: { ...(status === 400 ? responseHeaders(request) : { ...headers, ...NO_STORE }), ...outage?.headers },
      body: result,
      keyId,
      code,
    };
  }

  async function handle(request: HttpRequest): Promise<HttpResponse> {
    const { method } = request;
    try {
      if (method === "OPTIONS") return { status: 204, headers: ALLOW, body: null };
      if (!METHODS.includes(method)) throw new HttpError(405, `GraphQL accepts only ${ALLOW.allow}.`, ALLOW);
      return await execute(request);
    } catch (error) {
      return toErrorResponse(error, request, errorOptions);
    }
  }

  return { handle, lastUse };
}

/** Whether a body is JSON in UTF-8, which is the default encoding of JSON (RFC 8259 section 8.1). */
function isJson(contentType: string | null): boolean {
  const [type = "", ...parameters] = contentType?.toLowerCase().split(";").map((part) => part.trim()) ?? [];
  return type === "application/json" &&
    parameters.every((parameter) => !parameter.startsWith("charset") || /^charset\s*=\s*"?utf-?8"?$/.test(parameter));
}

async function readOneOperation(request: HttpRequest): Promise<string> {
  const body = await request.body();
  if (!/^\s*\[/.test(body)) return body;
  throw new HttpError(400, "Send one operation per request, not a list of operations.");
}
