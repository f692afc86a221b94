/** The questions that a person at a terminal is asked, drawn on standard error. */
import type { Permission } from "../../apikey/permission.ts";
import type { Host } from "../host/host.ts";
import { styleFor } from "../terminal/style.ts";
import { confirm } from "./confirm.ts";
import { selectMany, selectOne } from "./list.ts";
import { selectPermissions } from "./permission_grid.ts";
import type { ConfirmQuestion, ListQuestion, PermissionsQuestion, TextQuestion } from "./question.ts";
import type { Screen } from "./run_prompt.ts";
import { askSecret, askText } from "./text.ts";

/** Asks one question after the other. Each throws `INTERRUPTED` on Ctrl-C, a signal, or the end of the input. */
export interface Prompts {
  /** A line of text; what `check` throws is shown while it is typed, and has to be mended. */
  text(question: TextQuestion): Promise<string>;
  /** A line that is not shown. */
  secret(question: TextQuestion): Promise<string>;
  /** Yes or no. */
  confirm(question: ConfirmQuestion): Promise<boolean>;
  /** One of a few. */
  selectOne<Value>(question: ListQuestion<Value>): Promise<Value>;
  /** Any number of a list, which may be long: what is typed filters it. */
  select<Value>(question: ListQuestion<Value>): Promise<readonly Value[]>;
  /** Pairs of resource and action, out of all there are. */
  permissions(question: PermissionsQuestion): Promise<readonly Permission[]>;
}

/**
 * Opens the terminal for questions: to be called only where there is one, see `canPrompt`.
 *
 * @param interrupted ends every question once it is aborted, as a signal does that comes while one is open
 */
export async function openPrompts(host: Host, interrupted?: AbortSignal): Promise<Prompts> {
  const screen: Screen = { host, terminal: await host.openTerminal(), style: styleFor(host.stderr, host), interrupted };
  return {
    text: (question) => askText(question, screen),
    secret: (question) => askSecret(question, screen),
    confirm: (question) => confirm(question, screen),
    selectOne: (question) => selectOne(question, screen),
    select: (question) => selectMany(question, screen),
    permissions: (question) => selectPermissions(question, screen),
  };
}
