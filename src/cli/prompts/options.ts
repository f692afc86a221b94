/** What callers pass to each kind of prompt. */
import type { PermissionSet } from "../../client/rights/effective_permissions.ts";

export interface TextOptions {
  readonly label: string;
  /** Shown below the prompt. */
  readonly hint?: string;
  /** The text in the prompt when it appears. The user can edit it. */
  readonly initial?: string;
  /** @throws {Failure} if the text is not valid; the prompt shows its message */
  readonly check?: (typed: string) => void;
}

export interface ConfirmOptions {
  readonly label: string;
  /** The answer if the user presses only Enter. */
  readonly initial: boolean;
}

export interface ListOptions<Value> {
  readonly label: string;
  readonly items: readonly ListItem<Value>[];
}

export interface ListItem<Value> {
  readonly value: Value;
  readonly label: string;
  /** Shown beside the label. The filter searches it too. */
  readonly hint?: string;
  /** Whether the item is selected when the prompt appears. By default, it is not. */
  readonly isSelected?: boolean;
}

export interface PermissionsOptions {
  readonly label: string;
  /** The resources of the server, in the order of the rows. */
  readonly resources: readonly string[];
  /** The roles of the key. */
  readonly roles: readonly string[];
  /** What the roles grant on the server. The grid marks it. `undefined` if it is unknown. */
  readonly byRoles: PermissionSet | undefined;
  /** Whether an `_ANY` permission includes the `_OWN` permission on the server. */
  readonly anyIncludesOwn: boolean;
}
