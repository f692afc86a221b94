/** What a question says: of each kind what is asked, and how the answer is checked. */
import type { Role } from "../../apikey/role.ts";

export interface TextQuestion {
  readonly label: string;
  readonly hint?: string;
  /** What is there to be edited at first. */
  readonly initial?: string;
  /** @throws {Failure} what is wrong with it */
  readonly check?: (typed: string) => void;
}

export interface ConfirmQuestion {
  readonly label: string;
  /** What Enter alone means. */
  readonly initial: boolean;
}

export interface ListQuestion<Value> {
  readonly label: string;
  readonly items: readonly ListItem<Value>[];
}

export interface ListItem<Value> {
  readonly value: Value;
  readonly label: string;
  /** Stands dimmed beside the label, and is filtered too. */
  readonly hint?: string;
}

export interface PermissionsQuestion {
  readonly label: string;
  /** Shown as given already. */
  readonly roles: readonly Role[];
}
