/** `POST /introspect`: token introspection (RFC 7662), for services that check keys themselves. */
import { KeyRejected } from "../../apikey/rejected_key.ts";
import type { Permission } from "../../apikey/permission.ts";
import { type KeyCaller, validUntil } from "../auth/caller.ts";
import {
  type Handler,
  hasMediaType,
  HttpError,
  type HttpRequest,
  type HttpResponse,
  NO_STORE,
} from "../graphql/http_message.ts";
import { readSecret } from "./credential.ts";
import { InsufficientScope, type Problem, problemOf } from "./problem.ts";
import { countRefusal } from "./refusal_count.ts";
import type { GateOptions } from "./verify.ts";

/** What a caller needs. `API_KEY:READ_ANY` would let each guarded service list all keys. */
const NEEDED: Permission = "PERMISSION:READ_ANY";

const FORM = "application/x-www-form-urlencoded";

/** Creates the handler of `/introspect`. */
export function createIntrospectHandler({ authenticator, refusals, now, logError }: GateOptions): Handler {
  async function authenticate(request: HttpRequest): Promise<KeyCaller> {
    return await authenticator.throttled(
      request.address,
      async () => await authenticator.authenticateSecret(readSecret(request), now()),
    );
  }

  /** Returns the members of the response (RFC 7662 section 2.2). */
  async function introspect(token: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      return describe(await authenticator.authenticateSecret(token, now()));
    } catch (error) {
      // Does not say why the token is not active.
      if (error instanceof KeyRejected) return { active: false };
      throw error;
    }
  }

  return async (request) => {
    let caller: KeyCaller | undefined;
    try {
      if (request.method !== "POST") throw new HttpError(405, "Use POST.", { allow: "POST" });
      // The parser has read the headers. This lets it read a body that arrived together with them.
      await Promise.resolve();
      const isComplete = request.isComplete();
      caller = await authenticate(request);
      requireNeeded(caller);
      if (!hasMediaType(request.header("content-type"), FORM)) {
        throw new HttpError(415, `The body must be ${FORM} in UTF-8.`, { "accept-post": FORM });
      }
      const token = readToken(await request.body());
      // The key may have changed while the body arrived.
      if (!isComplete) requireNeeded(caller = await authenticate(request));
      return json(200, await introspect(token), { keyId: caller.key.id, secret: caller.usedSecret });
    } catch (error) {
      const problem = problemOf(error, logError);
      countRefusal(refusals, "INTROSPECT", error, request, caller, now());
      const members = { error: errorCodeOf(error, problem), error_description: problem.message };
      const log = { keyId: caller?.key.id, secret: caller?.usedSecret, code: problem.code };
      return json(problem.status, members, log, problem.headers);
    }
  };
}

/** @throws {InsufficientScope} 401 (RFC 7662 section 2.3) */
function requireNeeded({ rights }: KeyCaller): void {
  if (!rights.has(NEEDED)) throw new InsufficientScope(401, [NEEDED], [NEEDED]);
}

/**
 * Returns the token in a form. A parameter without a value counts as omitted, and no parameter may occur twice (RFC 6749
 * section 3.2).
 *
 * @throws {HttpError} 400
 */
function readToken(form: string): string {
  const parameters = new URLSearchParams(form);
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length) throw new HttpError(400, "Send each parameter only once.");
  const token = parameters.get("token") ?? "";
  if (token === "") throw new HttpError(400, "The parameter token is missing.");
  return token;
}

function describe(caller: KeyCaller): Readonly<Record<string, unknown>> {
  const { key: { id, name, createdAt }, rights } = caller;
  const expiry = validUntil(caller);
  return {
    active: true,
    scope: [...rights].join(" "),
    client_id: id,
    username: name,
    sub: id,
    token_type: "Bearer",
    iat: toSeconds(createdAt),
    ...(expiry === null ? {} : { exp: toSeconds(expiry) }),
  };
}

/** Returns seconds since 1970, rounded down, so that a service never accepts a key after its expiry. */
function toSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

/** Returns the error code of RFC 6750 section 3.1 or RFC 6749 sections 4.1.2.1 and 5.2. */
function errorCodeOf(error: unknown, { status }: Problem): string {
  if (error instanceof InsufficientScope) return "insufficient_scope";
  if (status === 401) return error instanceof KeyRejected ? "invalid_token" : "invalid_client";
  if (status === 429 || status === 503) return "temporarily_unavailable";
  return status === 500 ? "server_error" : "invalid_request";
}

function json(
  status: number,
  members: Readonly<Record<string, unknown>>,
  log: Pick<HttpResponse, "keyId" | "secret" | "code">,
  headers: HttpResponse["headers"] = {},
): HttpResponse {
  return {
    status,
    headers: { "content-type": "application/json", ...NO_STORE, ...headers },
    body: JSON.stringify(members),
    ...log,
  };
}
