/** `audit`: the audit trail as JSON lines. */
import type { Command } from "@commander-js/extra-typings";
import { Failure, quote } from "../../apikey/failure.ts";
import type { Session } from "../command.ts";
import { type WithClient, withClient } from "../connection/connection.ts";
import { EXIT_STATUS, ExitCode } from "../exit_code.ts";
import type { Host } from "../host/host.ts";
import { toJsonLine } from "../report.ts";
import { withServerFlags } from "../settings/server_flags.ts";

/** Declares the command. */
export function registerAudit(command: Command, { host, log, setExitCode }: Session): void {
  const withOwnFlags = command
    .description("Print the audit trail of the embedded server, oldest first, as one line of JSON\nan event.")
    .optionsGroup("Events:")
    .option("--after <id>", "only those after the event of this id; empty: all");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await audit(flags, host, withClient(flags, host, log))));
}

/** The flags of the command, as they were typed. */
export interface AuditFlags {
  readonly after?: string | undefined;
}

/** How many events are asked for at once. */
const PAGE = 1000;

/**
 * Prints the events that there are, and ends.
 *
 * @throws {Failure} of any kind; what was printed before is right
 */
export async function audit(flags: AuditFlags, host: Host, ask: WithClient): Promise<ExitCode> {
  // What a script has read from a file that has no event yet.
  const after = flags.after?.trim() || undefined;
  if (after !== undefined && !/^\d{1,18}$/.test(after)) {
    throw new Failure("USAGE", `--after takes the id of an event, and not ${quote(after)}.`);
  }
  await ask(async (connect) => {
    const client = await connect();
    for (let last = after;;) {
      // deno-lint-ignore no-await-in-loop -- a page begins where the one before it ends
      const events = await client.events(last, PAGE);
      // deno-lint-ignore no-await-in-loop -- and is printed before the next is asked for
      await host.stdout.write(events.map(toJsonLine).join(""));
      if (events.length < PAGE) return;
      last = events.at(-1)?.id;
    }
  });
  return ExitCode.OK;
}

const NOTES = `
The key that asks needs LOGS:READ_ANY.

Examples:
  service-api audit > audit.jsonl
  service-api audit --after "$(tail -n 1 audit.jsonl | cut -d '"' -f 4)" \\
    >> audit.jsonl
${EXIT_STATUS}`;
