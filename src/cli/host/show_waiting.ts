/** Loads the notice about a wait only at a terminal. */
import type { Host } from "./host.ts";

/** Waits for `work`. At a terminal, says after 500 ms what the program waits for, for how long, and how to stop it. */
export async function showWaiting<Result>(subject: () => string, host: Host, work: Promise<Result>): Promise<Result> {
  if (!host.stderr.isTerminal()) return await work;
  // The work may fail before the module is loaded. The caller receives the failure below.
  work.catch(() => {});
  const { whileWaiting } = await import("#terminal");
  return await whileWaiting(subject, host, work);
}
