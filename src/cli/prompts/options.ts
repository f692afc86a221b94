/** What callers pass to each kind of prompt. */
import type { Permission } from "../../apikey/permission.ts";
import type { PermissionSet } from "../../client/rights/effective_permissions.ts";

/** Thrown by a prompt with `canGoBack` if the user goes back to the question before. */
export class GoBack extends Error {
  override readonly name = "GoBack";
}

interface PromptOptions {
  readonly label: string;
  /** Whether Escape, Shift-Tab and, at the start of a text, Up go back. The prompt then throws {@linkcode GoBack}. */
  readonly canGoBack?: boolean;
}

export interface TextOptions extends PromptOptions {
  /** Shown below the prompt. */
  readonly hint?: string;
  /** The text in the prompt when it appears. The user can edit it. */
  readonly initial?: string | undefined;
  /** Shown in place of an empty text once the user has answered. */
  readonly emptyAnswer?: string;
  /** @throws {Failure} if the text is not valid; the prompt shows its message */
  readonly check?: (typed: string) => void;
  /** Whether `check` runs only when the user presses Enter. By default, it also runs while the user types. */
  readonly checksOnEnter?: boolean;
  /** Receives the text when the user goes back, so that it can be the next `initial`. */
  readonly saveDraft?: (typed: string) => void;
}

export interface ConfirmOptions extends PromptOptions {
  /** Shown below the prompt. */
  readonly hint?: string;
  /** The answer if the user presses only Enter. */
  readonly initial: boolean;
  /** Whether `e` answers that the user wants to change an answer. */
  readonly canEdit?: boolean;
}

/** The answer to a confirmation with `canEdit`. */
export type Decision = "yes" | "no" | "edit";

export interface ListOptions<Value> extends PromptOptions {
  readonly items: readonly ListItem<Value>[];
  /** The value of the item that has the focus when the prompt appears. By default, the first item has it. */
  readonly initial?: Value | undefined;
}

export interface SelectOptions<Value> extends PromptOptions {
  readonly items: readonly ListItem<Value>[];
  /** The values of the items that are selected when the prompt appears. */
  readonly initial?: readonly Value[] | undefined;
  /** Whether the user has to select at least one item. */
  readonly isRequired?: boolean;
  /** Receives the selected values when the user goes back, so that they can be the next `initial`. */
  readonly saveDraft?: (values: readonly Value[]) => void;
}

export interface ListItem<Value> {
  readonly value: Value;
  readonly label: string;
  /** What is special about the item. Shown in brackets after the label, even if that leaves no room for the hint. */
  readonly mark?: string | undefined;
  /**
   * Shown beside the label. The filter searches it too. It can have columns, with at least two spaces between them. If it
   * is too long, its last column is shortened, and other columns are left out.
   */
  readonly hint?: string;
}

export interface PermissionsOptions extends PromptOptions {
  /** The resources of the server, in the order of the rows. */
  readonly resources: readonly string[];
  /** The roles of the key. */
  readonly roles: readonly string[];
  /** What the roles grant on the server. The grid marks it. `undefined` if it is unknown. */
  readonly byRoles: PermissionSet | undefined;
  /** Whether an `_ANY` permission includes the `_OWN` permission on the server. */
  readonly anyIncludesOwn: boolean;
  /** The permissions that are selected when the prompt appears. */
  readonly initial?: readonly Permission[] | undefined;
  /** Receives the selected permissions when the user goes back, so that they can be the next `initial`. */
  readonly saveDraft?: (permissions: readonly Permission[]) => void;
}
