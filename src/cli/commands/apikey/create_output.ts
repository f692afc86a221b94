/** What a person at a terminal is told of a key that was created. */
import { escapeInvisible, quote } from "../../../apikey/failure.ts";
import type { CreatedKey, NewKey } from "../../../client/client.ts";
import type { Host } from "../../host/host.ts";
import { drawRights } from "../../terminal/rights_matrix.ts";
import { styleFor } from "../../terminal/style.ts";
import { linesOf } from "../../terminal/text_width.ts";

/** The rights that it has. */
export function formatRights({ roles, permissions }: NewKey, host: Host): string {
  return [...drawRights(roles, permissions, host.stderr.columns(), styleFor(host.stderr, host)), "", ""].join("\n");
}

/** What to do with its secret. */
export function formatNextSteps({ name, id }: CreatedKey, host: Host): string {
  const where = host.stdout.isTerminal() ? "above" : "on standard output";
  const said = [
    `Created API key ${quote(name)} (${escapeInvisible(id)}).`,
    `Its secret is ${where} and is not shown again: keep it in a secrets manager, or in a file that only you can read.`,
  ];
  const lines = said.flatMap((text) => linesOf(text, host.stderr.columns() - 1));
  return [...lines, ""].join("\n");
}
