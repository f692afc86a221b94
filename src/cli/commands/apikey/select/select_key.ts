/** Selects the one key that a subcommand works on: by its name or id, or from a list at a terminal. */
import type { Command, CommandUnknownOpts, OptionValues } from "@commander-js/extra-typings";
import { Failure } from "../../../../apikey/failure.ts";
import { parseExistingName } from "../../../../apikey/name.ts";
import type { Client, KeySelector } from "../../../../client/client.ts";
import { canPrompt, type PromptFlags } from "../../../host/can_prompt.ts";
import type { Dialog } from "../../../host/dialog.ts";
import type { Host } from "../../../host/host.ts";
import { chooseName } from "./choose_name.ts";

/** The flags that select a key, as typed. */
export type SelectorFlags = {
  readonly name?: string | undefined;
  readonly id?: string | undefined;
};

// The overloads state the types that commander would infer, because inferring them takes the type checker minutes.

/** Adds the argument `[name]` and the flags of {@linkcode SelectorFlags}. */
export function withSelector<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<[...Args, string | undefined], Flags & SelectorFlags>;
export function withSelector(command: CommandUnknownOpts): CommandUnknownOpts {
  return command
    .usage("[name | --id <id>] [options]")
    .argument("[name]", "the name of the key")
    .optionsGroup("Key:")
    .option("--name <name>", "the same as the argument")
    .option("--id <id>", "the id of the key; also reaches keys whose names break the rules");
}

/**
 * Parses the name or the id of a key.
 *
 * @param command the subcommand, for the message
 * @returns `undefined` if neither is given and the command can prompt
 * @throws {Failure} `INVALID_NAME`; `USAGE` if both are given, or if neither is given and the command cannot prompt
 */
export function parseSelector(
  argument: string | undefined,
  flags: SelectorFlags & PromptFlags,
  command: string,
  host: Host,
): KeySelector | undefined {
  const { id } = flags;
  const name = chooseName(argument, flags, command === "update" ? " The flag for the new name is --rename." : "");
  if (name !== undefined && id !== undefined) throw new Failure("USAGE", "Use either a name or --id, not both.");
  if (name !== undefined) return { name: parseExistingName(name) };
  if (id?.trim() === "") throw new Failure("USAGE", "--id is empty. Pass the id of a key, for example key_1.");
  if (id !== undefined) return { id: id.trim() };
  if (canPrompt(flags, host)) return undefined;
  throw new Failure("USAGE", `apikey ${command} needs a name or --id if it cannot prompt.`);
}

/**
 * Prompts the user to select a key from a list.
 *
 * @throws {Failure} `NOT_FOUND` if there are no keys; `INTERRUPTED`; any failure of the client
 */
export async function promptForSelector(label: string, client: Client, dialog: Dialog): Promise<KeySelector> {
  const { promptForOneKey } = await import("#prompts");
  return { id: (await promptForOneKey(label, client, dialog)).id };
}
