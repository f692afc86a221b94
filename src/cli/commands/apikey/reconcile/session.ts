/** Opens a connection for `ensure` and `apply`. */
import type { CommandContext } from "../../../command.ts";
import { withClient } from "../../../connection/with_client.ts";
import type { ServerFlags } from "../../../settings/server_flags.ts";
import type { Session } from "./settle.ts";

/** Runs a task with a client and with the limits that the settings give. Returns what the task returns. */
export async function withSession<Result>(
  flags: ServerFlags,
  { host, log }: CommandContext,
  task: (session: Session) => Promise<Result>,
): Promise<Result> {
  return await withClient(flags, host, log)(async (connect, interrupted, { timeout }) =>
    await task({ client: await connect(), host, timeout, interrupted, platform: host.platform })
  );
}
