/** Parses an unfinished command line: the flags before the cursor, and the kind of the word at the cursor. */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { Host } from "../host/host.ts";

export interface CommandLine {
  /** The flags before the cursor, by their long names, with their values. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** The words before the cursor that are neither flags nor values of flags. */
  readonly operands: readonly string[];
  readonly cursor: Cursor;
}

export type Cursor =
  /** The word may become a flag or an operand. */
  | { readonly kind: "word"; readonly typed: string }
  /** The word is the value of a flag. `prefix` is empty, or `--flag=` if flag and value are one word. */
  | { readonly kind: "value"; readonly flag: string; readonly prefix: string; readonly typed: string }
  /** The word comes after `--`. */
  | { readonly kind: "operand"; readonly typed: string };

/**
 * Parses the words after a command's name.
 *
 * @param words the last one is at the cursor and may be empty
 */
export function parseCommandLine(words: readonly string[], command: CommandUnknownOpts): CommandLine {
  const given = new Map<string, readonly string[]>();
  const operands: string[] = [];
  const typed = words.at(-1) ?? "";
  let flagWithoutValue: string | undefined;
  let isAfterFlags = false;
  for (const word of words.slice(0, -1)) {
    if (flagWithoutValue !== undefined) {
      given.set(flagWithoutValue, [...given.get(flagWithoutValue) ?? [], word]);
      flagWithoutValue = undefined;
    } else if (isAfterFlags || !word.startsWith("-") || word === "-") {
      operands.push(word);
    } else if (word === "--") {
      isAfterFlags = true;
    } else {
      const { flag, value } = splitFlag(word);
      const option = findOption(command, flag);
      const name = option === undefined ? flag : flagName(option);
      given.set(name, [...given.get(name) ?? [], ...(value === undefined ? [] : [value])]);
      if (option?.required && value === undefined) flagWithoutValue = name;
    }
  }
  return { given, operands, cursor: parseCursor(typed, flagWithoutValue, isAfterFlags) };
}

function parseCursor(typed: string, flagWithoutValue: string | undefined, isAfterFlags: boolean): Cursor {
  if (flagWithoutValue !== undefined) return { kind: "value", flag: flagWithoutValue, prefix: "", typed };
  if (isAfterFlags) return { kind: "operand", typed };
  const { flag, value } = splitFlag(typed);
  if (value === undefined) return { kind: "word", typed };
  return { kind: "value", flag, prefix: `${flag}=`, typed: value };
}

function splitFlag(word: string): { readonly flag: string; readonly value: string | undefined } {
  const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  return { flag, value };
}

/** The last value of a flag before the cursor. Expands `~/`, because the shell has not expanded the line yet. */
export function givenValue({ given }: CommandLine, flag: string, host: Host): string | undefined {
  return given.get(flag)?.at(-1)?.replace(/^~(?=\/)/, host.env("HOME") ?? "~");
}

/** The flags that the command's help shows, including `--help`. */
export function visibleOptions(command: CommandUnknownOpts): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

function findOption(command: CommandUnknownOpts, flag: string): Option | undefined {
  return visibleOptions(command).find(({ long, short }) => long === flag || short === flag);
}

/** The long name of a flag, or the short name if there is no long name. */
export function flagName({ long, short }: Option): string {
  return long ?? short ?? "";
}
