/** Executes one GraphQL operation and validates the data in the response. */
import { GraphQLClient } from "graphql-request";
import * as z from "zod/mini";
import { Failure, type FailureCode } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { badResponse, failureIn, type GraphqlResponse, RequestRejected } from "./response_failure.ts";
import { post, type ReadResponse } from "./transport.ts";

/**
 * Executes a document with one operation.
 *
 * @param createSchema returns the zod schema for `data` in the response. To save time, it is called while the request is
 * in progress.
 * @param describe returns the failure to throw if the response reports an error; its first argument is the unvalidated
 * `data`. By default, the failure that the response reports.
 * @returns the data
 * @throws {Failure} if the request fails, or if the response is invalid or reports an error; the server may have executed
 * the operation
 */
export async function execute<Data>(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
  createSchema: () => z.ZodMiniType<Data>,
  describe: (data: unknown, failure: Failure) => Failure = (_data, failure) => failure,
): Promise<Data> {
  const pending = request(endpoint, document, variables);
  const schema = createSchema();
  const response = await pending;
  const failure = failureIn(response, endpoint);
  if (failure !== undefined) throw describe(response.data, failure);
  const result = z.safeParse(schema, response.data);
  if (result.success) return result.data;
  throw badResponse(describeIssue(result.error), endpoint, response);
}

async function request(
  endpoint: Endpoint,
  document: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<GraphqlResponse> {
  const received: { response?: ReadResponse } = {};
  const client = new GraphQLClient(endpoint.url, {
    // The server does not need the name, because every document has only one operation.
    excludeOperationName: true,
    errorPolicy: "all",
    fetch: async (_url, init) => {
      const response = await post(endpoint, String(init?.body), !document.startsWith("query"));
      received.response = response;
      // Some servers label JSON as plain text. For any other status, graphql-request discards parts of the response.
      return new Response(response.body, { status: 200, headers: { "content-type": "application/json" } });
    },
  });
  try {
    const { data, errors } = await client.rawRequest<unknown>(document, variables);
    const { response } = received;
    if (response !== undefined) return { ...response, data, errors };
    throw new Error("graphql-request returned a result without a request");
  } catch (error) {
    const { response } = received;
    if (response === undefined) throw error;
    const failure = failureIn(response, endpoint);
    throw failure ?? badResponse("the response is not a GraphQL result", endpoint, response);
  }
}

/** Describes where the first invalid value is. Does not repeat the value, because it may be a secret. */
function describeIssue({ issues: [issue] }: z.core.$ZodError): string {
  const place = issue?.path.map((part) => typeof part === "number" ? `[${part}]` : `.${String(part)}`).join("") ?? "";
  const expected = issue?.code === "invalid_type" ? `expected ${issue.expected}` : "unexpected value";
  return `${place === "" ? "data" : place.replace(/^\./, "")}: ${expected}`;
}

/**
 * Calls `attempt`. If the server rejects the document of `attempt` without a known error code, calls `fallback`. The
 * usual reason is that the server's schema lacks a field.
 *
 * @throws {Failure} the failure of `fallback` if it was called, otherwise the failure of `attempt`
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

/** The codes of failures that concern only one query: a missing field, a missing permission, or an invalid answer. */
const LIMITED_TO_QUERY: readonly FailureCode[] = ["FAILED", "FORBIDDEN", "BAD_RESPONSE"];

/** Returns what a query returns, or `undefined` if the server does not answer it but may answer other queries. */
export async function ifAnswered<Result>(query: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof Failure && LIMITED_TO_QUERY.includes(error.code)) return undefined;
    throw error;
  }
}
