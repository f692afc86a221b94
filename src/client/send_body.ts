/** Sends a request that the user wrote: a GraphQL query, or any JSON body (spec section 4.3). */
import * as z from "zod/mini";
import type { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { badResponse, failureIn } from "./response_failure.ts";
import { post } from "./transport.ts";

export interface BodyResponse {
  /** The body of the response, unchanged. */
  readonly body: string;
  readonly isJson: boolean;
  /** The failure that the response reports, if any. */
  readonly failure: Failure | undefined;
}

/**
 * Posts a JSON body unchanged. Returns the failure that the response reports instead of throwing it.
 *
 * @throws {Failure} if there is no complete response
 */
export async function sendBody(endpoint: Endpoint, body: string): Promise<BodyResponse> {
  const response = await post(endpoint, body, !isQuery(body));
  const json = parseJson(response.body);
  const schema = z.object({ data: z.optional(z.unknown()), errors: z.optional(z.unknown()) });
  // Any other member could replace the HTTP status.
  const { data, errors } = z.safeParse(schema, json).data ?? {};
  const failure = failureIn({ ...response, data, errors }, endpoint);
  const isJson = json !== undefined;
  const notJson = isJson ? undefined : badResponse("the response is not JSON", endpoint, response);
  return { body: response.body, isJson, failure: failure ?? notJson };
}

/** Whether a body is a GraphQL request that contains no mutation, and therefore changes nothing. */
function isQuery(body: string): boolean {
  const { data } = z.safeParse(z.looseObject({ query: z.string() }), parseJson(body));
  return data !== undefined && !/\bmutation\b/.test(data.query);
}

/** @returns the parsed text; `undefined` if it is not JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
