/** A command line that is being typed: what is given already, and what the word under the cursor is to become. */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { Host } from "../host/host.ts";

export interface CommandLine {
  /** The flags before the cursor, by their long names, with the values they were given. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** The words before the cursor that are neither flags nor their values. */
  readonly operands: readonly string[];
  readonly cursor: Cursor;
}

/** Where the cursor is. */
export type Cursor =
  /** In a word that may become a flag or an operand. */
  | { readonly kind: "word"; readonly typed: string }
  /** In the value of a flag. `before` is what stands in the same word before it: nothing, or `--flag=`. */
  | { readonly kind: "value"; readonly flag: string; readonly before: string; readonly typed: string }
  /** Behind `--`. */
  | { readonly kind: "operand"; readonly typed: string };

/**
 * Reads the words after a command's name.
 *
 * @param words the last one is under the cursor, and may be empty
 */
export function readCommandLine(words: readonly string[], command: CommandUnknownOpts): CommandLine {
  const given = new Map<string, readonly string[]>();
  const operands: string[] = [];
  const typed = words.at(-1) ?? "";
  let pending: string | undefined;
  let hasEnded = false;
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      given.set(pending, [...given.get(pending) ?? [], word]);
      pending = undefined;
    } else if (hasEnded || !word.startsWith("-") || word === "-") {
      operands.push(word);
    } else if (word === "--") {
      hasEnded = true;
    } else {
      const { flag, value } = split(word);
      const option = findOption(command, flag);
      const name = option === undefined ? flag : flagOf(option);
      given.set(name, [...given.get(name) ?? [], ...(value === undefined ? [] : [value])]);
      if (option?.required && value === undefined) pending = name;
    }
  }
  return { given, operands, cursor: cursorIn(typed, pending, hasEnded) };
}

function cursorIn(typed: string, pending: string | undefined, hasEnded: boolean): Cursor {
  if (pending !== undefined) return { kind: "value", flag: pending, before: "", typed };
  if (hasEnded) return { kind: "operand", typed };
  const { flag, value } = split(typed);
  if (value === undefined) return { kind: "word", typed };
  return { kind: "value", flag, before: `${flag}=`, typed: value };
}

function split(word: string): { readonly flag: string; readonly value: string | undefined } {
  const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  return { flag, value };
}

/** The value of a flag before the cursor. The shell has not expanded what is still being typed, so `~/` is a home. */
export function typedValue({ given }: CommandLine, flag: string, host: Host): string | undefined {
  return given.get(flag)?.at(-1)?.replace(/^~(?=\/)/, host.env("HOME") ?? "~");
}

/** The flags of a command that its help shows, `--help` among them. */
export function optionsOf(command: CommandUnknownOpts): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

function findOption(command: CommandUnknownOpts, flag: string): Option | undefined {
  return optionsOf(command).find(({ long, short }) => long === flag || short === flag);
}

/** A flag as it is offered. */
export function flagOf({ long, short }: Option): string {
  return long ?? short ?? "";
}
