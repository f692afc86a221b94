/** Says which server or store a command uses, so that a user who finds no key sees whether it was the wrong one. */
import { quote } from "../../apikey/failure.ts";
import type { Settings } from "./settings.ts";

/** Returns, for example, `the server https://keys.example.com`. Says if a local store does not exist yet. */
export function describePlace({ server }: Settings): string {
  if (server.kind === "network") return `the server ${server.endpoint.href.replace(/\/graphql$/, "")}`;
  const { location } = server;
  if (location.kind === "database") return `the database ${location.address.label}`;
  const path = `${location.path}/keys.db`;
  return `the store ${quote(absolute(path))}${isMissing(path) ? ", which does not exist" : ""}`;
}

function absolute(path: string): string {
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
