/** Prints what `ensure` and `apply` did, or with `--dry-run` would do. Never prints a secret. */
import { escapeInvisible, Failure, quote, reasonOf, toSentence } from "../../../../apikey/failure.ts";
import { redactSecrets } from "../../../../apikey/secret.ts";
import type { Host } from "../../../host/host.ts";
import { writeNotes } from "../../../host/notes.ts";
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

/** The values have the types that they have in the JSON of `apikey show`. */
interface Change {
  readonly field: string;
  readonly before: Value | null;
  readonly after: Value | null;
}

type Value = string | boolean | readonly string[];

/**
 * Prints the result on standard output. Prints failures of single keys on standard error, or in the JSON.
 *
 * @throws {Failure} `FAILED` if the result cannot be written
 */
export async function printReport(report: Report, flags: OutputFlags, host: Host): Promise<void> {
  const lines = toLines(report, flags.dryRun ?? false);
  const changed = flags.dryRun ? [] : lines.filter(({ action }) => action !== "unchanged");
  try {
    await printLines(lines, report, flags, host);
  } catch (error) {
    throw changed.length === 0 ? error : unprinted(changed, report, error);
  }
  const all = [...flags.json ? [] : notes(report), ...report.hidesSecrets ? [HIDES_SECRETS] : []];
  // The result is complete without these lines.
  await writeNotes(all, host).catch(() => {});
}

const HIDES_SECRETS =
  "This server does not show the secrets of its keys, so ensure and apply cannot check them: the next run will fail " +
  "with UNSUPPORTED. The new secret is valid. To replace it later, use service-api apikey --create with --overwrite " +
  "and --secret-file.";

/** The failure if keys were changed, but the result cannot be written. */
function unprinted(changed: readonly Line[], { failed }: Report, cause: unknown): Failure {
  const [first] = changed;
  const isOne = changed.length === 1 && first !== undefined;
  const event = isOne
    ? `The key ${quote(first.name)} (${first.id}) was ${DONE[first.action]}`
    : `${changed.length} keys were changed`;
  const hasSecret = isOne && (first.action === "create" || first.action === "rotate");
  const secret = hasSecret ? ` Its secret is in ${quote(first.secretFile ?? "")}.` : "";
  const others = failed.length === 0 ? "" : ` ${failed.length} failed. To see why, run the same command again.`;
  const problem = toSentence(reasonOf(cause));
  return new Failure("FAILED", `${event}, but the result could not be printed: ${problem}${secret}${others}`, {
    cause,
  });
}

async function printLines(lines: readonly Line[], report: Report, flags: OutputFlags, host: Host): Promise<void> {
  const isPlan = flags.dryRun ?? false;
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
    return [`${verb}  ${escapeInvisible(line.name)}`, ...describe(line, key, isPlan, host)];
  });
  const sums = Object.entries(counts).map(([verb, number]) => `${number} ${isPlan ? PLANNED_COUNT[verb] : verb}`);
  await host.stdout.write([...text, ...(lines.length === 1 ? [] : [sums.join(", ")]), ""].join("\n"));
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
    return after === undefined ? [] : [{ field, before: key?.[field] ?? null, after }];
  });
}

const CHANGEABLE = ["description", "roles", "permissions", "enabled", "expiresAt", "managedBy"] as const;

/** The width of the column of the actions. The details of a key are in the next column. */
const INDENTATION = 11;

/** The lines with the details of a key, for text. */
function describe(
  { action, secretFile, reason }: Line,
  key: PlannedKey | SettledKey | undefined,
  isPlan: boolean,
  host: Host,
): readonly string[] {
  const hasNewSecret = secretFile !== null && (action === "create" || action === "rotate");
  const file = hasNewSecret ? [isPlan ? `would write the secret to ${secretFile}` : `secret in ${secretFile}`] : [];
  const because = reason ? [toDetail(`because ${reason}`)] : [];
  const changes = isPlan && key !== undefined && "changes" in key && key.key !== undefined
    ? describeChanges(key.key, key.changes, host.stdout, host, INDENTATION)
    : [];
  return [...because, ...changes, ...file.map(toDetail)];
}

function toDetail(text: string): string {
  return " ".repeat(INDENTATION) + escapeInvisible(text);
}

function toJsonFailure({ name, id, failure: { code, message } }: FailedKey): object {
  return { id, name, code, error: redactSecrets(message) };
}

/** The lines for standard error. */
function notes({ failed, kept }: Report): readonly string[] {
  const errors = failed.map(({ name, failure }) =>
    escapeInvisible(redactSecrets(`${quote(name)}: ${failure.message}`))
  );
  const keys = kept === 1 ? "1 key was" : `${kept} keys were`;
  return kept === 0 ? errors : [...errors, `${keys} not deleted, because other keys failed.`];
}
