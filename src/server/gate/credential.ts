/** Finds the key that a request to the gate carries. */
import { Failure } from "../../apikey/failure.ts";
import { HttpError, type HttpRequest } from "../graphql/http_message.ts";
import { challenge } from "./challenge.ts";

// Created only once, because creating an error takes longer than the rest of a refusal.
const NO_KEY = new Failure(
  "UNAUTHENTICATED",
  "Send a key as Authorization: Bearer <API_KEY> or as X-API-Key: <API_KEY>.",
);

/**
 * Returns the secret in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`. Ignores other schemes of the
 * `Authorization` header.
 *
 * @throws {HttpError} 400 if the request carries more than one key: the service behind the proxy could use the other one
 * @throws {Failure} `UNAUTHENTICATED` if the request carries no key
 */
export function readSecret(request: Pick<HttpRequest, "header">): string {
  const authorization = request.header("authorization");
  const bearer = authorization === null ? null : /^bearer(?!\S)(.*)$/is.exec(authorization.trim());
  const bare = request.header("x-api-key");
  if (bearer !== null && bare !== null) throw ambiguous("Send the key in Authorization or in X-API-Key, not in both.");
  const secret = (bare ?? bearer?.[1] ?? "").trim();
  // A proxy may join two headers with the same name (RFC 9110 section 5.3). No key contains a comma.
  if (secret.includes(",")) throw ambiguous("Send only one key.");
  if (secret !== "") return secret;
  throw NO_KEY;
}

function ambiguous(message: string): HttpError {
  return new HttpError(400, message, challenge("invalid_request"));
}
