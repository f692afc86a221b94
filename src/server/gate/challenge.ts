/** The `WWW-Authenticate` header (RFC 6750 section 3). */

/** The error codes of RFC 6750 section 3.1. */
type BearerError = "invalid_request" | "invalid_token" | "insufficient_scope";

/**
 * Returns the header that says why a request is refused.
 *
 * @param error not set if the request carries no key
 * @param scope the permissions that the request needs
 */
export function challenge(error?: BearerError, scope: readonly string[] = []): Readonly<Record<string, string>> {
  const reason = error === undefined ? "" : `, error="${error}"`;
  const needs = scope.length === 0 ? "" : `, scope="${scope.join(" ")}"`;
  return { "www-authenticate": `Bearer realm="service-api"${reason}${needs}` };
}
