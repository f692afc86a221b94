// Guards the routes of a Hono app, without a proxy: asks `/introspect` of `service-api serve` about the key of a request.
// The handlers find the answer in `c.var.caller`.
//
// Install: copy this file into your project, and add the package hono. In the app:
//            const needs = guard("http://127.0.0.1:4000", secret);
//            app.get("/orders/:id", needs("ORDERS:READ_ANY"), (c) => c.text(`Hello, ${c.var.caller.username}.`));
// Change:  nothing. `secret` is the app's own key, which needs the permission PERMISSION:READ_ANY.
// Needs:   Hono 4 on Node 18, Deno or Bun. To any other host than this one, use https://.
import type { MiddlewareHandler } from "hono";

/** The key of a request (RFC 7662). `scope` lists its permissions, separated by spaces. */
export type Caller = { readonly sub: string; readonly username: string; readonly scope: string };
type Answer = ({ readonly active: true } & Caller) | { readonly active: false };
type Guard = MiddlewareHandler<{ Variables: { caller: Caller } }>;

export function guard(server: string, secret: string): (...needs: readonly string[]) => Guard {
  return (...needs) => async (c, next) => {
    const refuse = (status: 401 | 403, reason: string): Response =>
      c.text("Refused.\n", status, { "WWW-Authenticate": `Bearer realm="service-api"${reason}` });
    const [, token] = /^Bearer +(\S+) *$/i.exec(c.req.header("Authorization") ?? "") ?? [];
    if (token === undefined) return refuse(401, "");
    const [headers, body] = [{ Authorization: `Bearer ${secret}` }, new URLSearchParams({ token })];
    const request = { method: "POST", headers, body, signal: AbortSignal.timeout(5000) };
    const response = await fetch(`${server}/introspect`, request).catch(() => undefined);
    if (!response?.ok) return c.text("Could not check the key.\n", 503);
    const answer: Answer = await response.json();
    if (!answer.active) return refuse(401, ', error="invalid_token"');
    const missing = needs.filter((need) => !answer.scope.split(" ").includes(need));
    if (missing.length > 0) return refuse(403, `, error="insufficient_scope", scope="${needs.join(" ")}"`);
    c.set("caller", answer);
    return await next();
  };
}
