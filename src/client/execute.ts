/** Executes one GraphQL operation and validates the data that comes back. */
import { ClientError, GraphQLClient } from "graphql-request";
import * as z from "zod/mini";
import { Failure, NOTHING_CHANGED } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { badResponse, failureIn, type GraphqlAnswer, RequestRejected } from "./response_failure.ts";
import { post } from "./transport.ts";

/**
 * Executes a document with one operation.
 *
 * @param createShape returns what the `data` of the answer must look like; called while the server works
 * @returns the data
 * @throws {Failure} of any kind. After `BAD_RESPONSE` and `TIMEOUT` the server may have executed the operation.
 */
export async function execute<Data>(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
  createShape: () => z.ZodMiniType<Data>,
): Promise<Data> {
  const pending = request(endpoint, document, variables);
  const shape = createShape();
  const { data, ...answer } = await pending;
  const failure = failureIn({ ...answer, data }, endpoint);
  if (failure !== undefined) throw failure;
  const result = z.safeParse(shape, data);
  if (result.success) return result.data;
  throw badResponse(describeIssue(result.error), endpoint);
}

async function request(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<GraphqlAnswer> {
  const client = new GraphQLClient(endpoint.url, {
    // Every document has one operation. Finding its name would take a parser.
    excludeOperationName: true,
    errorPolicy: "all",
    fetch: async (_url, init) => {
      const { status, body } = await post(endpoint, String(init?.body));
      // Some servers label JSON as plain text.
      return new Response(body === "" ? null : body, { status, headers: { "content-type": "application/json" } });
    },
  });
  try {
    const { status, headers, data, errors } = await client.rawRequest<unknown>(document, variables);
    return { status, headers, data, errors };
  } catch (error) {
    if (error instanceof ClientError) {
      const { status, headers, data, errors } = error.response;
      return { status, headers: new Headers(headers), data, errors };
    }
    if (!(error instanceof Failure)) throw badResponse("the answer is not a GraphQL result", endpoint);
    // A query changes nothing, even if the server received it.
    const isQuery = document.startsWith("query");
    if (error.code === "INTERRUPTED" && isQuery) throw new Failure("INTERRUPTED", NOTHING_CHANGED, { cause: error });
    throw error;
  }
}

/** The first problem and its place, without the value: it may be a secret. */
function describeIssue({ issues: [issue] }: z.core.$ZodError): string {
  const place = issue?.path.map((part) => typeof part === "number" ? `[${part}]` : `.${String(part)}`).join("") ?? "";
  const expected = issue?.code === "invalid_type" ? `expected ${issue.expected}` : "unexpected value";
  return `${place.replace(/^\./, "")}: ${expected}`;
}

/**
 * Calls `attempt`. If the server rejects its document because the schema lacks a field, calls `fallback` instead.
 *
 * @throws {Failure} what the last call throws
 */
export async function withFallback<Result>(
  attempt: () => Promise<Result>,
  fallback: () => Promise<Result>,
): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof RequestRejected && error.code === "FAILED")) throw error;
    return await fallback();
  }
}
