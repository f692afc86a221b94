/** `resource list`: prints the custom resources as a table, as lines or as JSON. */
import type { Command } from "@commander-js/extra-typings";
import { escapeInvisible } from "../../../apikey/failure.ts";
import type { CommandContext } from "../../command.ts";
import type { UseClient } from "../../connection/connection.ts";
import { withClient } from "../../connection/with_client.ts";
import { EXIT_STATUS, ExitCode } from "../../exit_code.ts";
import type { Host } from "../../host/host.ts";
import { writeNotes } from "../../host/notes.ts";
import { writeJson } from "../../report.ts";
import { withServerFlags } from "../../settings/server_flags.ts";
import { listResources } from "./requests.ts";

/** Registers the subcommand. */
export function registerList(command: Command, { host, log, setExitCode }: CommandContext): void {
  const withOwnFlags = command
    .description("List the resources that were added, without the built-in ones.")
    .usage("[options]")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON, even on failure");
  withServerFlags(withOwnFlags)
    .addHelpText("after", NOTES)
    .action(async (flags) => setExitCode(await list(flags, host, withClient(flags, host, log))));
}

interface ListFlags {
  readonly json?: true | undefined;
}

/** @throws {Failure} `UNSUPPORTED`, or any other code */
async function list(flags: ListFlags, host: Host, useClient: UseClient): Promise<ExitCode> {
  await useClient(async (connect, _interrupted, { describePlace }) => {
    const resources = await listResources(await connect());
    if (flags.json) return await writeJson(host.stdout, { resources });
    const rows = resources.map(({ name, description }) => [name, description ?? ""].map(escapeInvisible));
    if (rows.length === 0) return await noteNoResources(describePlace(), host);
    const lines = host.stdout.isTerminal() ? await formatTable(rows, host) : rows.map((row) => row.join("\t"));
    await host.stdout.write(lines.map((line) => `${line}\n`).join(""));
  });
  return ExitCode.OK;
}

const COLUMNS = [{ title: "RESOURCE", isFlexible: true }, { title: "DESCRIPTION", isFlexible: true }];

async function formatTable(rows: readonly (readonly string[])[], host: Host): Promise<readonly string[]> {
  const { layoutTable, styleFor, tableRow } = await import("#terminal");
  const { dim, symbols: { ellipsis } } = styleFor(host.stdout, host);
  const layout = layoutTable(COLUMNS, rows, host.stdout.columns(), () => true);
  const header = tableRow(layout, COLUMNS.map(({ title }) => title), ellipsis, dim);
  return [header, ...rows.map((row) => tableRow(layout, row, ellipsis))];
}

/** A user may have searched another store than intended. The command succeeds even if this note cannot be written. */
async function noteNoResources(place: string, host: Host): Promise<void> {
  await writeNotes([`No custom resources found. Searched ${place}.`], host).catch(() => {});
}

const NOTES = `
At a terminal, standard output is a table. Otherwise it has one line for each
resource: its name, a tab and its description, which can be empty. --json prints
{"resources":[{"name":"ORDERS","description":"orders service"}]}. The
description is null if there is none.

If you use a key, it needs no permission. service-api apikey --help lists the
built-in resources.

Examples:
  service-api resource list
  service-api resource list --json
${EXIT_STATUS}`;
