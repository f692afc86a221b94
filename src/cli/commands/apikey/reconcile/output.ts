/** Prints what `ensure` and `apply` did, or with `--dry-run` would do. Never prints a secret. */
import { escapeInvisible, quote } from "../../../../apikey/failure.ts";
import { redactSecrets } from "../../../../apikey/secret.ts";
import type { Host, Output } from "../../../host/host.ts";
import { writeJson } from "../../../report.ts";
import { describeChanges } from "../update/describe_changes.ts";
import type { Report } from "./apply_keys.ts";
import type { Action, PlannedKey } from "./plan.ts";
import type { FailedKey, SettledKey } from "./settle.ts";

interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

/** One key of the result. */
interface Line {
  readonly name: string;
  readonly id: string | null;
  readonly action: Action | "delete";
  readonly secretFile: string | null;
  /** Only with `--dry-run`. */
  readonly reason?: string | null;
  /** Only with `--dry-run`. */
  readonly changes?: readonly Change[];
}

interface Change {
  readonly field: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Prints the result on standard output. Prints failures of single keys on standard error, or in the JSON. */
export async function printReport(report: Report, flags: OutputFlags, host: Host): Promise<void> {
  const isPlan = flags.dryRun ?? false;
  const lines = toLines(report, isPlan);
  const count = (action: Line["action"]): number => lines.filter((line) => line.action === action).length;
  const counts = {
    created: count("create"),
    updated: count("update"),
    rotated: count("rotate"),
    deleted: count("delete"),
    unchanged: count("unchanged"),
  };
  if (flags.json) {
    const failed = report.failed.map(toJsonFailure);
    await writeJson(host.stdout, { ...counts, keys: lines, ...failed.length > 0 && { failed } });
    return;
  }
  const { styleFor } = await import("#terminal");
  const style = styleFor(host.stdout, host);
  const paint = {
    create: style.green,
    update: style.yellow,
    rotate: style.cyan,
    delete: style.red,
    unchanged: style.dim,
  };
  const shown = lines.filter(({ action }) => action !== "unchanged" || lines.length === 1);
  const words = isPlan ? PLANNED : DONE;
  const planned = new Map(report.keys.map((key) => [key.wanted.name.toString(), key]));
  const text = shown.flatMap((line) => {
    const verb = paint[line.action](words[line.action].padEnd(9));
    const key = line.action === "delete" ? undefined : planned.get(line.name);
    return [`${verb}  ${escapeInvisible(line.name)}`, ...describe(line, key, isPlan, host.stdout)];
  });
  const sums = Object.entries(counts).map(([verb, number]) => `${number} ${isPlan ? PLANNED_COUNT[verb] : verb}`);
  await host.stdout.write([...text, ...(lines.length === 1 ? [] : [sums.join(", ")]), ""].join("\n"));
  await host.stderr.write(notes(report).map((note) => `service-api: ${note}\n`).join(""));
}

const PLANNED = { create: "create", update: "update", rotate: "rotate", delete: "delete", unchanged: "unchanged" };
const DONE = { create: "created", update: "updated", rotate: "rotated", delete: "deleted", unchanged: "unchanged" };
const PLANNED_COUNT: Readonly<Record<string, string>> = {
  created: "to create",
  updated: "to update",
  rotated: "to rotate",
  deleted: "to delete",
  unchanged: "unchanged",
};

function toLines({ keys, deleted }: Report, isPlan: boolean): readonly Line[] {
  return [
    ...keys.map((key): Line => {
      const { wanted: { name, secretFile }, action } = key;
      const id = "id" in key ? key.id : key.key?.id ?? null;
      const line = { name, id, action, secretFile };
      return isPlan && "changes" in key ? { ...line, reason: key.reason ?? null, changes: listChanges(key) } : line;
    }),
    ...deleted.map(({ name, id }): Line => ({ name, id, action: "delete", secretFile: null })),
  ];
}

function listChanges({ key, changes }: PlannedKey): readonly Change[] {
  return CHANGEABLE.flatMap((field) => {
    const after = changes[field];
    return after === undefined ? [] : [{ field, before: toText(key?.[field]), after: toText(after) }];
  });
}

const CHANGEABLE = ["description", "roles", "permissions", "enabled", "expiresAt", "managedBy"] as const;

function toText(value: string | boolean | readonly string[] | null | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** The width of the column of the actions. The details of a key are in the next column. */
const INDENTATION = 11;

/** The lines with the details of a key, for text. */
function describe(
  { action, secretFile, reason }: Line,
  key: PlannedKey | SettledKey | undefined,
  isPlan: boolean,
  output: Output,
): readonly string[] {
  const hasNewSecret = secretFile !== null && (action === "create" || action === "rotate");
  const file = hasNewSecret ? [isPlan ? `would write the secret to ${secretFile}` : `secret in ${secretFile}`] : [];
  const because = reason ? [toDetail(`because ${reason}`)] : [];
  const changes = isPlan && key !== undefined && "changes" in key && key.key !== undefined
    ? describeChanges(key.key, key.changes, output, INDENTATION)
    : [];
  return [...because, ...changes, ...file.map(toDetail)];
}

function toDetail(text: string): string {
  return " ".repeat(INDENTATION) + escapeInvisible(text);
}

function toJsonFailure({ wanted: { name }, id, failure: { code, message } }: FailedKey): object {
  return { id, name, code, error: redactSecrets(message) };
}

/** The lines for standard error. */
function notes({ failed, kept }: Report): readonly string[] {
  const errors = failed.map(({ wanted: { name }, failure }) =>
    escapeInvisible(redactSecrets(`${quote(name)}: ${failure.message}`))
  );
  const keys = kept === 1 ? "1 key was" : `${kept} keys were`;
  return kept === 0 ? errors : [...errors, `${keys} not deleted, because other keys failed.`];
}
