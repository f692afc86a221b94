/** Keys as a server returns them. */
import * as z from "zod/mini";

export interface KeyReference {
  /** Not empty. */
  readonly id: string;
  readonly name: string;
}

/** A key with what distinguishes it from others in a list. */
export interface KeySummary extends KeyReference {
  /** `null` if there is none, or if the server does not report it. */
  readonly description: string | null;
  /** Empty if the server does not report them. */
  readonly roles: readonly string[];
  /** RFC 3339; `null` if the server does not report it. */
  readonly createdAt: string | null;
}

/** The shape of a {@linkcode KeyReference}. */
// deno-lint-ignore explicit-function-return-type explicit-module-boundary-types -- the schema is the type
export function keyReference() {
  return z.object({ id: z.string().check(z.minLength(1)), name: z.string() });
}
