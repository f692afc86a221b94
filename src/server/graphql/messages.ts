/** A request for GraphQL and its answer, as every transport can give and take them. */
import { Failure } from "../../apikey/failure.ts";

export interface GraphqlRequest {
  readonly method: string;
  /** Path and query, or the whole URL. */
  readonly url: string;
  /** @returns the value of a header, by its name in lower case; `null` when there is none */
  readonly header: (name: string) => string | null;
  /** @throws {HttpRefusal} when it is too large or does not come */
  readonly body: () => Promise<string>;
  /** The client's IP address; `null` for the local caller. */
  readonly address: string | null;
  readonly requestId: string | null;
  /** Whether somebody still waits for the answer. */
  readonly isWanted: () => boolean;
}

export interface GraphqlResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The id of the key that was let in. */
  readonly keyId?: string | undefined;
  /** The code of the first error, unless the document itself was at fault. */
  readonly code?: string | undefined;
}

/** Answers requests for GraphQL. It never rejects. */
export type Handler = (request: GraphqlRequest) => Promise<GraphqlResponse>;

/** Takes log records: a message with `{placeholders}`, and the properties that fill them. */
export type LogSink = (message: string, properties: Record<string, unknown>) => void;

/** A request that is refused for what it is in HTTP, with a status of its own. */
export class HttpRefusal extends Failure {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super("USAGE", message);
  }
}

const GRAPHQL_RESPONSE = "application/graphql-response+json";

/** The headers of an answer that this module's users make themselves: of the type that the client prefers, for it alone. */
export function headersFor(request: GraphqlRequest): Readonly<Record<string, string>> {
  const type = request.header("accept")?.toLowerCase().includes(GRAPHQL_RESPONSE)
    ? GRAPHQL_RESPONSE
    : "application/json";
  return { "content-type": `${type}; charset=utf-8`, ...PRIVATE };
}

/** Answers may hold a secret: no cache keeps them. */
export const PRIVATE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
