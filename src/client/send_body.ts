/** Sends a body that the user wrote (spec section 4.3). */
import * as z from "zod/mini";
import type { Failure } from "../apikey/failure.ts";
import type { Endpoint } from "./endpoint.ts";
import { badResponse, failureIn } from "./response_failure.ts";
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
  const json = parseJson(answer.body);
  const members = z.safeParse(z.looseObject({}), json).data;
  const failure = failureIn({ ...answer, ...members }, endpoint);
  const notJson = json === undefined ? badResponse("the answer is not JSON", endpoint) : undefined;
  return { body: answer.body, failure: failure ?? notJson };
}

/** @returns the parsed text; `undefined` if it is not JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
