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
  /** Whether the user chose the command at a prompt, and can go back to it from the first question of the command. */
  canGoBack?: boolean;
}

/** Where the key in use is stored. */
export interface KeySource {
  /** For messages: the profile as `profile "prod"`, the flag or the variable that sets the key. */
  readonly name: string;
  /** The file that contains the key; `undefined` if a variable contains it. */
  readonly file: string | undefined;
  /** The command that stores a key in the profile, without `--key-file`; `undefined` if no profile with a server sets the key. */
  readonly loginCommand: string | undefined;
}

/** A confirmation of a selection. */
export interface Question {
  readonly label: string;
  /** What the user can do instead of confirming, for example `Change the selection`. */
  readonly alternative: string;
  /** The sentence that nothing has happened. */
  readonly unchanged: string;
}
