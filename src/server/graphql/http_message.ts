/** HTTP requests and responses, independent of the network. `serve` and the server inside a command share the handlers. */
import { Failure } from "../../apikey/failure.ts";

export interface HttpRequest {
  readonly method: string;
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** @returns the value of a header, given its name in lower case; `null` if there is none */
  header(name: string): string | null;
  /** Returns whether the whole body has arrived. */
  isComplete(): boolean;
  /** @throws {HttpError} if the body is too long, incomplete or not UTF-8 */
  body(): Promise<string>;
  /** The client's IP address; `null` for a request inside this process. */
  readonly address: string | null;
  /** The id in the access log; `null` for a request inside this process. */
  readonly requestId: string | null;
  /** Aborted when the client no longer waits for the response. */
  readonly signal: Pick<AbortSignal, "aborted">;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The id of the key that authenticated the request. */
  readonly keyId?: string | undefined;
  /** `previous` if the request carried the secret before the last rotation of the key, in its grace period. */
  readonly secret?: "previous" | undefined;
  /**
   * The `FailureCode` of the first error. Not set if there was no error, if `graphql-http` rejected the request with 400,
   * or if `http/routes.ts` answered the request itself.
   */
  readonly code?: string | undefined;
  /** Called when the response is no longer in memory. */
  readonly release?: (() => void) | undefined;
}

/** Answers a request. The promise never rejects. */
export type Handler = (request: HttpRequest) => Promise<HttpResponse>;

/** An error with its own HTTP status. */
export class HttpError extends Failure {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super("USAGE", message);
  }
}

/** Prevents caching, because a response may contain a secret. */
export const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Returns whether a `Content-Type` has a media type, in UTF-8. Without a charset, JSON (RFC 8259 section 8.1) and forms are
 * in UTF-8.
 */
export function hasMediaType(contentType: string | null, mediaType: string): boolean {
  const [type = "", ...parameters] = contentType?.toLowerCase().split(";").map((part) => part.trim()) ?? [];
  return type === mediaType &&
    parameters.every((parameter) => !parameter.startsWith("charset") || /^charset\s*=\s*"?utf-?8"?$/.test(parameter));
}

const GRAPHQL_RESPONSE = "application/graphql-response+json";

/** Returns the headers of a GraphQL response. The `Accept` header of the request determines the media type. */
export function responseHeaders(request: HttpRequest): Readonly<Record<string, string>> {
  const type = request.header("accept")?.toLowerCase().includes(GRAPHQL_RESPONSE)
    ? GRAPHQL_RESPONSE
    : "application/json";
  return { "content-type": `${type}; charset=utf-8`, ...NO_STORE };
}
