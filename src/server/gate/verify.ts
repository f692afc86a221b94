/**
 * `/verify`: says whether the key of a request is valid and has the permissions that the configuration of a proxy
 * requires. A proxy asks before it passes a request on (nginx `auth_request`, Caddy `forward_auth`, Traefik ForwardAuth,
 * Envoy `ext_authz`). Every answer other than 204 is a refusal.
 */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { unavailable } from "../graphql/errors.ts";
import { type Handler, type HttpRequest, type HttpResponse, NO_STORE } from "../graphql/http_message.ts";
import type { LogError } from "../telemetry/log_error.ts";
import { challenge } from "./challenge.ts";
import { readCredential } from "./credential.ts";
import { parseNeeds } from "./needs.ts";

export interface VerifyOptions {
  readonly authenticator: Authenticator;
  readonly now: () => Date;
  readonly logError: LogError;
}

/** Creates the handler of `/verify`. It answers every method alike and never reads a body. */
export function createVerifyHandler({ authenticator, now, logError }: VerifyOptions): Handler {
  async function verify(request: HttpRequest): Promise<HttpResponse> {
    const credential = readCredential(request);
    if (credential === "ambiguous") {
      return refuse(400, "USAGE", "Send only one of the headers Authorization and X-API-Key.", "invalid_request");
    }
    if (credential === undefined) {
      return refuse(
        401,
        "UNAUTHENTICATED",
        "Send a key as Authorization: Bearer <API_KEY> or as X-API-Key: <API_KEY>.",
      );
    }
    const { key, rights } = await authenticator.authenticateSecret(credential.secret, now());
    try {
      const needs = parseNeeds(request.url);
      const missing = needs.filter((need) => !rights.has(need));
      if (missing.length === 0) return { status: 204, headers: identify(key), body: null, keyId: key.id };
      const message = `This request needs ${missing.join(", ")}. The key lacks this.`;
      return { ...refuse(403, "FORBIDDEN", message, "insufficient_scope", needs), keyId: key.id };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { ...plain(400, error.message), keyId: key.id, code: error.code };
    }
  }

  return async (request) => closeIfBodyFollows(request, await verifyOrRefuse(request));

  async function verifyOrRefuse(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await verify(request);
    } catch (error) {
      const code = error instanceof Failure ? error.code : "FAILED";
      if (error instanceof Failure && code === "UNAUTHENTICATED") {
        return refuse(401, code, error.message, "invalid_token");
      }
      logError("Could not verify a key: {error}", { error });
      const outage = unavailable(code);
      return outage === undefined
        ? { ...plain(500, "The server failed unexpectedly. Its log has the details."), code }
        : { ...plain(503, "The server cannot reach its store. Try again later.", outage.headers), code };
    }
  }
}

/** Closes the connection after a request that announces a body, because the server would have to read it otherwise. */
function closeIfBodyFollows({ header }: HttpRequest, response: HttpResponse): HttpResponse {
  const isEmpty = header("transfer-encoding") === null && Number(header("content-length") ?? 0) === 0;
  return isEmpty ? response : { ...response, headers: { ...response.headers, connection: "close" } };
}

function identify({ id, name }: { readonly id: string; readonly name: string }): Readonly<Record<string, string>> {
  return { "x-api-key-id": id, "x-api-key-name": encodeURIComponent(name), ...NO_STORE };
}

/** Refuses a request with a challenge; see `challenge`. */
function refuse(
  status: number,
  code: FailureCode,
  message: string,
  ...reason: Parameters<typeof challenge>
): HttpResponse {
  return { ...plain(status, message, challenge(...reason)), code };
}

function plain(status: number, message: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...NO_STORE, ...headers },
    body: `${message}\n`,
  };
}
