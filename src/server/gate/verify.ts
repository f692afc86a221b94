/**
 * `/verify`: says whether the key of a request is valid and has the permissions that the configuration of a proxy
 * requires. A proxy asks before it passes a request on (nginx `auth_request`, Caddy `forward_auth`, Traefik ForwardAuth,
 * Envoy `ext_authz`). Every answer other than 204 is a refusal.
 */
import { Failure, type FailureCode } from "../../apikey/failure.ts";
import { KeyRejected } from "../../apikey/rejected_key.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { unavailable } from "../graphql/errors.ts";
import { type Handler, type HttpRequest, type HttpResponse, NO_STORE } from "../graphql/http_message.ts";
import type { LogError } from "../telemetry/log_error.ts";
import type { Observer, VerificationOutcome } from "../telemetry/observer.ts";
import { challenge } from "./challenge.ts";
import { readCredential } from "./credential.ts";
import { parseNeeds } from "./needs.ts";

export interface VerifyOptions {
  readonly authenticator: Authenticator;
  readonly observer?: Pick<Observer, "verification"> | undefined;
  readonly now: () => Date;
  readonly logError: LogError;
}

/** A response and the outcome that the metrics count. */
interface Verification {
  readonly outcome: VerificationOutcome;
  readonly response: HttpResponse;
}

/** Creates the handler of `/verify`. It answers every method alike and never reads a body. */
export function createVerifyHandler({ authenticator, observer, now, logError }: VerifyOptions): Handler {
  async function verify(request: HttpRequest): Promise<Verification> {
    const credential = readCredential(request);
    if (credential === "ambiguous") {
      const message = "Send only one of the headers Authorization and X-API-Key.";
      return { outcome: "invalid_request", response: refuse(400, "USAGE", message, "invalid_request") };
    }
    if (credential === undefined) {
      const message = "Send a key as Authorization: Bearer <API_KEY> or as X-API-Key: <API_KEY>.";
      return { outcome: "missing_key", response: refuse(401, "UNAUTHENTICATED", message) };
    }
    const { key, rights } = await authenticator.authenticateSecret(credential.secret, now());
    try {
      const needs = parseNeeds(request.url);
      const missing = needs.filter((need) => !rights.has(need));
      if (missing.length === 0) {
        return { outcome: "valid", response: { status: 204, headers: identify(key), body: null, keyId: key.id } };
      }
      const message = `This request needs ${missing.join(", ")}. The key lacks this.`;
      const refusal = refuse(403, "FORBIDDEN", message, "insufficient_scope", needs);
      return { outcome: "insufficient_scope", response: { ...refusal, keyId: key.id } };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const refusal = plain(400, error.message);
      return { outcome: "invalid_request", response: { ...refusal, keyId: key.id, code: error.code } };
    }
  }

  return async (request) => {
    const { outcome, response } = await verifyOrRefuse(request);
    observer?.verification(outcome);
    return closeIfBodyFollows(request, response);
  };

  async function verifyOrRefuse(request: HttpRequest): Promise<Verification> {
    try {
      return await verify(request);
    } catch (error) {
      if (error instanceof KeyRejected) {
        return { outcome: error.reason, response: refuse(401, error.code, error.message, "invalid_token") };
      }
      const code = error instanceof Failure ? error.code : "FAILED";
      logError("Could not verify a key: {error}", { error });
      const outage = unavailable(code);
      const response = outage === undefined
        ? { ...plain(500, "The server failed unexpectedly. Its log has the details."), code }
        : { ...plain(503, "The server cannot reach its store. Try again later.", outage.headers), code };
      return { outcome: "unavailable", response };
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
