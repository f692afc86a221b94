/** Sends a body that the user wrote (spec section 4.3). */
import type { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { failureIn } from "./response_failure.ts";
import { post } from "./transport.ts";

export interface BodyAnswer {
  /** The body as it came. */
  readonly body: string;
  /** The failure that the answer reports, if any. */
  readonly failure: Failure | undefined;
}

/** Posts a JSON body unchanged. */
export async function sendBody(endpoint: Endpoint, body: string): Promise<BodyAnswer> {
  const answer = await post(endpoint, body);
  return { body: answer.body, failure: failureIn({ ...answer, json: parseJson(answer.body) }, endpoint) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
