/**
 * Validates the values of flags, variables and the config file. A zod schema turns text into a typed value. If the text
 * is invalid, the message of the failure begins with the name of the flag, the variable or the place in the config
 * file. The schema supplies the rest of the sentence, for example `must be …, not "x".`
 */
import * as z from "zod/mini";
import { Failure } from "../../apikey/failure.ts";

/** A schema that accepts text and returns a `Value`. */
export type TextSchema<Value> = z.ZodMiniType<Value, string>;

/**
 * A schema for text. Creating schemas delays the start of the program, so create one only when you need it.
 *
 * @param parse returns the value, or the result of `reject` with a message for invalid text. The message must not repeat
 * text that may be a secret.
 */
export function textSchema<Value>(
  parse: (text: string, reject: (message: string) => undefined) => Value | undefined,
): TextSchema<Value> {
  return z.transform((text: string, { issues }) => {
    const reject = (message: string): undefined => void issues.push({ code: "custom", message, input: text });
    return parse(text, reject) ?? z.NEVER;
  });
}

/**
 * Validates the value of a flag, a variable, or a place in the config file.
 *
 * @throws {Failure} `USAGE`; its message begins with the name, and names the member if the value has members
 */
export function parseSetting<Value>(
  { name, value }: { readonly name: string; readonly value: unknown },
  schema: z.ZodMiniType<Value>,
): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = firstIssue(result.error);
  throw new Failure("USAGE", `${name}${path.length === 0 ? "" : ` (${path.join(".")})`} ${message}`);
}

/**
 * Validates the flags of a command.
 *
 * @param flags by the names that commander gives them: `maxBody` for `--max-body`
 * @throws {Failure} `USAGE`; its message begins with the flag
 */
export function parseFlags<Value>(flags: object, schema: z.ZodMiniType<Value>): Value {
  const result = schema.safeParse(flags);
  if (result.success) return result.data;
  const { path, message } = firstIssue(result.error);
  const flag = String(path[0]).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new Failure("USAGE", `--${flag} ${message}`);
}

function firstIssue({ issues }: z.core.$ZodError): { readonly path: readonly PropertyKey[]; readonly message: string } {
  return issues[0] ?? { path: [], message: "is invalid." };
}
