/** Gives commands a client without loading settings, client or zod before they need one: `--help` starts without them. */
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import type { UseClient } from "./connection.ts";

/**
 * Runs tasks with a client for the server that flags, environment and profile select.
 *
 * @returns a function that throws {@linkcode Failure} if the settings are invalid or the embedded server cannot open
 * its store, and whatever the task throws
 */
export function withClient(flags: ServerFlags, host: Host, log: Log): UseClient {
  return async (task) => {
    const { readSettings, withClientFor } = await import("#connection");
    return await withClientFor(await readSettings(flags, host, log), host, log)(task);
  };
}
