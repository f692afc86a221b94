/** Adds and removes custom resources. */
import { parseDescription } from "../../apikey/description.ts";
import { Failure, quote } from "../../apikey/failure.ts";
import { type CustomResource, isResource, isResourceName } from "../../apikey/permission.ts";
import type { ResourcePrecondition } from "../../store/key_store.ts";
import { resourceNotFound } from "../../store/resources/resource_list.ts";
import { requireStillAuthorized } from "../auth/authorization.ts";
import { type Target, withRefusalAudit } from "../keys/refusal_audit.ts";
import { type RequestContext, throwIfAborted } from "../keys/request_context.ts";
import { parseOptional } from "../keys/storable_text.ts";

/** The GraphQL input `AddResourceInput`. */
export interface AddResourceInput {
  readonly name: string;
  readonly description?: string | null;
}

/**
 * Adds a custom resource.
 *
 * @throws {Failure} `USAGE` if the name or the description is not valid
 * @throws {Failure} `ALREADY_EXISTS` if the name is one of `RESOURCES`
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 * @throws {Failure} what `KeyStore.addResource` throws
 */
export function addResource(
  { name, description }: AddResourceInput,
  context: RequestContext,
): Promise<CustomResource> {
  return withRefusalAudit("ADD_RESOURCE", () => addition(name), context, async () => {
    requireNewName(name);
    const resource = { name, description: parseOptional(description ?? null, parseDescription) };
    await context.store.addResource(resource, context.origin, preconditionOf(context));
    return resource;
  });
}

/**
 * Removes a custom resource.
 *
 * @throws {Failure} `INTERRUPTED` if the client no longer waits for the response
 * @throws {Failure} what `KeyStore.removeResource` throws
 */
export function removeResource(name: string, context: RequestContext): Promise<void> {
  return withRefusalAudit("REMOVE_RESOURCE", () => removal(name), context, async () => {
    if (!isResourceName(name)) throw resourceNotFound(name);
    await context.store.removeResource(name, context.origin, preconditionOf(context));
  });
}

/** Returns the target of a refused request to add a resource. */
export function addition(name: string): Target {
  return { resource: { before: null, after: name } };
}

/** Returns the target of a refused request to remove a resource. */
export function removal(name: string): Target {
  return { resource: { before: name, after: null } };
}

function requireNewName(name: string): void {
  if (isResource(name)) {
    throw new Failure("ALREADY_EXISTS", `The resource ${name} already exists. It is built in. Choose another name.`);
  }
  if (isResourceName(name)) return;
  throw new Failure(
    "USAGE",
    `${quote(name)} cannot be the name of a resource. A name begins with a capital letter, contains only capital ` +
      "letters, digits and single underscores between them, and has at most 64 characters. An example is ORDER_ITEMS.",
  );
}

function preconditionOf(context: RequestContext): ResourcePrecondition {
  return (actor) => {
    throwIfAborted(context);
    requireStillAuthorized(context.caller, actor);
  };
}
