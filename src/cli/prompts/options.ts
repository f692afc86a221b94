/** What callers pass to each kind of prompt. */
import type { Role } from "../../apikey/role.ts";

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
}

export interface PermissionsOptions {
  readonly label: string;
  /** The grid marks the rights that these roles grant. */
  readonly roles: readonly Role[];
}
