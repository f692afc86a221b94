/** Says which server or store a command uses, so that a user sees whether it is the intended one. */
import { escapeInvisible, quote } from "../../apikey/failure.ts";
import type { Settings } from "./settings.ts";

/**
 * Returns the server or store and what selects it, in one line: for example
 * `https://keys.example.com (profile "prod")` or `the store in /home/me/.local/share/service-api (default)`.
 */
export function describeTarget({ server, selectedBy }: Pick<Settings, "server" | "selectedBy">): string {
  return `${nameOf(server)} (${selectedBy})`;
}

function nameOf(server: Settings["server"]): string {
  if (server.kind === "network") return urlOf(server.endpoint);
  const { location } = server;
  if (location.kind === "database") return `the database ${location.address.label}`;
  return `the store in ${escapeInvisible(absolute(location.path))}`;
}

/** Returns, for example, `the server https://keys.example.com`. Says if a local store does not exist yet. */
export function describePlace({ server }: Pick<Settings, "server">): string {
  if (server.kind === "network") return `the server ${urlOf(server.endpoint)}`;
  const { location } = server;
  if (location.kind === "database") return `the database ${location.address.label}`;
  return `the store ${quote(storePath(location.path))}${isStoreMissing({ server }) ? ", which does not exist" : ""}`;
}

/** Returns, for example, `the server https://keys.example.com`, or `the embedded server`. */
export function describeServer({ server }: Pick<Settings, "server">): string {
  return server.kind === "network" ? describePlace({ server }) : "the embedded server";
}

/** Whether the settings select a store in a directory, and the store does not exist yet. */
export function isStoreMissing({ server }: Pick<Settings, "server">): boolean {
  return server.kind === "embedded" && server.location.kind === "directory" &&
    isMissing(storePath(server.location.path));
}

/** Returns the full path of the store in a data directory. */
export function storePath(directory: string): string {
  return absolute(`${directory}/keys.db`);
}

function urlOf(endpoint: URL): string {
  return endpoint.href.replace(/\/graphql$/, "");
}

/** Returns the full path of a file. */
export function absolute(path: string): string {
  return /^([\\/]|[A-Za-z]:)/.test(path) ? path : `${Deno.cwd()}/${path}`;
}

function isMissing(path: string): boolean {
  try {
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}
