/** Keys as a server returns them. */
import * as z from "zod/mini";
import { shellWord } from "../apikey/shell_word.ts";

export interface KeyReference {
  /** Not empty. */
  readonly id: string;
  readonly name: string;
}

/** A key with the details that help a user recognize it in a list. */
export interface KeySummary extends KeyReference {
  /** `null` if the key has no description, or if the server does not report it. */
  readonly description: string | null;
  /** Empty if the key has no roles, or if the server does not report them. */
  readonly roles: readonly string[];
  /** RFC 3339; `null` if the server does not report it. */
  readonly createdAt: string | null;
}

/** Returns the zod schema of a {@linkcode KeyReference}. */
// deno-lint-ignore explicit-function-return-type explicit-module-boundary-types -- TypeScript infers the type from the schema
export function keyReference() {
  return z.object({ id: z.string().check(z.minLength(1)), name: z.string() });
}

/** A key with the secret that the server has just issued for it. */
export interface IssuedKey extends KeyReference {
  /** The secret: one or more visible ASCII characters. */
  readonly key: string;
}

/** Returns the zod schema of an {@linkcode IssuedKey}. */
// deno-lint-ignore explicit-function-return-type explicit-module-boundary-types -- TypeScript infers the type from the schema
export function issuedKey() {
  return z.extend(keyReference(), { key: z.string().check(z.regex(/^[\x21-\x7e]+$/)) });
}

/** The command that deletes a key, for messages. The id is quoted for a POSIX shell if necessary. */
export function deleteCommand({ id }: Pick<KeyReference, "id">): string {
  return `service-api apikey --delete --id ${shellWord(id)}`;
}
