/** Values that a user can pass as text, as `@file`, or on standard input. */
import * as z from "zod/mini";
import type { Host } from "../host/host.ts";
import { readSettingFile, readStandardInput } from "./setting.ts";

/**
 * Reads an argument: `@file` reads the file, `-` reads standard input, any other value is used unchanged.
 *
 * @param name the flag or the argument, for messages
 * @throws {Failure} `USAGE`; `TIMEOUT`; `INTERRUPTED` while reading standard input
 */
export async function readArgument(value: string, name: string, host: Host): Promise<string> {
  if (value.startsWith("@")) return await readSettingFile(value.slice(1), name);
  return value === "-" ? await readStandardInput(name, host) : value;
}

export const PARSED_JSON = z.pipe(
  z.string(),
  z.transform((text: string, { issues }): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      // Keeps only the position. The rest of the message repeats the text, which may be a secret.
      const [position = ""] = / at position .*$/s.exec(String(error)) ?? [];
      issues.push({ code: "custom", message: `is not valid JSON${position}.`, input: text });
      return z.NEVER;
    }
  }),
);

export const JSON_OBJECT = z.pipe(
  PARSED_JSON,
  z.record(z.string(), z.unknown(), 'must be a JSON object, for example {"id":"key_1"}.'),
);

/** The text of a GraphQL document. A script that reads it with `jq` passes the word `null` if there is none. */
export const GRAPHQL_TEXT = z.string().check(
  z.regex(/\S/, "is empty. Pass a GraphQL document."),
  z.regex(/^(?!\s*null\s*$)/, "is null. Pass a GraphQL document."),
);
