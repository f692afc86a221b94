/**
 * `/verify`: says whether the key of a request is valid and has the permissions that the configuration of a proxy
 * requires. A proxy asks before it passes a request on (nginx `auth_request`, Caddy `forward_auth`, Traefik ForwardAuth,
 * Envoy `ext_authz`). Every status other than 204, or 200 below `/verify/`, is a refusal.
 */
import { KeyRejected } from "../../apikey/rejected_key.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { KeyCaller } from "../auth/caller.ts";
import { type Handler, type HttpRequest, type HttpResponse, NO_STORE } from "../graphql/http_message.ts";
import type { RefusalAudit } from "../keys/refusal_audit.ts";
import type { LogError } from "../telemetry/log_error.ts";
import type { Observer, VerificationOutcome } from "../telemetry/observer.ts";
import { readSecret } from "./credential.ts";
import { createNeedsParser } from "./needs.ts";
import { InsufficientScope, type Problem, problemOf } from "./problem.ts";
import { countRefusal } from "./refusal_count.ts";

export interface GateOptions {
  readonly authenticator: Authenticator;
  readonly refusals: Pick<RefusalAudit, "count">;
  readonly observer?: Pick<Observer, "verification"> | undefined;
  readonly now: () => Date;
  readonly logError: LogError;
}

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", ...NO_STORE };

/** Creates the handler of `/verify`. It treats all methods alike, never reads a body and never throttles a client. */
export function createVerifyHandler({ authenticator, refusals, observer, now, logError }: GateOptions): Handler {
  const parseNeeds = createNeedsParser();

  async function verify(request: HttpRequest): Promise<HttpResponse> {
    const at = now();
    let caller: KeyCaller | undefined;
    try {
      const identified = await authenticator.identify(readSecret(request), at);
      if (identified instanceof KeyRejected) return refuse(identified, request, at);
      caller = identified;
      const { key, rights, resources, usedSecret: secret } = caller;
      const needs = parseNeeds(request.url, resources.names);
      const missing = needs.filter((need) => !rights.has(need));
      if (missing.length > 0) throw new InsufficientScope(403, needs, missing);
      observer?.verification("valid");
      const headers = { "x-api-key-id": key.id, "x-api-key-name": encodeURIComponent(key.name), ...NO_STORE };
      // Envoy, which asks below `/verify/`, lets a request pass only on 200.
      const isBelow = request.url.startsWith("/verify/");
      const answer = { status: isBelow ? 200 : 204, headers, body: isBelow ? "" : null, keyId: key.id, secret };
      return closeIfBodyFollows(request, answer);
    } catch (error) {
      return refuse(error, request, at, caller);
    }
  }

  function refuse(error: unknown, request: HttpRequest, at: Date, caller?: KeyCaller): HttpResponse {
    const problem = problemOf(error, logError);
    countRefusal(refusals, "VERIFY", error, request, caller, at);
    observer?.verification(error instanceof KeyRejected ? error.reason : outcomeOf(problem));
    // A body would make random keys cost the server more than valid ones.
    const hasBody = !(error instanceof KeyRejected && error.keyId === undefined);
    return closeIfBodyFollows(request, {
      status: problem.status,
      headers: { ...hasBody ? PLAIN_TEXT : NO_STORE, ...problem.headers },
      body: hasBody ? `${problem.message}\n` : "",
      keyId: caller?.key.id,
      secret: caller?.usedSecret,
      code: problem.code,
    });
  }

  return verify;
}

function outcomeOf({ status }: Problem): VerificationOutcome {
  if (status === 401) return "missing_key";
  if (status === 403) return "insufficient_scope";
  return status === 400 ? "invalid_request" : "unavailable";
}

/** Closes the connection after a request that announces a body. Otherwise, the server would have to read the body. */
function closeIfBodyFollows(request: HttpRequest, response: HttpResponse): HttpResponse {
  const isEmpty = request.header("transfer-encoding") === null && Number(request.header("content-length") ?? 0) === 0;
  return isEmpty ? response : { ...response, headers: { ...response.headers, connection: "close" } };
}
