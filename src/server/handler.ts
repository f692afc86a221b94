/**
 * The embedded server as a function from request to response: authenticate, then let `graphql-http` parse,
 * validate and execute. `serve` puts it on the network; embedded mode hands it to the client as its `fetch`.
 */
import { type DocumentNode, GraphQLError, parse, type Source, validate } from "graphql";
import { createHandler } from "graphql-http/fetch";
import { Failure, type FailureCode } from "../apikey/failure.ts";
import type { KeyStore } from "../store/key_store.ts";
import { authenticate, type Caller } from "./caller.ts";
import { type RequestContext, schema } from "./schema.ts";

/** Takes log records: a message with `{placeholders}`, and the properties that fill them. */
export type LogSink = (message: string, properties: Record<string, unknown>) => void;

export interface HandlerOptions {
  readonly store: KeyStore;
  /** Who a request without an `Authorization` header comes from; without it such requests are refused. */
  readonly anonymous?: Caller;
  readonly now: () => Date;
  /** Told of errors that callers are not told of. */
  readonly logError: LogSink;
}

/** Answers GraphQL requests. It never rejects. */
export type Handler = (request: Request) => Promise<Response>;

/** How many parsed and valid documents are remembered, and how long they may be, in UTF-16 code units. */
const REMEMBERED_DOCUMENTS = 500;
const LONGEST_REMEMBERED = 10_000;

/** Makes the handler of `{base_url}/graphql`. */
export function createGraphqlHandler(options: HandlerOptions): Handler {
  const { store, now, anonymous } = options;
  const documents = new Map<string, DocumentNode>();
  const valid = new WeakSet<DocumentNode>();

  const parseOnce = (source: string | Source): DocumentNode => {
    const text = typeof source === "string" ? source : source.body;
    return documents.get(text) ?? parse(text);
  };

  const validateOnce: typeof validate = (against, document, rules) => {
    if (valid.has(document)) return [];
    const errors = validate(against, document, rules);
    const text = document.loc?.source.body;
    if (errors.length > 0 || text === undefined || text.length > LONGEST_REMEMBERED) return errors;
    const [oldest] = documents.size < REMEMBERED_DOCUMENTS ? [] : documents.keys();
    if (oldest !== undefined) documents.delete(oldest);
    documents.set(text, document);
    valid.add(document);
    return errors;
  };

  return async (request) => {
    const authorization = request.headers.get("authorization");
    try {
      const caller = authorization === null && anonymous !== undefined
        ? anonymous
        : await authenticate(authorization, store);
      const answer = createHandler<RequestContext>({
        schema,
        parse: parseOnce,
        validate: validateOnce,
        context: { store, now, caller },
        formatError: (error) => toPublicError(error, options),
      });
      return await answer(request);
    } catch (error) {
      return refuse(error, options);
    }
  };
}

/**
 * What callers may know of an error, with a code of the table of failures in its extensions. `graphql-http`
 * reports a malformed request as a plain `Error`; whatever a resolver throws comes wrapped in a `GraphQLError`.
 */
function toPublicError(error: Error, { anonymous, logError }: HandlerOptions): GraphQLError {
  if (!(error instanceof GraphQLError)) return withCode(new GraphQLError(error.message), "USAGE");
  const reason = error.originalError ?? error;
  if (reason instanceof GraphQLError) return withCode(error, "USAGE");
  const code = reason instanceof Failure ? reason.code : "FAILED";
  // Where the store lies and what ails it is for whoever may read it: the local caller, or else the log.
  const isPublic = !["FAILED", "UNREACHABLE", "TIMEOUT"].includes(code) || reason instanceof Failure && anonymous;
  if (isPublic) return withCode(error, code);
  logError("A request failed: {reason}", { reason });
  const message = code === "FAILED"
    ? "The server failed inside; its log says why."
    : "The server cannot use its store now; its log says why. Try again later.";
  return new GraphQLError(message, { extensions: { code } });
}

function withCode(error: GraphQLError, code: FailureCode): GraphQLError {
  const { message, nodes = null, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions: { code } });
}

/** Answers a request that did not get as far as GraphQL. */
function refuse(reason: unknown, options: HandlerOptions): Response {
  const originalError = reason instanceof Error ? reason : new Error(String(reason));
  const error = toPublicError(new GraphQLError(originalError.message, { originalError }), options);
  const { code } = error.extensions;
  const [status, headers] = code === "UNAUTHENTICATED"
    ? [401, { "www-authenticate": 'Bearer realm="service-api"' }]
    : code === "UNREACHABLE" || code === "TIMEOUT"
    ? [503, { "retry-after": "1" }]
    : [500, {}];
  return Response.json({ errors: [error] }, { status, headers });
}
