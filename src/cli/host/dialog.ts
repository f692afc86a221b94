/** What a command needs to prompt the user. */
import type { Host } from "./host.ts";

export interface Dialog {
  readonly host: Host;
  /** Aborted by SIGINT or SIGTERM. */
  readonly interrupted: AbortSignal;
  readonly target: Target;
}

/** The server or store that the answers apply to. */
export interface Target {
  /** The server or store and what selects it, in one line. */
  readonly description: string;
  /** Whether it was shown before the first question. */
  isShown: boolean;
}

/** A confirmation of a selection. */
export interface Question {
  readonly label: string;
  /** What the user can do instead of confirming, for example `Change the selection`. */
  readonly alternative: string;
  /** The sentence that nothing has happened. */
  readonly unchanged: string;
}
