/** Gives commands a client. Loads the GraphQL client and zod only when a task runs, so that `--help` starts fast. */
import type { Host } from "../host/host.ts";
import type { Log } from "../host/log.ts";
import type { ServerFlags } from "../settings/server_flags.ts";
import type { UseClient } from "./connection.ts";

/**
 * Returns a function that runs a task with a client for the server that the flags, the environment and the profile
 * select. Several tasks use the same settings, which are read once. The function throws the errors of the task. It also
 * throws a `Failure` if the settings are invalid or the embedded server cannot open its store.
 */
export function withClient(flags: ServerFlags, host: Host, log: Log): UseClient {
  const open = async (): Promise<UseClient> => {
    const { readSettings, withClientFor } = await import("#connection");
    return withClientFor(await readSettings(flags, host, log), host, log);
  };
  let useClient: Promise<UseClient> | undefined;
  return async (task) => await (await (useClient ??= open()))(task);
}
