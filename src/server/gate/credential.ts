/** Finds the key that a request to the gate carries. */
import { Failure } from "../../apikey/failure.ts";
import { HttpError, type HttpRequest } from "../graphql/http_message.ts";
import { challenge } from "./challenge.ts";

/**
 * Returns the secret in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`. Ignores other schemes of the
 * `Authorization` header.
 *
 * @throws {HttpError} 400 if both headers carry a key: the service behind the proxy could use the other one
 * @throws {Failure} `UNAUTHENTICATED` if the request carries no key
 */
export function readSecret(request: Pick<HttpRequest, "header">): string {
  const bearer = /^\s*bearer(?: +(.*?))?\s*$/is.exec(request.header("authorization") ?? "");
  const bare = request.header("x-api-key");
  if (bearer !== null && bare !== null) {
    throw new HttpError(
      400,
      "Send the key in Authorization or in X-API-Key, not in both.",
      challenge("invalid_request"),
    );
  }
  const secret = (bare ?? bearer?.[1])?.trim() ?? "";
  if (secret !== "") return secret;
  throw new Failure("UNAUTHENTICATED", "Send a key as Authorization: Bearer <API_KEY> or as X-API-Key: <API_KEY>.");
}
