/**
 * Prompts at a terminal, drawn on standard error. This folder has one file for each kind of prompt, and `plain/` has the
 * same prompts as plain lines. Every prompt restores the state of the terminal, even if it fails.
 */
import type { Permission } from "../../apikey/permission.ts";
import type { Host } from "../host/host.ts";
import { isPlain, styleFor } from "../terminal/style.ts";
import { type Confirm, confirmWith, decide } from "./confirm.ts";
import { selectMany, selectOne } from "./list.ts";
import type { ListOptions, PermissionsOptions, SelectOptions, TextOptions } from "./options.ts";
import { selectPermissions } from "./permission_grid.ts";
import { askToConfirm } from "./plain/confirm.ts";
import { chooseMany, chooseOne } from "./plain/list.ts";
import { askForPermissions } from "./plain/permissions.ts";
import { askForSecret, askForText } from "./plain/text.ts";
import type { Screen } from "./run_prompt.ts";
import { searchOne } from "./search.ts";
import { promptForSecret, promptForText } from "./text.ts";
import { transcriptOf } from "./transcript.ts";

/**
 * Shows one prompt at a time. Every prompt throws `INTERRUPTED` on Ctrl-C, SIGINT or SIGTERM, at the end of the input, on
 * Ctrl-D unless a text prompt contains text, and on Escape if there is no filter to clear. With `canGoBack`, Escape and
 * Shift-Tab throw `GoBack` instead.
 */
export interface Prompts {
  /** A line of text. While the user types, the prompt shows the message of a failed `check`, unless `checksOnEnter` is set. */
  text(options: TextOptions): Promise<string>;
  /** A line of text that the screen never shows. */
  secret(options: TextOptions): Promise<string>;
  /** Yes or no; with `canEdit`, also whether to change an answer. */
  readonly confirm: Confirm;
  /** One item from a short list. */
  selectOne<Value>(options: ListOptions<Value>): Promise<Value>;
  /** One item from a list of any length. */
  searchOne<Value>(options: ListOptions<Value>): Promise<Value>;
  /** Any number of items from a list of any length. */
  select<Value>(options: SelectOptions<Value>): Promise<readonly Value[]>;
  /** `RESOURCE:ACTION` pairs from a grid of all resources and actions. */
  permissions(options: PermissionsOptions): Promise<readonly Permission[]>;
}

/**
 * Opens the terminal for prompts. Call it only if `canPrompt` returns true.
 *
 * @param interrupted once aborted, every later prompt is cancelled at once; an open prompt handles signals itself
 */
export async function openPrompts(host: Host, interrupted?: AbortSignal): Promise<Prompts> {
  const screen: Screen = { host, terminal: await host.openTerminal(), style: styleFor(host.stderr, host), interrupted };
  if (isPlain(host)) {
    return {
      text: (options) => askForText(options, screen),
      secret: (options) => askForSecret(options, screen),
      confirm: confirmWith((options) => askToConfirm(options, screen)),
      selectOne: (options) => chooseOne(options, screen),
      searchOne: (options) => chooseOne(options, screen),
      select: (options) => chooseMany(options, screen),
      permissions: (options) => askForPermissions(options, screen),
    };
  }
  // From now on, the transcript receives what the program writes.
  transcriptOf(screen.terminal);
  return {
    text: (options) => promptForText(options, screen),
    secret: (options) => promptForSecret(options, screen),
    confirm: confirmWith((options) => decide(options, screen)),
    selectOne: (options) => selectOne(options, screen),
    searchOne: (options) => searchOne(options, screen),
    select: (options) => selectMany(options, screen),
    permissions: (options) => selectPermissions(options, screen),
  };
}
