/** The questions that a person at a terminal is asked, drawn on standard error. */
import type { Permission } from "../../apikey/permission.ts";
import type { Host } from "../host/host.ts";
import { styleFor } from "../terminal/style.ts";
import { askConfirmation } from "./confirm.ts";
import { askChoice, askTicks } from "./list.ts";
import { askPermissions } from "./permission_grid.ts";
import type { ConfirmQuestion, ListQuestion, PermissionsQuestion, TextQuestion } from "./question.ts";
import type { Screen } from "./run_prompt.ts";
import { askSecret, askText } from "./text.ts";

/** Asks one question after the other. Each throws `INTERRUPTED` on Ctrl-C, a signal, or the end of the input. */
export interface Questions {
  /** A line of text; what `check` throws is shown while it is typed, and has to be mended. */
  text(question: TextQuestion): Promise<string>;
  /** A line that is not shown. */
  secret(question: TextQuestion): Promise<string>;
  /** Yes or no. */
  confirm(question: ConfirmQuestion): Promise<boolean>;
  /** One of a few. */
  choose<Value>(question: ListQuestion<Value>): Promise<Value>;
  /** Any number of a list, which may be long: what is typed filters it. */
  tick<Value>(question: ListQuestion<Value>): Promise<readonly Value[]>;
  /** Pairs of resource and action, out of all there are. */
  permissions(question: PermissionsQuestion): Promise<readonly Permission[]>;
}

/**
 * Opens the terminal for questions: to be called only where there is one, see `mayAsk`.
 *
 * @param interrupted ends every question once it is aborted, as a signal does that comes while one is open
 */
export async function openQuestions(host: Host, interrupted?: AbortSignal): Promise<Questions> {
  const screen: Screen = { host, terminal: await host.openTerminal(), style: styleFor(host.stderr, host), interrupted };
  return {
    text: (question) => askText(question, screen),
    secret: (question) => askSecret(question, screen),
    confirm: (question) => askConfirmation(question, screen),
    choose: (question) => askChoice(question, screen),
    tick: (question) => askTicks(question, screen),
    permissions: (question) => askPermissions(question, screen),
  };
}
