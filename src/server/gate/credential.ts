/** Finds the key that a request to the gate carries: in `Authorization: Bearer` (RFC 6750 section 2.1) or in `X-API-Key`. */
import type { HttpRequest } from "../graphql/http_message.ts";

/**
 * The secret of a request. `undefined` if the request carries no key. `"ambiguous"` if it carries more than one, so that
 * the gate and the service behind it could disagree about which one counts.
 */
export type Credential = { readonly secret: string } | "ambiguous" | undefined;

/** Reads the secret of a request. Ignores other schemes of the `Authorization` header. */
export function readCredential({ header }: Pick<HttpRequest, "header">): Credential {
  const authorization = header("authorization");
  const bearer = authorization === null ? undefined : /^\s*bearer(?:\s+(.*?))?\s*$/is.exec(authorization);
  const bare = header("x-api-key");
  if (bare === null) return bearer?.[1] ? { secret: bearer[1] } : undefined;
  if (bearer) return "ambiguous";
  return bare.trim() === "" ? undefined : { secret: bare.trim() };
}
