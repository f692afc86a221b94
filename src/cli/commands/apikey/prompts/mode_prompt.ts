/** The prompt of `apikey` alone: what the user wants to do. */
import type { Dialog } from "../../../host/dialog.ts";
import { CREATE_ONLY_FLAGS, DELETE_ONLY_FLAGS, FILTER_FLAGS, type Mode } from "../mode.ts";
import { openDialog } from "./open_dialog.ts";

/** What a user can do, with the flags that only some of these commands take. */
const MODES = [
  {
    value: "create",
    label: "Create a key",
    hint: "prints its secret once",
    takes: ["name", ...CREATE_ONLY_FLAGS],
  },
  { value: "list", label: "List keys", hint: "rights and last use", takes: FILTER_FLAGS },
  { value: "show", label: "Show a key", hint: "all but its secret", takes: ["name", "id"] },
  { value: "update", label: "Update a key", hint: "name, rights or state", takes: ["name", "id"] },
  { value: "rotate", label: "Rotate a key", hint: "issues a new secret", takes: ["name", "id"] },
  { value: "delete", label: "Delete keys", hint: "", takes: ["name", ...DELETE_ONLY_FLAGS] },
] as const satisfies readonly {
  readonly value: Mode;
  readonly label: string;
  readonly hint: string;
  readonly takes: readonly string[];
}[];

/** The flags that decide which commands are possible, as typed. */
interface ModeFlags {
  readonly name?: readonly string[] | undefined;
  readonly id?: readonly string[] | undefined;
}

/**
 * Asks what to do. Offers what the given flags allow. The first question of the chosen command can go back to this one.
 *
 * @param initial the earlier answer
 * @throws {Failure} `INTERRUPTED`
 */
export async function promptForMode(flags: ModeFlags, dialog: Dialog, initial?: Mode): Promise<Mode> {
  const known = new Set<string>(MODES.flatMap(({ takes }) => takes));
  const given = Object.entries(flags).flatMap(([flag, value]) => known.has(flag) && value !== undefined ? [flag] : []);
  const keys = [...flags.name ?? [], ...flags.id ?? []];
  const possible = MODES.filter(({ value, takes }) =>
    given.every((flag) => takes.some((taken) => taken === flag)) && (keys.length < 2 || value === "delete")
  );
  const deletes = keys.length > 0
    ? "with the given names and ids"
    : given.some((flag) => FILTER_FLAGS.some((filter) => filter === flag))
    ? "that match"
    : "selected from a list";
  // If nothing is possible, the chosen command says which flag it does not take.
  const offered = possible.length > 0
    ? possible
    : MODES.filter(({ value }) => value === "create" || value === "delete");
  const prompts = await openDialog(dialog);
  const mode = await prompts.selectOne<Mode>({
    label: "What do you want to do?",
    items: offered.map(({ value, label, hint }) => ({ value, label, hint: value === "delete" ? deletes : hint })),
    initial,
  });
  dialog.target.canGoBack = true;
  return mode;
}
