/** One setting: a flag, or else a variable. */
import { Failure, quote, reasonOf } from "../apikey/failure.ts";
import type { Host } from "./host.ts";

export interface Setting {
  /** The flag or variable that the value comes from, for messages. */
  readonly name: string;
  readonly value: string;
}

/** The flag if it is given, else the variable if it is set. */
export function choose(
  host: Host,
  [flag, typed]: readonly [string, string | undefined],
  variable: string,
): Setting | undefined {
  if (typed !== undefined) return { name: flag, value: typed };
  const value = host.env(variable);
  return value === undefined ? undefined : { name: variable, value };
}

/**
 * Reads the file that a flag or variable names.
 *
 * @throws {Failure} `USAGE` when it cannot be read
 */
export async function readSettingFile(path: string, setting: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotCapable ? "the runtime opens no such path" : reasonOf(error);
    throw new Failure("USAGE", `${setting}: cannot read ${quote(path)}: ${reason}.`, { cause: error });
  }
}

/**
 * Reads standard input for a flag or variable whose value is `-`.
 *
 * @throws {Failure} `USAGE` at a terminal, where it would wait for somebody to type
 */
export async function readStandardInput(setting: string, host: Host): Promise<string> {
  if (!host.stdin.isTerminal()) return await host.stdin.readText();
  throw new Failure("USAGE", `${setting} - reads standard input, which is a terminal: pipe it in.`);
}
